/* smbios.h: what a machine is known by beside the MAC addresses of its network cards, some of
 * which it shares with others (docks, USB cards): the UUID or the serial number that SMBIOS has for
 * it.  This is the one place that says what counts as such, and how it is written. */
#ifndef CONTROLLER_ENGINE_SMBIOS_H
#define CONTROLLER_ENGINE_SMBIOS_H

#include <stddef.h>

#include "common/base/err.h"

enum {
	SMBIOS_SERIAL_MAX = 64, /* characters of a serial number */
	SMBIOS_BYTES = 72,      /* of the written form, with the NUL */
};

/* Read text[n], which is one of
 *	4C4C4544-0042-3510-8054-B4C04F4A3132	the UUID as Linux, iPXE and GRUB write it
 *	00:44:45:4c:4c:42:...			the 17 bytes of DHCP's option 97, with or without colons
 *	serial:5B4TJ12				a serial number: letters, digits and ._-
 * and write it into out as orders and reports have it: a UUID in lower case, as Linux shows it in
 * /sys/class/dmi/id/product_uuid, or a serial number as it is.  ERR_FORMAT: it is none of them;
 * ERR_REFUSED: it is a placeholder, which many machines have.  out is empty then. */
int smbios_read(const char *text, size_t n, char out[SMBIOS_BYTES], struct err *);

#endif /* CONTROLLER_ENGINE_SMBIOS_H */
