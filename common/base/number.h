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
/* 32 hex digits, with or without dashes, into uuid[16].  ERR_USAGE. */
int number_uuid(const char *s, uint8_t uuid[16], struct err *);
/* With k, M, G, T (powers of 1024; also kB, KiB, MB...) */
int number_size(const char *s, uint64_t min, uint64_t max, uint64_t *out, struct err *);
/* With k, M, G (powers of 1000): bits a second, as -W of frisbeed. */
int number_rate(const char *s, uint64_t min, uint64_t max, uint64_t *out, struct err *);

/* "1.5 GB", "340 kB" (powers of 1000), into buf. */
const char *human_bytes(uint64_t bytes, char *buf, size_t cap);
/* "2026-11-21 11:18:34 UTC" of seconds since 1970, into buf; "?" of what is no time. */
const char *human_time(uint64_t seconds, char *buf, size_t cap);

#endif /* COMMON_BASE_NUMBER_H */
