/* Batches into chunks: the same chunks whenever a compressor learns how much room
 * there is, and in them what was on the disk. */
#include "common/image/write/compress.c"

#include <openssl/sha.h>
#include <stdlib.h>

#include "common/image/read/chunk.h"
#include "tests/t.h"
#include "tests/unit/sample.h"

enum { SECTORS = 128 * 16 * 40 + 77, PADDING_MAX = 8 * 1024 };

struct model {
	uint8_t *data; /* of all sectors */
	uint8_t *stored, *seen;
	/* The chunk of each window: as the packer said, and where it was found. */
	uint16_t said[SECTORS / 128 + 1], found[SECTORS / 128 + 1];
	struct decoder *dec;
	bool good;
	uint32_t chunks;
	uint64_t padding_bytes, last_padding; /* of all chunks, and of the last one */
	uint64_t tiled;
	bool split; /* windows may be split */
	bool calm;  /* nothing but their bytes fills chunks */
	unsigned several; /* fragments of more windows than one */
	unsigned relocs;
	unsigned char digests[400][SHA256_DIGEST_LENGTH];
};

/* Every seventh window comes with up to 40 relocations of its first sector. */
static unsigned
relocs_of_window(uint64_t w)
{
	return w % 7 == 0 ? (unsigned)(w * 31 % 41) : 0;
}

static const struct ndz_reloc *
make_relocs(const struct window *w)
{
	static struct ndz_reloc all[SECTORS / 128 + 1][40];
	uint64_t number = w->regions[0].off / 128;

	for (unsigned i = 0; i < 40; i++)
		all[number][i] = (struct ndz_reloc){ .type = NDZ_RELOC_LILO_ADDRESS,
			.sector = w->regions[0].off,
			.offset = i,
			.size = 5 };
	return all[number];
}

/* Each relocation once, in order, with its sector. */
static bool
relocs_right(struct model *m, const struct ndz_header *h)
{
	unsigned k = 0;

	for (unsigned i = 0; i < h->nregions; i++)
		for (uint64_t s = h->regions[i].off; s < range_end(h->regions[i]); s++)
			for (unsigned n = 0; k < h->nrelocs && h->relocs[k].sector == s;
			     n++, k++)
				if (h->relocs[k].offset != n)
					return false;
	m->relocs += k;
	return k == h->nrelocs;
}

/* Is the chunk whole, and is its data that of the disk? */
static int
take_chunk(void *arg, const void *bytes, struct err *e)
{
	struct model *m = arg;
	struct chunk c;

	if (chunk_parse(&c, bytes, e) != 0 || chunk_verify(&c, bytes, m->dec, e) != 0) {
		printf("# chunk %u: %s\n", m->chunks, e->text);
		m->good = false;
		return 0;
	}
	uint8_t *raw = malloc(c.raw_bytes), *p = raw;
	m->good &= chunk_decode(&c, bytes, m->dec, raw, e) == 0 &&
	           c.h.firstsect == m->tiled;
	m->tiled = c.h.lastsect;
	m->good &= relocs_right(m, &c.h) && c.ext.has_state;
	/* No two chunks have a part of the same 4 KiB. */
	m->good &= c.h.firstsect % 8 == 0 || !m->stored[c.h.firstsect - 1];
	for (unsigned i = 0; i < c.h.nregions; i++)
		for (uint64_t s = c.h.regions[i].off; s < range_end(c.h.regions[i]);
		     s++) {
			m->good &= m->stored[s] && !m->seen[s] &&
			           memcmp(p, m->data + s * SECTOR_BYTES,
				       SECTOR_BYTES) == 0;
			m->seen[s] = 1;
			m->found[s / 128] = (uint16_t)m->chunks;
			p += SECTOR_BYTES;
		}
	for (size_t i = 0; i < c.ext.nfragments; i++)
		m->several += !c.ext.fragments[i].zero &&
		              c.ext.fragments[i].windows > 1;
	m->last_padding =
	    NDZ_STREAM_MAX - c.h.size - EXT_HEAD_BYTES - c.ext.records_bytes;
	m->padding_bytes += m->last_padding;
	SHA256(bytes, NDZ_CHUNK_BYTES, m->digests[m->chunks++]);
	free(raw);
	chunk_free(&c);
	return 0;
}

/* The next batch from window *w on, of windows that share a multiple of 16. */
static bool
fill(const struct model *m, struct batch *b, uint64_t *w)
{
	b->n = 0;
	b->raw_at[0] = 0;
	do {
		struct window *win = &b->windows[b->n];
		size_t at = b->raw_at[b->n];
		win->nregions = win->nrelocs = 0;
		win->fresh = !m->calm && *w % 37 == 5;
		for (uint64_t s = *w * 128; s < (*w + 1) * 128 && s < SECTORS; s++) {
			if (!m->stored[s])
				continue;
			if (win->nregions > 0 &&
			    range_end(win->regions[win->nregions - 1]) == s)
				win->regions[win->nregions - 1].len++;
			else
				win->regions[win->nregions++] = (struct range){ s, 1 };
			memcpy(b->raw + at, m->data + s * SECTOR_BYTES, SECTOR_BYTES);
			at += SECTOR_BYTES;
		}
		if (win->nregions > 0) {
			win->nrelocs = m->calm ? 0 : relocs_of_window(*w);
			win->relocs = make_relocs(win);
			b->raw_at[++b->n] = at;
		}
		++*w;
	} while (*w % CODEC_WINDOWS_MAX != 0 && *w * 128 < SECTORS);
	return b->n > 0;
}

static void
note_chunks(struct model *m, const struct batch *b)
{
	for (unsigned i = 0; i < b->n; i++)
		m->said[b->windows[i].regions[0].off / 128] = (uint16_t)b->chunks[i];
}

static unsigned
all_relocs(const struct model *m)
{
	unsigned n = 0;
	uint64_t last = UINT64_MAX;

	if (m->calm)
		return 0;
	for (uint64_t s = 0; s < SECTORS; s++)
		if (m->stored[s] && s / 128 != last)
			n += relocs_of_window(last = s / 128);
	return n;
}

/* Who is asked, and answers from the `after`th time on; UINT_MAX: never. */
struct oracle {
	const struct packer *p;
	unsigned after, asked;
	bool told;
	struct packer_room behind;
};

static bool
ask(void *arg, struct packer_room *room)
{
	struct oracle *o = arg;

	*room = packer_room(o->p);
	return o->asked++ >= o->after;
}

static void
tell(void *arg, const struct packer_room *room)
{
	struct oracle *o = arg;

	o->told = true;
	o->behind = *room;
}

/* Was what the compressor foretold what the packer made? */
static bool
told_rightly(const struct oracle *o)
{
	struct packer_room r = packer_room(o->p);

	return r.nregions == o->behind.nregions &&
	       r.regions_end == o->behind.regions_end &&
	       r.nfragments == o->behind.nfragments &&
	       r.stream_bytes == o->behind.stream_bytes &&
	       r.zero_bytes == o->behind.zero_bytes &&
	       r.nonzero_bytes == o->behind.nonzero_bytes &&
	       r.has_image == o->behind.has_image &&
	       r.has_state == o->behind.has_state && r.nrelocs == o->behind.nrelocs;
}

static void
run_model(struct model *m, const struct codec_choice *codec, unsigned mode)
{
	struct packer_config cfg = { .version = 5,
		.codec = *codec,
		.content = m->split,
		.emit = take_chunk,
		.arg = m,
		.state.kind = EXT_STATE_UUID };
	struct batch *b = malloc(sizeof *b);
	struct compressor worker, cutter;
	struct packer *p;
	struct err e;
	bool packed = true;
	unsigned told = 0, batches = 0;

	m->chunks = 0;
	m->tiled = m->padding_bytes = m->several = m->relocs = 0;
	m->good = true;
	memset(m->seen, 0, SECTORS);
	memset(m->said, 0, sizeof m->said);
	memset(m->found, 0, sizeof m->found);
	T_CHECK(packer_new(&p, &cfg, &e) == 0);
	T_CHECK(compressor_init(&worker, codec, &e) == 0);
	T_CHECK(compressor_init(&cutter, codec, &e) == 0);
	worker.split = cutter.split = m->split;
	for (uint64_t w = 0; w * 128 < SECTORS;) {
		struct oracle o = { .p = p,
			.after = mode == 0   ? UINT32_MAX
			         : mode == 1 ? 0
			                     : draw(16) };
		struct rooms rooms = { ask, tell, &o };
		if (!fill(m, b, &w))
			continue;
		compress_batch(&worker, b, &rooms);
		batch_hash(b, NULL);
		packed &= batch_pack(p, &cutter, b, &e) == 0 &&
		          (!o.told || told_rightly(&o));
		note_chunks(m, b);
		told += o.told;
		batches++;
	}
	/* Asked at once, a compressor knows the way to the end of every batch. */
	T_CHECK(mode != 1 || told == batches);
	T_CHECK(packed);
	T_CHECK(packer_finish(p, SECTORS, &e) == 0);
	T_CHECK(m->good);
	T_CHECK(m->tiled == SECTORS);
	T_CHECK(memcmp(m->seen, m->stored, SECTORS) == 0);
	T_CHECK(m->relocs == all_relocs(m));
	T_CHECK(memcmp(m->said, m->found, sizeof m->said) == 0);
	packer_free(p);
	compressor_free(&worker);
	compressor_free(&cutter);
	free(b);
}

static void
fill_disk(struct model *m, unsigned density, unsigned zeros)
{
	for (uint64_t s = 0; s < SECTORS; s += 128) {
		uint64_t n = SECTORS - s < 128 ? SECTORS - s : 128;
		bool blank = draw(100) < zeros;
		for (uint64_t k = s; k < s + n; k++)
			m->stored[k] = draw(100) < density;
		sample_fill(m->data + s * SECTOR_BYTES, n * SECTOR_BYTES,
		    blank ? 4 : draw(SAMPLE_KINDS));
	}
}

static void
test_codec(struct model *m, const char *name, unsigned density, unsigned zeros)
{
	static unsigned char first[400][SHA256_DIGEST_LENGTH];
	struct codec_choice codec;
	struct err e;

	if (codec_parse(&codec, name, &e) != 0) {
		printf("# %s\n", e.text);
		T_CHECK(e.kind == ERR_UNSUPPORTED);
		return;
	}
	fill_disk(m, density, zeros);
	run_model(m, &codec, 0);
	uint32_t chunks = m->chunks;
	memcpy(first, m->digests, sizeof first);
	printf(
	    "# %s, %u %% stored: %u chunks, %.1f %% padding, %u fragments of several\n",
	    name, density, chunks,
	    100.0 * (double)m->padding_bytes / NDZ_CHUNK_BYTES / chunks, m->several);
	T_CHECK(m->split || (m->several > 0) == (codec.codec->windows > 1));
	T_CHECK(!m->split || !m->calm ||
	        m->padding_bytes - m->last_padding <= (chunks - 1) * PADDING_MAX);
	for (unsigned mode = 1; mode < 5; mode++) {
		run_model(m, &codec, mode);
		/* What igzip makes depends on where its encoder lies: its data is
		 * checked above, the bytes of the others here. */
		T_CHECK(codec.codec == &codec_igzip ||
			(m->chunks == chunks &&
			    memcmp(m->digests, first, sizeof first) == 0));
	}
}

int
main(void)
{
	struct model *m = calloc(1, sizeof *m);

	m->data = malloc((size_t)SECTORS * SECTOR_BYTES);
	m->stored = calloc(SECTORS, 1);
	m->seen = calloc(SECTORS, 1);
	m->dec = decoder_new();
	test_codec(m, "zstd", 100, 10);
	test_codec(m, "zstd:1", 100, 0);
	test_codec(m, "zstd", 97, 5); /* the region table fills up */
	test_codec(m, "zstd", 3, 0);
	test_codec(m, "igzip", 100, 20);
	test_codec(m, "deflate:1", 90, 20);
	m->split = true;
	test_codec(m, "zstd", 97, 5);
	m->calm = true;
	test_codec(m, "zstd", 100, 10);
	test_codec(m, "deflate:1", 100, 10);
	decoder_free(m->dec);
	free(m->data);
	free(m->stored);
	free(m->seen);
	free(m);
	return t_done();
}
