/* crc32c.c: CRC-32C (Castagnoli) over whole buffers or piece by piece.  The server's and
 * client's engines, the codecs, the store and the btrfs reader call it, in any thread: it
 * keeps nothing but the choice of the fastest way, which is made once. */
#include "common/base/crc32c.h"

#include <pthread.h>
#include <string.h>
#ifndef NO_ISAL
#include <isa-l/crc.h>
#endif

#ifdef NO_ISAL

enum { POLYNOMIAL_REVERSED = (int)0x82f63b78 };

static uint32_t table[256];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void
make_table(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;
		for (int bit = 0; bit < 8; bit++)
			c = c >> 1 ^ (c & 1 ? (uint32_t)POLYNOMIAL_REVERSED : 0);
		table[i] = c;
	}
}

static uint32_t
by_table(uint32_t c, const uint8_t *p, size_t n)
{
	pthread_once(&table_once, make_table);
	for (; n > 0; n--)
		c = c >> 8 ^ table[(c ^ *p++) & 0xff];
	return c;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t
by_instruction(uint32_t c, const uint8_t *p, size_t n)
{
	uint64_t wide = c, word;

	for (; n >= 8; n -= 8, p += 8) {
		memcpy(&word, p, 8);
		wide = __builtin_ia32_crc32di(wide, word);
	}
	c = (uint32_t)wide;
	for (; n > 0; n--)
		c = __builtin_ia32_crc32qi(c, *p++);
	return c;
}
#endif

static uint32_t
update(uint32_t c, const uint8_t *p, size_t n)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("sse4.2"))
		return by_instruction(c, p, n);
#endif
	return by_table(c, p, n);
}

#else

/* ISA-L's code for AVX-512 leaves something in the upper halves of vector registers.  Code
 * that knows nothing of those halves, as that of SHA-256, then takes 2.4 times as long, up
 * to the next vzeroupper. */
#if defined(__x86_64__)
__attribute__((target("avx"))) static void
zero_upper_halves(void)
{
	__builtin_ia32_vzeroupper();
}

static void
leave_wide_registers(void)
{
	if (__builtin_cpu_supports("avx"))
		zero_upper_halves();
}
#else
static void
leave_wide_registers(void)
{
}
#endif

/* Updates a CRC by ISA-L, which has several chains of the instruction under way at once, or
 * multiplies without carries.  It takes 19 us for 1 MiB; one chain of the instruction takes
 * 110 us. */
static uint32_t
update(uint32_t c, const uint8_t *p, size_t n)
{
	enum { AT_ONCE = 1 << 30 }; /* ISA-L takes the length as an int */

	for (; n > AT_ONCE; n -= AT_ONCE, p += AT_ONCE)
		c = crc32_iscsi((unsigned char *)p, AT_ONCE, c);
	c = crc32_iscsi((unsigned char *)p, (int)n, c);
	leave_wide_registers();
	return c;
}

#endif /* NO_ISAL */

uint32_t
crc32c_more(uint32_t crc, const void *data, size_t n)
{
	return ~update(~crc, data, n);
}

uint32_t
crc32c(const void *data, size_t n)
{
	return crc32c_more(0, data, n);
}
