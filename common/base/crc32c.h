/* crc32c.h: CRC-32C (Castagnoli), with the processor's instruction where it has one. */
#ifndef COMMON_BASE_CRC32C_H
#define COMMON_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Of data[n]; of "123456789" it is 0xe3069283. */
uint32_t crc32c(const void *data, size_t n);
/* Of data[n] behind bytes that had `crc`; crc32c_more(0, ...) begins. */
uint32_t crc32c_more(uint32_t crc, const void *data, size_t n);

#endif /* COMMON_BASE_CRC32C_H */
