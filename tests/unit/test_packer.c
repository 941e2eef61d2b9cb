/* The packer's limits: bytes, regions, raw data, 64 bits, a gigabyte of zeros. */
#include "common/image/write/packer.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "common/image/read/chunk.h"
#include "tests/random.h"
#include "tests/t.h"

enum { KEEP = 16 };

static size_t lastfree; /* bytes behind everything in the chunk that came last */

/* What came out, and what is true of every sequence of chunks. */
struct out {
	unsigned n;
	bool good;
	bool unread; /* do not decode them: it takes too long */
	uint64_t tiled, sectors, windows;
	uint32_t last_says;
	size_t free_bytes; /* behind the extension of the chunk before the last */
	struct ndz_header h[KEEP];
	struct decoder *dec;
};

static size_t
used_bytes(const uint8_t *chunk)
{
	size_t n = NDZ_CHUNK_BYTES;

	while (chunk[n - 1] == 0)
		n--;
	return n;
}

static int
take_chunk(void *arg, const void *chunk, struct err *e)
{
	struct out *o = arg;
	struct chunk c;

	if (chunk_parse(&c, chunk, e) != 0 ||
	    (!o->unread && chunk_verify(&c, chunk, o->dec, e) != 0)) {
		printf("# chunk %u: %s\n", o->n, e->text);
		o->good = false;
		return 0;
	}
	o->good &= c.h.index == (int32_t)o->n && c.h.firstsect == o->tiled &&
	           o->last_says == 0 && c.ext.has_image == (o->n == 0) &&
	           c.ext.has_digest;
	o->tiled = c.h.lastsect;
	o->sectors += c.raw_bytes / SECTOR_BYTES;
	for (size_t i = 0; i < c.ext.nfragments; i++)
		o->windows += c.ext.fragments[i].windows;
	o->last_says = c.ext.last ? c.ext.nchunks : 0;
	lastfree = NDZ_CHUNK_BYTES - used_bytes(chunk);
	if (o->last_says == 0)
		o->free_bytes = NDZ_CHUNK_BYTES - used_bytes(chunk);
	if (o->n < KEEP)
		o->h[o->n] = c.h;
	o->n++;
	chunk_free(&c);
	return 0;
}

static struct packer *
begin_with(struct out *o, unsigned version, enum ext_state_kind state)
{
	struct packer_config cfg = { .version = version,
		.codec = { &codec_deflate, 6 },
		.emit = take_chunk,
		.arg = o,
		.state.kind = (uint8_t)state };
	struct packer *p;
	struct err e;

	*o = (struct out){ .good = true, .dec = decoder_new() };
	memset(cfg.uuid, 9, sizeof cfg.uuid);
	T_CHECK(packer_new(&p, &cfg, &e) == 0);
	return p;
}

static struct packer *
begin(struct out *o, unsigned version)
{
	return begin_with(o, version, EXT_STATE_NONE);
}

static void
end(struct packer *p, struct out *o, uint64_t total)
{
	struct err e;

	T_CHECK(packer_finish(p, total, &e) == 0);
	T_CHECK(o->good);
	T_CHECK(o->tiled == total);
	T_CHECK(o->last_says == o->n);
	T_CHECK(packer_chunks(p) == o->n);
	packer_free(p);
	decoder_free(o->dec);
}

/* A gigabyte of zeros is a chunk, whichever way it is cut up. */
static void
test_zeros(uint64_t bytes, unsigned chunks)
{
	struct window w = { .nregions = 1 };
	struct fragment f = { .windows = &w, .nwindows = 1, .zero = true };
	struct out o;
	struct packer *p = begin(&o, 3);
	uint64_t total = bytes / SECTOR_BYTES;
	struct err e;
	bool good = true;

	o.unread = chunks > 1;
	for (uint64_t at = 0; at < total; at += WINDOW_SECTORS) {
		w.regions[0] = range_clip(
		    (struct range){ at, WINDOW_SECTORS }, 0, total);
		good &= packer_add(p, &f, &e) == 0;
	}
	T_CHECK(good);
	end(p, &o, total);
	printf("# %llu zeros: %u chunks\n", (unsigned long long)bytes, o.n);
	T_CHECK(o.n == chunks);
	T_CHECK(o.sectors == total);
	T_CHECK(o.h[0].nregions == 1);
	T_CHECK(o.windows == (total + WINDOW_SECTORS - 1) / WINDOW_SECTORS);
}

/* Windows of one sector each, far apart: the region table is what fills up. */
static void
test_regions(unsigned version, unsigned capacity, uint64_t base)
{
	struct window w = { .nregions = 1 };
	struct fragment f = { .windows = &w, .nwindows = 1, .zero = true };
	struct out o;
	struct packer *p = begin(&o, version);
	struct err e;
	enum { N = 1200 };
	bool good = true;

	for (uint64_t i = 0; i < N; i++) {
		w.regions[0] = (struct range){
			base + i * 1000 * WINDOW_SECTORS + i % 128, 1
		};
		good &= packer_add(p, &f, &e) == 0;
	}
	T_CHECK(good);
	end(p, &o, base + (uint64_t)N * 1000 * WINDOW_SECTORS);
	printf("# version %u: %u regions a chunk\n", version, o.h[0].nregions);
	/* Room for a relocation of the last window is kept. */
	T_CHECK(o.h[0].nregions <= capacity);
	T_CHECK(o.h[0].nregions >= capacity - 3);
	T_CHECK(o.sectors == N);
	T_CHECK(o.windows == N);
	T_CHECK(o.h[0].firstsect == 0);
	T_CHECK(o.h[0].lastsect == o.h[1].regions[0].off);
}

struct source {
	struct deflater *d;
	struct window window;
	uint8_t raw[FRAGMENT_WINDOW_BYTES];
	uint8_t out[FRAGMENT_WINDOW_BYTES + 4096];
};

/* One region at the start of a window: of noise, or of one byte over and over. */
static struct fragment
make(struct source *s, uint64_t window, unsigned sectors, bool noise)
{
	struct fragment f = { .windows = &s->window, .nwindows = 1, .data = s->out };
	size_t n = (size_t)sectors * SECTOR_BYTES;
	uint8_t digest[EVP_MAX_MD_SIZE];

	if (noise)
		draw_bytes(s->raw, n);
	else
		memset(s->raw, 'x', n);
	s->window.nregions = 1;
	s->window.nrelocs = 0;
	s->window.regions[0] = (struct range){ window * WINDOW_SECTORS, sectors };
	f.bytes = (uint32_t)deflater_fragment(
	    s->d, s->raw, n, s->out, deflater_bound(n));
	f.adler = adler_of(s->raw, n);
	EVP_Digest(s->raw, n, digest, NULL, EVP_sha256(), NULL);
	memcpy(f.digest, digest, sizeof f.digest);
	return f;
}

/* A chunk is closed only when the next fragment cannot go in. */
static void
test_bytes(struct source *s)
{
	enum {
		N = 2000,
		SECTORS = 5,
		SLACK = 16 /* record of the last chunk */ + 2 * 7
	};
	struct out o;
	struct packer *p = begin(&o, 3);
	size_t most = 0;
	struct err e;
	bool good = true;

	for (uint64_t w = 0; w < N; w++) {
		struct fragment f = make(s, w, SECTORS, true);
		unsigned before = o.n;

		good &= packer_add(p, &f, &e) == 0;
		/* Emitted now or with the next: what was left was too little. */
		if (o.n > before)
			good &= o.free_bytes < f.bytes + EXT_ENTRY_BYTES + SLACK;
		most = f.bytes > most ? f.bytes : most;
	}
	T_CHECK(good);
	T_CHECK(most > SECTORS * SECTOR_BYTES);
	end(p, &o, (uint64_t)N * WINDOW_SECTORS);
	T_CHECK(o.sectors == (uint64_t)N * SECTORS);
	T_CHECK(o.n == 5);
}

/* The last byte of a chunk's room is really there, with a state record, too. */
static void
test_last_byte(struct source *s, enum ext_state_kind state)
{
	struct out o;
	struct packer *p = begin_with(&o, 5, state);
	struct fragment f = make(s, 0, WINDOW_SECTORS, true);
	struct range *r = &s->window.regions[0];
	struct packer_room room;
	struct err e;
	bool good = packer_add(p, &f, &e) == 0;

	o.unread = true;
	packer_end_chunk(p);
	for (r->off += WINDOW_SECTORS;; r->off += WINDOW_SECTORS) {
		room = packer_room(p);
		if (!packer_room_for(&room, &f))
			break;
		good &= packer_add(p, &f, &e) == 0;
	}
	while (!packer_room_for(&room, &f))
		f.bytes--;
	good &= packer_add(p, &f, &e) == 0;
	room = packer_room(p);
	f.bytes = 8;
	r->off += WINDOW_SECTORS;
	T_CHECK(good);
	T_CHECK(!packer_room_for(&room, &f));
	end(p, &o, r->off);
	T_CHECK(o.n == 2);
}

static void
test_raw_limit(struct source *s)
{
	enum { MORE = 10, N = PACKER_RAW_MAX / FRAGMENT_WINDOW_BYTES + MORE };
	struct out o;
	struct packer *p = begin(&o, 3);
	struct fragment zero = { .windows = &s->window, .nwindows = 1, .zero = true };
	struct err e;
	bool good = true;

	/* Windows of zeros between them do not count. */
	for (uint64_t w = 0; w < 2 * N; w++) {
		struct fragment f = w % 2 == 0 ? make(s, w, WINDOW_SECTORS, false)
		                               : zero;

		s->window.regions[0] = (struct range){ w * WINDOW_SECTORS,
			WINDOW_SECTORS };
		good &= packer_add(p, &f, &e) == 0;
	}
	T_CHECK(good);
	end(p, &o, 2 * N * WINDOW_SECTORS);
	T_CHECK(o.n == 2);
	T_CHECK(o.h[1].regions[0].len == 2 * MORE * WINDOW_SECTORS);
}

/* A relocation with every fragment: there is always room for it. */
static void
test_relocs(struct source *s, unsigned version)
{
	enum { N = 900 };
	struct out o;
	struct packer *p = begin(&o, version);
	struct err e;
	unsigned relocs = 0;
	bool good = true;

	for (uint64_t w = 0; w < N; w++) {
		struct fragment f = make(s, 2 * w, 2, false);
		struct ndz_reloc r = { .type = NDZ_RELOC_FREEBSD_LABEL,
			.sector = 2 * w * WINDOW_SECTORS + 1,
			.offset = 3,
			.size = 276 };

		good &= packer_add(p, &f, &e) == 0 && packer_add_reloc(p, &r, &e) == 0;
	}
	T_CHECK(good);
	end(p, &o, 2 * N * WINDOW_SECTORS);
	for (unsigned i = 0; i < o.n && i < KEEP; i++) {
		relocs += o.h[i].nrelocs;
		for (unsigned k = 0; k < o.h[i].nrelocs; k++)
			good &= o.h[i].relocs[k].sector == o.h[i].regions[k].off + 1;
	}
	T_CHECK(o.n <= KEEP);
	T_CHECK(relocs == N);
	T_CHECK(good);
}

/* Relocations that come with their fragments: together with them or not at all. */
static void
test_reloc_lists(struct source *s)
{
	enum { N = 30, EACH = 60 };
	static struct ndz_reloc lists[N][300];
	struct out o;
	struct packer *p = begin(&o, 3);
	struct err e;
	unsigned relocs = 0;
	bool good = true;

	for (uint64_t w = 0; w < N; w++) {
		struct fragment f = make(s, w, 1, false);
		for (unsigned i = 0; i < 300; i++)
			lists[w][i] = (struct ndz_reloc){
				.type = NDZ_RELOC_LILO_ADDRESS,
				.sector = w * WINDOW_SECTORS,
				.offset = i,
				.size = 5
			};
		s->window.relocs = lists[w];
		s->window.nrelocs = EACH;
		good &= packer_add(p, &f, &e) == 0;
	}
	T_CHECK(good);
	end(p, &o, N * WINDOW_SECTORS);
	for (unsigned i = 0; i < o.n && i < KEEP; i++) {
		relocs += o.h[i].nrelocs;
		for (unsigned k = 0; k < o.h[i].nrelocs; k++)
			good &= o.h[i].relocs[k].sector == o.h[i].regions[k / EACH].off;
	}
	T_CHECK(o.n > 1);
	T_CHECK(o.n <= KEEP);
	T_CHECK(relocs == N * EACH);
	T_CHECK(good);

	p = begin(&o, 3);
	struct fragment f = make(s, 0, 1, false);
	s->window.relocs = lists[0];
	s->window.nrelocs = 300;
	T_CHECK(packer_add(p, &f, &e) != 0);
	T_CHECK(e.kind == ERR_FORMAT);
	packer_free(p);
	decoder_free(o.dec);
}

static int
refuse(void *arg, const void *chunk, struct err *e)
{
	(void)arg;
	(void)chunk;
	return err_set(e, ERR_IO, "no space left");
}

static void
test_errors(void)
{
	struct packer_config cfg = {
		.version = 3, .codec = { &codec_deflate, 6 }, .emit = refuse
	};
	struct window w = { .nregions = 1 };
	struct fragment f = { .windows = &w, .nwindows = 1, .zero = true };
	struct out o;
	struct packer *p = begin(&o, 3);
	struct err e;

	T_CHECK(packer_finish(p, 100, &e) != 0);
	T_CHECK(e.kind == ERR_FORMAT);
	packer_free(p);
	/* Numbers that version 3 has no room for. */
	decoder_free(o.dec);
	p = begin(&o, 3);
	w.regions[0] = (struct range){ (uint64_t)1 << 32, 8 };
	T_CHECK(packer_add(p, &f, &e) == 0);
	T_CHECK(packer_finish(p, (uint64_t)1 << 33, &e) != 0);
	T_CHECK(e.kind == ERR_FORMAT);
	packer_free(p);
	decoder_free(o.dec);
	/* The error of whoever takes the chunks is what comes out. */
	T_CHECK(packer_new(&p, &cfg, &e) == 0);
	w.regions[0].off = 0;
	T_CHECK(packer_add(p, &f, &e) == 0);
	T_CHECK(packer_finish(p, 100, &e) != 0);
	T_CHECK(e.kind == ERR_IO);
	packer_free(p);
	packer_free(NULL);
}

/* A list of lost sectors takes all the room there is, but what is kept for others. */
static void
test_lost_room(void)
{
	enum { RESERVE = 104 };
	struct out o = { .good = true, .unread = true };
	struct packer_config cfg = { .version = 5,
		.codec = { &codec_deflate, 6 },
		.emit = take_chunk,
		.arg = &o,
		.reserve = RESERVE };
	struct window w = { .nregions = 1, .regions = { { 0, WINDOW_SECTORS } } };
	struct fragment f = { .windows = &w, .nwindows = 1, .zero = true };
	struct lostset lost;
	struct packer *p;
	struct err e;

	lostset_init(&lost);
	for (uint64_t i = 0; i < 100000; i++)
		T_CHECK(rangeset_add(&lost.set, (struct range){ i * 3, 1 }, &e) == 0);
	rangeset_seal(&lost.set);
	lost.sectors = 100000;
	memset(cfg.uuid, 9, sizeof cfg.uuid);
	T_CHECK(packer_new(&p, &cfg, &e) == 0);
	T_CHECK(packer_add(p, &f, &e) == 0);
	T_CHECK(packer_note_lost(p, &lost, &e) == 0);
	lastfree = 0;
	T_CHECK(packer_finish(p, 300000, &e) == 0);
	T_CHECK(o.good);
	T_CHECK(o.n == 1);
	T_CHECK(lastfree >= RESERVE);
	packer_free(p);
	lostset_free(&lost);
}

int
main(void)
{
	test_lost_room();
	struct source *s = calloc(1, sizeof *s);

	s->d = deflater_new(6);
	test_zeros(1000000000 / SECTOR_BYTES * SECTOR_BYTES, 1);
	test_zeros((uint64_t)3 << 30, 3);
	test_zeros(SECTOR_BYTES, 1);
	test_regions(3, 507, 0);
	test_regions(5, 251, 0);
	test_regions(5, 251, (uint64_t)1 << 33);
	test_bytes(s);
	test_last_byte(s, EXT_STATE_NONE);
	test_last_byte(s, EXT_STATE_UUID);
	test_raw_limit(s);
	test_relocs(s, 3);
	test_relocs(s, 5);
	test_reloc_lists(s);
	test_errors();
	deflater_free(s->d);
	free(s);
	return t_done();
}
