/* Headers: the golden ones, every version, every truncation, hostile fields. */
#include "common/image/format/format.h"

#include <string.h>

#include "common/base/wr.h"
#include "tests/t.h"
#include "tests/unit/golden.h"

/* What tests/golden/README.md and the dumps say. */
static const struct facts {
	const char *name;
	unsigned version, nchunks, nregions, nrelocs;
	uint64_t lastsect;
} golden[] = {
	{ "ext2", 3, 1, 1, 0, 32768 },
	{ "ext2-frag", 3, 1, 31, 0, 16384 },
	{ "ext2-delta", 3, 1, 2, 0, 32768 },
	{ "fat16", 3, 1, 1, 0, 32768 },
	{ "fat32", 3, 1, 1, 0, 81920 },
	{ "ufs1", 3, 1, 1, 0, 16384 },
	{ "mbr", 3, 3, 7, 0, 90000 },
	{ "fbsd-s1", 3, 1, 2, 1, 18401 },
	{ "gpt", 3, 1, 5, 0, 81920 },
	{ "raw", 3, 2, 2, 0, 8007 },
	{ "odd-f", 3, 1, 1, 1, 847 },
	{ "v5-fbsd-s1", 5, 1, 2, 1, 18401 },
};

/* Decoding and encoding again gives the same 4096 bytes. */
static bool
same_again(const struct ndz_header *h, const uint8_t *chunk)
{
	uint8_t buf[NDZ_HEADER_BYTES];
	struct err e;

	return ndz_header_put(h, buf, &e) == 0 && memcmp(buf, chunk, sizeof buf) == 0;
}

static void
test_golden(const struct facts *f)
{
	unsigned nregions = 0, nrelocs = 0;
	uint64_t tiled = 0;
	struct ndz_header h;
	bool good = true;
	struct err e;
	size_t len;
	uint8_t *img = golden_load(f->name, &len);

	printf("# %s\n", f->name);
	if (!T_CHECK(img != NULL) ||
	    !T_CHECK(len == (size_t)f->nchunks * NDZ_CHUNK_BYTES))
		return;
	for (unsigned i = 0; i < f->nchunks; i++) {
		const uint8_t *chunk = img + (size_t)i * NDZ_CHUNK_BYTES;

		good &= ndz_header_get(&h, chunk, NDZ_HEADER_BYTES, &e) == 0 &&
		        h.version == f->version && h.index == (int32_t)i &&
		        h.total == 0 && h.firstsect == tiled && same_again(&h, chunk);
		tiled = h.lastsect;
		nregions += h.nregions;
		nrelocs += h.nrelocs;
	}
	T_CHECK(good);
	T_CHECK(tiled == f->lastsect);
	T_CHECK(nregions == f->nregions);
	T_CHECK(nrelocs == f->nrelocs);
	free(img);
}

static void
test_golden_fields(void)
{
	static const char *const names[] = { "fbsd-s1", "v5-fbsd-s1" };
	struct ndz_header h;
	struct err e;
	size_t len;

	for (int i = 0; i < 2; i++) {
		uint8_t *img = golden_load(names[i], &len);
		if (!T_CHECK(img != NULL) ||
		    !T_CHECK(ndz_header_get(&h, img, len, &e) == 0))
			return;
		T_CHECK(h.size == 0x37243);
		T_CHECK(h.firstsect == 0);
		T_CHECK(h.lastsect == 0x47e1);
		T_CHECK(h.regions[0].off == 0);
		T_CHECK(h.regions[0].len == 0x860);
		T_CHECK(h.regions[1].off == 0x47d0);
		T_CHECK(h.regions[1].len == 0x11);
		T_CHECK(h.relocs[0].type == NDZ_RELOC_FREEBSD_LABEL);
		T_CHECK(h.relocs[0].sector == 1);
		T_CHECK(h.relocs[0].offset == 0);
		T_CHECK(h.relocs[0].size == 276);
		T_CHECK(ndz_header_raw_bytes(&h) == 1106432);
		free(img);
	}
}

/* A header of V1 or V2, or of V5 from a 32-bit program: nobody writes them
 * any more, so they are put together here by hand. */
static void
put_old(uint8_t *buf, unsigned version)
{
	struct wr w = wr_to(buf, NDZ_HEADER_BYTES);

	memset(buf, 0, NDZ_HEADER_BYTES);
	wr_le32(&w, 0x69696969 + version - 1);
	wr_le32(&w, 5000);
	wr_le32(&w, 7);
	wr_le32(&w, version == 1 ? 9 : 0);
	wr_le32(&w, 4096);
	wr_le32(&w, 2);
	if (version == 2) {
		wr_le32(&w, 90);
		wr_le32(&w, 400);
	} else if (version == 5) {
		wr_le64(&w, 0);
	}
	if (version != 1)
		wr_le32(&w, 1);
	if (version == 5) {
		wr_le64(&w, 90);
		wr_le64(&w, 400);
		wr_bytes(&w, "0123456789abcdef", 16);
	}
	const uint64_t regions[4] = { 100, 20, 300, 40 };
	for (int i = 0; i < 4; i++)
		version == 5 ? wr_le64(&w, regions[i])
			     : wr_le32(&w, (uint32_t)regions[i]);
	if (version == 1)
		return;
	wr_le32(&w, 1);
	wr_le32(&w, version == 5 ? 8 : 101);
	wr_le32(&w, version == 5 ? 101 : 8);
	version == 5 ? wr_le32(&w, 0) : wr_le32(&w, 276);
	if (version == 5)
		wr_le64(&w, 276);
}

static void
test_old(unsigned version)
{
	uint8_t buf[NDZ_HEADER_BYTES];
	struct ndz_header h;
	struct err e;

	put_old(buf, version);
	if (!T_CHECK(ndz_header_get(&h, buf, sizeof buf, &e) == 0))
		return;
	T_CHECK(h.version == version);
	T_CHECK(h.size == 5000);
	T_CHECK(h.index == 7);
	T_CHECK(h.nregions == 2);
	T_CHECK(h.total == (version == 1 ? 9 : 0));
	T_CHECK(h.firstsect == (version == 1 ? 100 : 90));
	T_CHECK(h.lastsect == (version == 1 ? 340 : 400));
	T_CHECK(h.regions[1].off == 300);
	T_CHECK(h.regions[1].len == 40);
	T_CHECK(h.nrelocs == (version != 1));
	if (h.nrelocs == 1) {
		T_CHECK(h.relocs[0].type == 1);
		T_CHECK(h.relocs[0].sector == 101);
		T_CHECK(h.relocs[0].offset == 8);
		T_CHECK(h.relocs[0].size == 276);
	}
	T_CHECK((memcmp(h.uuid, "0123456789abcdef", 16) == 0) == (version == 5));
}

/* The fullest tables that a version can have, and one entry more. */
static void
test_full(unsigned version, unsigned nregions, unsigned nrelocs)
{
	static struct ndz_header h, back;
	uint8_t buf[NDZ_HEADER_BYTES];
	struct err e;

	memset(&h, 0, sizeof h);
	h.version = version;
	h.size = NDZ_STREAM_MAX;
	h.index = 123456;
	h.nregions = nregions;
	h.nrelocs = nrelocs;
	uint64_t base = version == 5 ? (uint64_t)1 << 50 : 4000000000u;
	for (unsigned i = 0; i < nregions; i++)
		h.regions[i] = (struct range){ base + i * 10, 1 + i % 9 };
	for (unsigned i = 0; i < nrelocs; i++)
		h.relocs[i] = (struct ndz_reloc){ i % 8, base + i, i, 512 - i };
	h.firstsect = base - 5;
	h.lastsect = base + nregions * 10;
	for (unsigned i = 0; version == 5 && i < NDZ_UUID_BYTES; i++)
		h.uuid[i] = (uint8_t)(i + 1);
	T_CHECK(ndz_header_put(&h, buf, &e) == 0);
	T_CHECK(ndz_header_get(&back, buf, sizeof buf, &e) == 0);
	T_CHECK(same_again(&back, buf));
	T_CHECK(memcmp(h.regions, back.regions, nregions * sizeof h.regions[0]) == 0);
	T_CHECK(back.firstsect == h.firstsect);
	T_CHECK(back.lastsect == h.lastsect);
	bool good = true;
	for (size_t len = 0; len < NDZ_HEADER_BYTES; len++)
		good &= ndz_header_get(&back, buf, len, &e) < 0 && e.kind == ERR_FORMAT;
	T_CHECK(good);
	h.nregions++;
	h.regions[nregions] = (struct range){ h.lastsect - 1, 1 };
	T_CHECK(ndz_header_put(&h, buf, &e) < 0);
	T_CHECK(e.kind == ERR_FORMAT);
}

/* One field of a good header changed: refused, and for the right reason. */
static void
test_hostile(void)
{
	static const struct {
		size_t at;
		uint32_t value;
		enum err_kind kind;
		const char *says;
	} cases[] = {
		{ 0, 0x6969696c, ERR_UNSUPPORTED, "version 4" },
		{ 0, 0x6969696e, ERR_UNSUPPORTED, "version 6" },
		{ 0, 0x6b696969, ERR_UNSUPPORTED, "big-endian" },
		{ 0, 0x6969696f, ERR_FORMAT, "not an ndz image" },
		{ 0, 0x69696968, ERR_FORMAT, "not an ndz image" },
		{ 0, 0, ERR_FORMAT, "not an ndz image" },
		{ 4, 0, ERR_FORMAT, "0 bytes of compressed data" },
		{ 4, NDZ_STREAM_MAX + 1, ERR_FORMAT, "bytes of compressed data" },
		{ 4, UINT32_MAX, ERR_FORMAT, "bytes of compressed data" },
		{ 4, 1, ERR_FORMAT, "cannot hold" },
		{ 20, 0, ERR_FORMAT, "no regions" },
		{ 20, 508, ERR_FORMAT, "508 regions" },
		{ 20, 0x80000000, ERR_FORMAT, "regions" },
		{ 20, UINT32_MAX, ERR_FORMAT, "regions" },
		{ 24, 101, ERR_FORMAT, "not inside" },
		{ 28, 339, ERR_FORMAT, "not inside" },
		{ 32, 254, ERR_FORMAT, "254 relocations" },
		{ 32, UINT32_MAX, ERR_FORMAT, "relocations" },
		{ 40, 0, ERR_FORMAT, "empty" },
		{ 40, 200, ERR_FORMAT, "gap" }, /* touches the next one */
		{ 40, 5000000, ERR_FORMAT, "gap" },
		{ 44, 99, ERR_FORMAT, "gap" },
		{ 48, UINT32_MAX, ERR_FORMAT, "cannot hold" },
	};
	uint8_t good[NDZ_HEADER_BYTES], buf[NDZ_HEADER_BYTES];
	struct ndz_header h;
	struct err e;

	put_old(good, 2);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		memcpy(buf, good, sizeof buf);
		struct wr w = wr_to(buf + cases[i].at, 4);
		wr_le32(&w, cases[i].value);
		bool refused = ndz_header_get(&h, buf, sizeof buf, &e) < 0;
		printf("# %s\n", refused ? e.text : "accepted");
		T_CHECK(refused);
		T_CHECK(e.kind == cases[i].kind);
		T_CHECK(strstr(e.text, cases[i].says));
	}
}

/* Numbers that overflow when they are added or turned into bytes. */
static void
test_wide(void)
{
	static const uint64_t hostile[][4] = {
		{ 100, UINT64_MAX - 50, 300, 1 },
		{ 100, 1, UINT64_MAX, 2 },
		{ 100, (uint64_t)1 << 55, 300, 1 },
		{ 100, 1, (uint64_t)1 << 55, 1 },
		{ 0, (uint64_t)1 << 54, ((uint64_t)1 << 54) + 1,
		    ((uint64_t)1 << 54) - 1 },
	};
	static struct ndz_header h = { .version = 5,
		.size = 1000,
		.lastsect = 400,
		.nregions = 2,
		.regions = { { 100, 1 }, { 300, 1 } } };
	uint8_t buf[NDZ_HEADER_BYTES];
	struct ndz_header back;
	struct err e;

	for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
		T_CHECK(ndz_header_put(&h, buf, &e) == 0);
		struct wr last = wr_to(buf + 48, 8), regions = wr_to(buf + 72, 32);
		wr_le64(&last, (uint64_t)1 << 55);
		for (int k = 0; k < 4; k++)
			wr_le64(&regions, hostile[i][k]);
		T_CHECK(ndz_header_get(&back, buf, sizeof buf, &e) < 0);
		T_CHECK(e.kind == ERR_FORMAT);
	}
	h.lastsect = (uint64_t)1 << 32;
	h.version = 3;
	T_CHECK(ndz_header_put(&h, buf, &e) < 0);
	T_CHECK(e.kind == ERR_FORMAT);
	h.lastsect--;
	T_CHECK(ndz_header_put(&h, buf, &e) == 0);
}

/* Raw data up to 1032 times the stream, and not a sector more. */
static void
test_ratio(void)
{
	static struct ndz_header h = { .version = 5,
		.size = 4096,
		.lastsect = 1 << 20,
		.nregions = 1,
		.regions = { { 0, 4096 / 512 * 1032 } } };
	uint8_t buf[NDZ_HEADER_BYTES];
	struct ndz_header back;
	struct err e;

	T_CHECK(ndz_header_put(&h, buf, &e) == 0);
	T_CHECK(ndz_header_get(&back, buf, sizeof buf, &e) == 0);
	struct wr w = wr_to(buf + 80, 8);
	wr_le64(&w, h.regions[0].len + 1);
	T_CHECK(ndz_header_get(&back, buf, sizeof buf, &e) < 0);
}

int
main(void)
{
	for (size_t i = 0; i < sizeof golden / sizeof golden[0]; i++)
		test_golden(&golden[i]);
	test_golden_fields();
	test_old(1);
	test_old(2);
	test_old(5);
	test_full(3, 507, 0);
	test_full(3, 401, 53);
	test_full(3, 1, 253);
	test_full(5, 251, 0);
	test_full(5, 1, 167);
	test_hostile();
	test_wide();
	test_ratio();
	return t_done();
}
