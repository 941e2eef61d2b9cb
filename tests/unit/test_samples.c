/* Samples of a delta's base: to bytes and back, cut short, wrong; in the extension area;
 * and how the packer shares them out to the chunks. */
#include "common/image/format/samples.h"

#include <stdlib.h>
#include <string.h>

#include "common/cli/codec_opts.h"
#include "common/image/format/basis.h"
#include "common/image/read/chunk.h"
#include "common/image/write/encode.h"
#include "tests/random.h"
#include "tests/t.h"

static struct sample
sample_at(uint64_t sector, uint64_t sectors)
{
	struct sample x = { .sectors = { sector, sectors } };

	memset(x.before, (int)(sector % 251), sizeof x.before);
	memset(x.after, (int)(sector % 241), sizeof x.after);
	return x;
}

static int
read_back(struct samples *s, const void *bytes, size_t n)
{
	struct rd r = rd_from(bytes, n);
	struct err e;

	*s = (struct samples){ 0 };
	int rc = samples_get(s, &r, &e);
	if (rc == 1 && rd_ok(&r))
		return 1;
	samples_free(s);
	return rc == 0 && rd_ok(&r) ? 0 : -1;
}

static void
test_round_trip(void)
{
	struct samples s = { .hash = SAMPLE_SHA1 }, back;
	uint8_t buf[8 + 3 * 48];
	struct wr w = wr_to(buf, sizeof buf);
	struct err e;

	for (uint64_t i = 0; i < 3; i++) {
		struct sample x = sample_at(i << 33, i * 16383 + 1);
		T_CHECK(samples_add(&s, &x, &e) == 0);
	}
	samples_put(&s, &w);
	T_CHECK(wr_ok(&w));
	T_CHECK(wr_len(&w) == sizeof buf);
	T_CHECK(samples_bytes(3) == sizeof buf);
	T_CHECK(read_back(&back, buf, sizeof buf) == 1);
	T_CHECK(back.n == 3);
	T_CHECK(back.hash == SAMPLE_SHA1);
	T_CHECK(memcmp(back.v, s.v, 3 * sizeof *s.v) == 0);
	samples_free(&back);
	bool good = true;
	for (size_t n = 0; n < sizeof buf; n++)
		good &= read_back(&back, buf, n) == -1;
	T_CHECK(good);
	samples_free(&s);
}

/* What bytes of the record make of it. */
static void
test_wrong(void)
{
	struct sample x = sample_at(77, 8);
	struct samples s = { .hash = SAMPLE_MD5, .n = 1, .v = &x }, back;
	uint8_t good[8 + 48], buf[sizeof good];
	static const struct {
		size_t at;
		uint8_t byte;
		int rc;
	} change[] = {
		{ 0, 0, 0 },   /* hashes and lengths of later versions */
		{ 0, 4, 0 }, { 1, 20, 0 }, { 0, 2, 1 }, { 4, 0, 1 }, /* none */
		{ 4, 2, -1 }, { 5, 1, -1 }, { 7, 0x80, -1 },         /* more than fit */
		{ 8 + 7, 0x80, -1 }, { 8 + 7, 0x3f, -1 }, { 8 + 8, 0, -1 },
		{ 8 + 10, 1, -1 }, /* longer than any sample */
	};

	struct wr w = wr_to(good, sizeof good);
	samples_put(&s, &w);
	for (size_t i = 0; i < sizeof change / sizeof change[0]; i++) {
		memcpy(buf, good, sizeof buf);
		buf[change[i].at] = change[i].byte;
		T_CHECK(read_back(&back, buf, sizeof buf) == change[i].rc);
		samples_free(&back);
	}
}

static void
test_digests(void)
{
	static const uint8_t md5[] = { 0x90, 0x01, 0x50, 0x98 },
			     sha1[] = { 0xa9, 0x99, 0x3e, 0x36 },
			     sha256[] = { 0xba, 0x78, 0x16, 0xbf };
	uint8_t got[SAMPLE_DIGEST_BYTES];
	struct err e;

	T_CHECK(sample_digest(SAMPLE_MD5, "abc", 3, got, &e) == 0);
	T_CHECK(memcmp(got, md5, sizeof md5) == 0);
	T_CHECK(sample_digest(SAMPLE_SHA1, "abc", 3, got, &e) == 0);
	T_CHECK(memcmp(got, sha1, sizeof sha1) == 0);
	T_CHECK(sample_digest(SAMPLE_SHA256, "abc", 3, got, &e) == 0);
	T_CHECK(memcmp(got, sha256, sizeof sha256) == 0);
}

static void
test_thin(void)
{
	struct samples s = { .hash = SAMPLE_SHA256 };
	struct err e;

	bool added = true;
	for (uint64_t i = 0; i < 1000; i++) {
		struct sample x = sample_at(i, 1);
		added &= samples_add(&s, &x, &e) == 0;
	}
	T_CHECK(added);
	samples_thin(&s, 2000);
	T_CHECK(s.n == 1000);
	samples_thin(&s, 10);
	T_CHECK(s.n == 10);
	T_CHECK(s.v[0].sectors.off == 0);
	T_CHECK(s.v[9].sectors.off == 900);
	samples_thin(&s, 0);
	T_CHECK(s.n == 0);
	samples_free(&s);
}

/* In an extension area: chunk 0 speaks of the whole disk, the others of themselves, and of
 * what they share with the next ones. */
static bool
area_takes_both(int32_t index, const struct sample *v, size_t n,
    const struct sample *shared, size_t nshared)
{
	static uint8_t chunk[NDZ_CHUNK_BYTES];
	struct ndz_header h = { .version = 3,
		.index = index,
		.size = 138,
		.firstsect = 1000,
		.lastsect = 2000,
		.nregions = 1,
		.regions = { { 1000, 10 } } };
	struct ext x = { .has_samples = true,
		.samples = { SAMPLE_SHA256, n, n, (struct sample *)(uintptr_t)v },
		.shared = { SAMPLE_SHA256, nshared, nshared,
		    (struct sample *)(uintptr_t)shared } };
	struct ext back;
	struct err e;

	memset(chunk, 0, sizeof chunk);
	T_CHECK(ext_put(&x, &h, chunk, &e) == 0);
	if (ext_get(&back, &h, chunk, &e) != 0) {
		T_CHECK(e.kind == ERR_FORMAT);
		return false;
	}
	bool same = back.has_samples && back.samples.n == n &&
	            memcmp(back.samples.v, v, n * sizeof *v) == 0 &&
	            back.shared.n == nshared &&
	            (nshared == 0 ||
			memcmp(back.shared.v, shared, nshared * sizeof *shared) == 0);
	ext_free(&back);
	return same;
}

static bool
area_takes(int32_t index, const struct sample *v, size_t n)
{
	return area_takes_both(index, v, n, NULL, 0);
}

static bool
area_shares(const struct sample *v, size_t n)
{
	struct sample own = sample_at(1500, 8);

	return area_takes_both(5, &own, 1, v, n);
}

static void
test_area_shared(void)
{
	struct sample before = sample_at(999, 8), behind = sample_at(1995, 6);
	struct sample over = sample_at(900, 2000), inside = sample_at(1000, 8);
	struct sample apart = sample_at(990, 8), away = sample_at(2000, 8);
	struct sample both[2] = { before, behind }, wrong[2] = { behind, before };
	struct sample three[3] = { sample_at(998, 3), before, behind };

	T_CHECK(area_shares(&before, 1));
	T_CHECK(area_shares(&behind, 1));
	T_CHECK(area_shares(&over, 1));
	T_CHECK(area_shares(both, 2));
	T_CHECK(!area_shares(wrong, 2));
	T_CHECK(!area_shares(three, 3));
	T_CHECK(!area_shares(&inside, 1));
	T_CHECK(!area_shares(&apart, 1));
	T_CHECK(!area_shares(&away, 1));
}

static void
test_area(void)
{
	struct sample own[2] = { sample_at(1000, 8), sample_at(1990, 10) };
	struct sample before[1] = { sample_at(999, 8) };
	struct sample behind[1] = { sample_at(1995, 6) };
	struct sample twice[2] = { sample_at(1100, 8), sample_at(1107, 8) };

	T_CHECK(area_takes(0, own, 2));
	T_CHECK(area_takes(5, own, 2));
	T_CHECK(area_takes(0, before, 1));
	T_CHECK(!area_takes(5, before, 1));
	T_CHECK(area_takes(0, behind, 1));
	T_CHECK(!area_takes(5, behind, 1));
	T_CHECK(area_takes(0, twice, 2));
	T_CHECK(!area_takes(5, twice, 2));
	T_CHECK(area_takes(0, own, 0));
	T_CHECK(area_takes(5, own, 0));
}

enum {
	SECTORS = 40 << 11, /* 40 MiB: more chunks than one */
	SPREAD = 200,
};

/* What the packer is given, and what became of it. */
struct made {
	bool zeros; /* no noise */
	uint64_t every; /* sectors of a sample of what is replaced */
	uint64_t at; /* sector, of the reader's */
	uint32_t chunks;
	uint64_t next; /* the sector where the next sample of its own must begin */
	uint32_t shared;
	bool good;
};

static ssize_t
next_window(void *arg, struct window *w, void *buf, struct err *e)
{
	struct made *m = arg;

	(void)e;
	if (m->at == SECTORS)
		return 0;
	w->nregions = 1;
	w->regions[0] = (struct range){ m->at, WINDOW_SECTORS };
	if (m->zeros)
		memset(buf, 0, FRAGMENT_WINDOW_BYTES);
	else
		draw_bytes(buf, FRAGMENT_WINDOW_BYTES);
	m->at += WINDOW_SECTORS;
	return FRAGMENT_WINDOW_BYTES;
}

/* Is this the sample that was put in for its place? */
static void
look_at(struct made *m, const struct sample *x, uint64_t sectors)
{
	struct sample want = sample_at(x->sectors.off, sectors);

	m->good &= memcmp(&want, x, sizeof want) == 0;
}

/* Samples come once, in order; one that two chunks share comes in both. */
static void
look_at_own(struct made *m, const struct ext *x)
{
	size_t first = m->chunks == 0 ? SPREAD : 0, k = 0;
	const struct samples *own = &x->samples, *shared = &x->shared;

	m->good &= own->n >= first;
	for (size_t i = 0; i < first && m->good; i++)
		look_at(m, &own->v[i], 3);
	if (shared->n > 0 && shared->v[0].sectors.off < m->next)
		m->good &= shared->v[k++].sectors.off == m->next - m->every;
	for (size_t i = first; i < own->n && m->good; i++, m->next += m->every) {
		m->good &= own->v[i].sectors.off == m->next;
		look_at(m, &own->v[i], m->every);
	}
	for (; k < shared->n; k++, m->next += m->every, m->shared++) {
		m->good &= shared->v[k].sectors.off == m->next;
		look_at(m, &shared->v[k], m->every);
	}
}

static int
look(void *arg, const void *bytes, struct err *e)
{
	struct made *m = arg;
	struct chunk c;

	if (chunk_parse(&c, bytes, e) != 0)
		return -1;
	m->good &= c.ext.has_samples;
	look_at_own(m, &c.ext);
	m->chunks++;
	chunk_free(&c);
	return 0;
}

static bool
fill_basis(struct basis *b, uint64_t every)
{
	struct err e;
	bool added = true;

	basis_init(b, SAMPLE_SHA256);
	for (uint64_t i = 0; i < SPREAD; i++) {
		struct sample x = sample_at(i * 100, 3);
		added &= samples_add(&b->spread, &x, &e) == 0;
	}
	for (uint64_t i = 0; i < SECTORS; i += every) {
		struct sample x = sample_at(i, every);
		added &= basis_add_replaced(b, &x, &e) == 0;
	}
	return added;
}

/* Pack it, and return how many chunks there are. */
static uint32_t
pack(struct made *m)
{
	struct codec_choice codec = CODEC_DEFAULT;
	struct basis b;
	struct packer_config cfg = { .version = 5,
		.codec = codec,
		.basis = &b,
		.base = { .kind = EXT_STATE_UUID },
		.emit = look,
		.arg = m };
	struct encode_config enc = {
		.codec = codec, .jobs = 2, .next = next_window, .arg = m
	};
	struct packer *p;
	struct err e;

	m->good = fill_basis(&b, m->every);
	T_CHECK(packer_new(&p, &cfg, &e) == 0);
	T_CHECK(encode_all(&enc, p, &e) == 0);
	T_CHECK(packer_finish(p, SECTORS, &e) == 0);
	T_CHECK(m->good);
	T_CHECK(m->next >= SECTORS);
	packer_free(p);
	basis_free(&b);
	return m->chunks;
}

/* Each sample of what is replaced is in its chunk, also where there are many. */
static void
test_packer(void)
{
	struct made some = { .every = 8 }, across = { .every = 200 };

	T_CHECK(pack(&some) > 30);
	T_CHECK(some.shared == 0);
	T_CHECK(pack(&across) > 30);
	T_CHECK(across.shared > 10);
}

/* A chunk is closed when there is no room for more samples, however little data it has. */
static void
test_closed_for_samples(void)
{
	struct made many = { .every = 1, .zeros = true }, few = { .every = 512, .zeros = true };

	T_CHECK(pack(&many) >= SECTORS / SAMPLES_MAX);
	T_CHECK(pack(&few) == 1);
}

/* What reaches into the chunk, or out of it, is shared. */
static void
test_own(void)
{
	struct samples out = { .v = calloc(4, sizeof(struct sample)) };
	struct samples shared = { .v = calloc(SAMPLES_SHARED_MAX, sizeof(struct sample)) };
	struct basis b;
	struct err e;

	basis_init(&b, SAMPLE_SHA256);
	for (uint64_t i = 10; i < 100; i += 10) {
		struct sample x = sample_at(i, 8);
		T_CHECK(basis_add_replaced(&b, &x, &e) == 0);
	}
	basis_take(&b, false, (struct range){ 15, 30 }, 4, &out, &shared);
	T_CHECK(out.n == 2);
	T_CHECK(out.v[0].sectors.off == 20);
	T_CHECK(out.v[1].sectors.off == 30);
	T_CHECK(shared.n == 2);
	T_CHECK(shared.v[0].sectors.off == 10);
	T_CHECK(shared.v[1].sectors.off == 40);
	basis_take(&b, false, (struct range){ 32, 4 }, 4, &out, &shared);
	T_CHECK(out.n == 0);
	T_CHECK(shared.n == 1);
	basis_take(&b, false, (struct range){ 101, 25 }, 4, &out, &shared);
	T_CHECK(out.n == 0);
	T_CHECK(shared.n == 0);
	T_CHECK(basis_count(&b, 10, 31) == 3);
	T_CHECK(basis_next(&b, 11, 30) == 20);
	T_CHECK(basis_next(&b, 11, 20) == 20);
	T_CHECK(basis_next(&b, 91, 500) == 500);
	basis_free(&b);
	free(out.v);
	free(shared.v);
}

int
main(void)
{
	test_round_trip();
	test_wrong();
	test_digests();
	test_thin();
	test_area();
	test_area_shared();
	test_own();
	test_packer();
	test_closed_for_samples();
	return t_done();
}
