/* number.h: numbers, sizes, rates, times and UUIDs as people write and read them: on the
 * command line, in settings, in messages. */
#ifndef COMMON_BASE_NUMBER_H
#define COMMON_BASE_NUMBER_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

/* Whole-string numbers: no sign unless signed, no rest, no overflow.  ERR_USAGE. */
int number_uint(const char *s, uint64_t min, uint64_t max, uint64_t *out, struct err *);
int number_int(const char *s, int64_t min, int64_t max, int64_t *out, struct err *);
/* Read 32 hex digits, with or without dashes, into uuid[16].  ERR_USAGE. */
int number_uuid(const char *s, uint8_t uuid[16], struct err *);
/* A number of bytes with k, M, G, T (powers of 1024; also kB, KiB, MB...). */
int number_size(const char *s, uint64_t min, uint64_t max, uint64_t *out, struct err *);
/* A rate in bits a second with k, M, G (powers of 1000), as -W of frisbeed takes it. */
int number_rate(const char *s, uint64_t min, uint64_t max, uint64_t *out, struct err *);

/* Write bytes for people into buf: "1.5 GB", "340 kB" (powers of 1000). */
const char *human_bytes(uint64_t bytes, char *buf, size_t cap);
/* Write seconds since 1970 into buf as "2026-11-21 11:18:34 UTC"; "?" for a number that is
 * no time. */
const char *human_time(uint64_t seconds, char *buf, size_t cap);

#endif /* COMMON_BASE_NUMBER_H */
