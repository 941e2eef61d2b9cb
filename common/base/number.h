/* number.h: numbers, sizes, rates, times and UUIDs as people write and read them: on the
 * command line, in settings, in messages. */
#ifndef COMMON_BASE_NUMBER_H
#define COMMON_BASE_NUMBER_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

/* Read a string that is one number, decimal or 0x, from min to max. number_int() takes a
 * minus in front.  ERR_USAGE when it is no number, has more behind it, or is out of range. */
int number_uint(const char *s, uint64_t min, uint64_t max, uint64_t *out, struct err *);
int number_int(const char *s, int64_t min, int64_t max, int64_t *out, struct err *);
/* Read 32 hex digits, with or without dashes, into uuid[16].  ERR_USAGE. */
int number_uuid(const char *s, uint8_t uuid[16], struct err *);
/* Write n bytes as 2 * n lower-case hex digits and a NUL into `text`.  Returns text. */
const char *number_hex(const void *bytes, size_t n, char *text);
/* Read 2 * n lower-case hex digits into out[n].  False: they are none. */
bool number_from_hex(const char *hex, void *out, size_t n);
/* Read a number of bytes, min to max, with k, M, G or T (powers of 1024; also kB, KiB, MB
 * and so on); a blank may stand between both.  ERR_USAGE: whoever writes another unit is told
 * these. */
int number_size(const char *s, uint64_t min, uint64_t max, uint64_t *out, struct err *);
/* Read a rate in bits a second, min to max, with k, M, G or T (powers of 1000), as -W of
 * frisbeed takes it.  ERR_USAGE, as number_size(). */
int number_rate(const char *s, uint64_t min, uint64_t max, uint64_t *out, struct err *);
/* The seconds that a variable of the environment has, more than 0 and at most a day, or else
 * `usual`: for how long to go on with somebody who may not be there. */
double number_seconds(const char *variable, double usual);

/* Write a number of bytes for people into buf: "1.5 GB", "340 kB" (powers of 1000).
 * Returns buf. */
const char *human_bytes(uint64_t bytes, char *buf, size_t cap);
/* Write seconds since 1970 into buf as "2026-11-21 11:18:34 UTC", or "?" for a number that
 * is no time.  Returns buf. */
const char *human_time(uint64_t seconds, char *buf, size_t cap);
/* Write the time that is left for people into buf: "0:41 left", "12:07 left", "1:04:00 left".
 * Returns buf. */
const char *human_left(uint64_t seconds, char *buf, size_t cap);

#endif /* COMMON_BASE_NUMBER_H */
