/* ptype.h: the partition types that have names: gdisk codes, GUIDs, MBR types.
 * Source: the image format specification, section 14. */
#ifndef COMMON_DISK_PTYPE_H
#define COMMON_DISK_PTYPE_H

#include <stdint.h>

struct ptype {
	uint16_t code;		/* gdisk's, e.g. 0x8300; 0: MBR only */
	uint8_t mbr;		/* MBR type of the same meaning, 0: none */
	uint8_t guid[16];	/* as on the disk: the first three fields little-endian */
	const char *name;	/* what gdisk writes into the name field */
};

/* NULL when it is not known.  Codes 131, 130, 165 and 7 are 8300, 8200, A500
 * and 0700. */
const struct ptype *ptype_by_code(unsigned code);
const struct ptype *ptype_by_guid(const uint8_t guid[16]);
const struct ptype *ptype_by_mbr(uint8_t mbr);

#endif /* COMMON_DISK_PTYPE_H */
