/* addr.h: IPv4 addresses (four bytes in network order), to and from text. */
#ifndef COMMON_WIRE_ADDR_H
#define COMMON_WIRE_ADDR_H

#include <stdint.h>

#include "common/base/err.h"

enum { ADDR_TEXT_MAX = 16 };

/* Convert "10.0.0.1" to four bytes.  ERR_USAGE: the text is no IPv4 address. */
int addr_parse(const char *s, uint8_t addr[4], struct err *);
/* Write the address into buf as text.  Returns buf. */
const char *addr_text(const uint8_t addr[4], char buf[ADDR_TEXT_MAX]);

#endif /* COMMON_WIRE_ADDR_H */
