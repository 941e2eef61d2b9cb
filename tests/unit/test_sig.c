/* Signatures: the golden one to the byte, round trips, every truncation, lies;
 * and their making. */
#include "common/image/format/sig.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "common/image/write/sighash.h"
#include "tests/t.h"

static uint8_t golden[4096];
static size_t golden_bytes;

static void
load_golden(void)
{
	FILE *f = fopen("tests/golden/img/ext2.sig", "rb");

	golden_bytes = f != NULL ? fread(golden, 1, sizeof golden, f) : 0;
	if (f != NULL)
		fclose(f);
	T_CHECK(golden_bytes == 480);
}

static bool
same_bytes(const struct sig *s, const void *bytes, size_t len)
{
	uint8_t *buf = malloc(sig_bytes(s));

	sig_put(s, buf);
	bool same = sig_bytes(s) == len && memcmp(buf, bytes, len) == 0;
	free(buf);
	return same;
}

static void
test_golden(void)
{
	struct sig s;
	struct err e;

	T_CHECK(sig_get(&s, golden, golden_bytes, &e) == 0);
	T_CHECK(s.version == 2);
	T_CHECK(s.hash == SIG_SHA1);
	T_CHECK(s.block_sectors == 128);
	T_CHECK(s.n == 14);
	T_CHECK(s.records[13].start == 1664);
	T_CHECK(s.records[13].count == 112);
	T_CHECK(s.records[13].chunk == 0);
	T_CHECK(!s.records[13].continues);
	T_CHECK(same_bytes(&s, golden, golden_bytes));
	T_CHECK(sig_find(&s, 256) == &s.records[2]);
	T_CHECK(sig_find(&s, 257) == NULL);
	T_CHECK(sig_find(&s, 1792) == NULL);
	struct rangeset set;
	rangeset_init(&set);
	T_CHECK(sig_sectors(&s, &set, &e) == 0);
	rangeset_seal(&set);
	T_CHECK(rangeset_count(&set) == 1);
	T_CHECK(rangeset_total(&set) == 1776);
	rangeset_free(&set);
	sig_free(&s);
}

/* What sig_get() says of these bytes: ERR_NONE when it reads them. */
static enum err_kind
verdict(const void *bytes, size_t len)
{
	uint8_t *copy = malloc(len + 1); /* exact, for the address sanitizer */
	uint8_t *exact = len > 0 ? realloc(copy, len) : copy;
	struct sig s;
	struct err e = { .kind = ERR_NONE };

	memcpy(exact, bytes, len);
	if (sig_get(&s, exact, len, &e) == 0) {
		sig_free(&s);
		e.kind = ERR_NONE;
	}
	free(exact);
	return e.kind;
}

static void
test_truncation(void)
{
	bool any = false;

	for (size_t n = 0; n < golden_bytes; n++)
		any |= verdict(golden, n) != ERR_FORMAT;
	T_CHECK(!any);
	uint8_t longer[481] = { 0 };
	memcpy(longer, golden, 480);
	T_CHECK(verdict(longer, 481) == ERR_FORMAT);
}

static void
put32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

/* One field changed, and what it must be called. */
static void
test_lies(void)
{
	static const struct {
		size_t at;
		uint32_t value;
		enum err_kind kind;
	} lies[] = {
		{ 0, 0x7a646e2f, ERR_FORMAT }, /* magic */
		{ 8, 0x20991231, ERR_UNSUPPORTED }, { 12, 3, ERR_UNSUPPORTED },
		{ 12, 0, ERR_UNSUPPORTED }, { 16, 13, ERR_FORMAT },
		{ 16, 0xffffffff, ERR_FORMAT },
		{ 16, 0x0800000e, ERR_FORMAT }, /* times 32 it is 14 records again */
		{ 20, 0, ERR_FORMAT }, { 20, 0x80000000, ERR_FORMAT },
		{ 20, 64, ERR_FORMAT }, /* records leave such blocks */
		{ 32 + 4, 0, ERR_FORMAT }, { 32 + 4, 129, ERR_FORMAT },
		{ 32 + 4, 0xffffffff, ERR_FORMAT }, { 64, 127, ERR_FORMAT },
		{ 64, 0xffffff80, ERR_FORMAT }, /* wraps */
		{ 96, 128, ERR_FORMAT },        /* descends */
	};

	for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
		uint8_t b[480];
		memcpy(b, golden, sizeof b);
		put32(b + lies[i].at, lies[i].value);
		T_CHECK(verdict(b, sizeof b) == lies[i].kind);
	}
}

/* Version 1: no block size in the file. */
static void
test_old(void)
{
	uint8_t b[480];
	struct sig s;
	struct err e;

	memcpy(b, golden, sizeof b);
	put32(b + 8, 0x20031107);
	put32(b + 12, 1);
	put32(b + 20, 0);
	put32(b + 32 + 8, 0x80000007);
	T_CHECK(sig_get(&s, b, sizeof b, &e) == 0);
	T_CHECK(s.version == 1);
	T_CHECK(s.hash == SIG_MD5);
	T_CHECK(s.block_sectors == 128);
	T_CHECK(s.records[0].chunk == 7);
	T_CHECK(s.records[0].continues);
	T_CHECK(same_bytes(&s, b, sizeof b));
	sig_free(&s);
}

static uint8_t data[1024 * SECTOR_BYTES];

static bool
hash_is(const struct sig_record *r, const EVP_MD *md, size_t sector, size_t count)
{
	uint8_t want[EVP_MAX_MD_SIZE] = { 0 };
	unsigned n;

	EVP_Digest(
	    data + sector * SECTOR_BYTES, count * SECTOR_BYTES, want, &n, md, NULL);
	return memcmp(want, r->hash, SIG_HASH_MAX) == 0;
}

static int
read_data(void *arg, struct range r, void *buf, struct err *e)
{
	(void)arg, (void)e;
	memcpy(buf, data + r.off * SECTOR_BYTES, r.len * SECTOR_BYTES);
	return 0;
}

static void
add(struct sigmaker *m, uint64_t from, uint64_t n, uint32_t chunk)
{
	struct err e;

	T_CHECK(sigmaker_add(m, (struct range){ from, n }, data + from * SECTOR_BYTES,
		    chunk, &e) == 0);
}

static void
test_making(void)
{
	struct sigmaker *m;
	struct sig s;
	struct err e;
	uint8_t hash[SIG_HASH_MAX];

	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (uint8_t)(i * 7 + i / 513);
	T_CHECK(sigmaker_new(&m, SIG_SHA1, 64, &e) == 0);
	add(m, 10, 60, 0);  /* 10-63, 64-69 */
	add(m, 70, 10, 1);  /* goes on: 64-79, in two chunks */
	add(m, 81, 3, 1);   /* a hole in front */
	add(m, 128, 64, 1); /* a whole block */
	add(m, 192, 64, 2);
	T_CHECK(sigmaker_finish(m, &s, &e) == 0);
	T_CHECK(s.n == 5);
	static const uint32_t want[5][3] = { { 10, 54, 0 }, { 64, 16, 0 }, { 81, 3, 1 },
		{ 128, 64, 1 }, { 192, 64, 2 } };
	for (size_t i = 0; i < 5; i++) {
		const struct sig_record *r = &s.records[i];
		T_CHECK(r->start == want[i][0]);
		T_CHECK(r->count == want[i][1]);
		T_CHECK(r->chunk == want[i][2]);
		T_CHECK(r->continues == (i == 1));
		T_CHECK(hash_is(r, EVP_sha1(), r->start, r->count));
		T_CHECK(sig_hash_range(SIG_SHA1, (struct range){ r->start, r->count },
			read_data, NULL, hash, &e) == 0);
		T_CHECK(memcmp(hash, r->hash, sizeof hash) == 0);
	}
	uint8_t bytes[32 + 5 * 32];
	sig_put(&s, bytes);
	T_CHECK(verdict(bytes, sizeof bytes) == ERR_NONE);

	struct ext_state a, b;
	sig_state(&s, &a);
	s.records[2].chunk = 9;
	sig_state(&s, &b);
	T_CHECK(a.kind == EXT_STATE_SIGNATURE);
	T_CHECK(ext_state_same(&a, &b));
	s.records[2].hash[19] ^= 1;
	sig_state(&s, &b);
	T_CHECK(!ext_state_same(&a, &b));
	sig_free(&s);
	T_CHECK(sigmaker_add(m, (struct range){ UINT32_MAX, 2 }, data, 0, &e) != 0);
	T_CHECK(e.kind == ERR_UNSUPPORTED);
	sigmaker_free(m);

	T_CHECK(sigmaker_new(&m, SIG_MD5, 128, &e) == 0);
	add(m, 0, 1000, 0);
	T_CHECK(sigmaker_finish(m, &s, &e) == 0);
	T_CHECK(s.n == 8);
	T_CHECK(s.records[7].count == 104);
	T_CHECK(hash_is(&s.records[7], EVP_md5(), 896, 104));
	sig_free(&s);
	sigmaker_free(m);
}

/* The last sector that a signature can describe is that of a disk of 2 TiB. */
static void
test_last_sector(void)
{
	struct sigmaker *m;
	struct sig s;
	struct err e;
	uint8_t bytes[32 + 2 * 32];

	T_CHECK(sigmaker_new(&m, SIG_SHA1, 64, &e) == 0);
	T_CHECK(sigmaker_add(m, (struct range){ UINT32_MAX - 64, 64 }, data, 0, &e) == 0);
	T_CHECK(sigmaker_add(m, (struct range){ UINT32_MAX, 1 }, data, 0, &e) == 0);
	T_CHECK(sigmaker_finish(m, &s, &e) == 0);
	sigmaker_free(m);
	T_CHECK(s.n == 2);
	T_CHECK(s.records[1].start == UINT32_MAX - 63);
	T_CHECK(s.records[1].count == 64);
	T_CHECK(sig_bytes(&s) == sizeof bytes);
	sig_put(&s, bytes);
	sig_free(&s);
	T_CHECK(verdict(bytes, sizeof bytes) == ERR_NONE);
	put32(bytes + 32 + 32 + 4, 65); /* one sector more */
	T_CHECK(verdict(bytes, sizeof bytes) == ERR_FORMAT);
}

int
main(void)
{
	load_golden();
	test_golden();
	test_truncation();
	test_lies();
	test_old();
	test_making();
	test_last_sector();
	return t_done();
}
