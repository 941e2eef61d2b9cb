/* crc32c.h: CRC-32C (Castagnoli), with the processor's instruction where it has one. */
#ifndef COMMON_BASE_CRC32C_H
#define COMMON_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The CRC of data[n].  The CRC of "123456789" is 0xe3069283. */
uint32_t crc32c(const void *data, size_t n);
/* The CRC of a sequence of bytes that ends with data[n]; crc is the CRC of the bytes
 * before, 0 if there are none. */
uint32_t crc32c_more(uint32_t crc, const void *data, size_t n);

#endif /* COMMON_BASE_CRC32C_H */
