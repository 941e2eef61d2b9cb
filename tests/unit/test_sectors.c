/* An image as sectors, in any order of reading; layers of deltas against a
 * model that is an array. */
#include "common/image/read/layers.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/image/read/chunk.h"
#include "common/image/write/sigimage.h"
#include "tests/unit/disk_model.h"
#include "tests/unit/golden.h"
#include "tests/unit/scratch.h"

/* A stored range that begins anywhere. */
static struct range
pick(const struct model *m)
{
	struct range r = { draw(m->total), 0 };
	uint64_t most = 1 + draw(500);

	while (r.off + r.len < m->total && m->stored[r.off + r.len] && r.len < most)
		r.len++;
	return r;
}

static bool
reads_right(struct sectors *s, const struct model *m, unsigned times)
{
	static uint8_t buf[500 * SECTOR_BYTES];
	struct err e;

	for (unsigned i = 0; i < times; i++) {
		struct range r = pick(m);
		if (r.len == 0)
			continue;
		if (sectors_read(s, r, buf, &e) != 0) {
			printf("# %s\n", e.text);
			return false;
		}
		if (memcmp(buf, m->data + r.off * SECTOR_BYTES, r.len * SECTOR_BYTES) !=
		    0)
			return false;
	}
	return sectors_done(s, &e) == 0;
}

static void
test_reading(struct model *m)
{
	struct sectors *s;
	struct err e;

	make_model(m, 40);
	write_image("a.ndz", m, false, NULL);
	T_CHECK(sectors_open(&s, in_scratch("a.ndz"), &e) == 0);
	T_CHECK(sectors_chunks(s) > 3);
	T_CHECK(sectors_total(s) == DISK_SECTORS);
	T_CHECK(same_set(sectors_stored(s), m));
	T_CHECK(reads_right(s, m, 400));
	for (uint32_t i = 0; i < 100; i++) {
		struct range r = pick(m);
		uint64_t end;
		if (r.len > 0 && sectors_chunk_of(s, r.off, &end) >= sectors_chunks(s))
			T_CHECK(!"a chunk that is not there");
	}
	sectors_close(s);
}

/* An image of Emulab's, which has no fragments: forwards, backwards, anywhere. */
static void
test_golden(struct model *m)
{
	size_t len;
	uint8_t *bytes = golden_load("raw", &len);
	struct decoder *dec = decoder_new();
	FILE *f = fopen(in_scratch("raw.ndz"), "wb");
	struct chunk c;
	struct sectors *s;
	struct err e;

	memset(m, 0, sizeof *m);
	for (size_t at = 0; at < len; at += NDZ_CHUNK_BYTES) {
		T_CHECK(chunk_parse(&c, bytes + at, &e) == 0);
		T_CHECK(c.h.nregions == 1);
		T_CHECK(chunk_decode(&c, bytes + at, dec,
			    m->data + c.h.regions[0].off * SECTOR_BYTES, &e) == 0);
		memset(m->stored + c.h.regions[0].off, true, c.h.regions[0].len);
		m->total = c.h.lastsect;
		chunk_free(&c);
	}
	fwrite(bytes, len, 1, f);
	fclose(f);
	T_CHECK(sectors_open(&s, in_scratch("raw.ndz"), &e) == 0);
	T_CHECK(same_set(sectors_stored(s), m));
	T_CHECK(reads_right(s, m, 60));
	sectors_close(s);

	/* Its last byte of Adler-32 is wrong: reading says so at the end. */
	f = fopen(in_scratch("raw.ndz"), "r+b");
	struct ndz_header h;
	T_CHECK(ndz_header_get(&h, bytes, NDZ_HEADER_BYTES, &e) == 0);
	fseek(f, NDZ_HEADER_BYTES + (long)h.size - 1, SEEK_SET);
	fputc(bytes[NDZ_HEADER_BYTES + h.size - 1] ^ 1, f);
	fclose(f);
	T_CHECK(sectors_open(&s, in_scratch("raw.ndz"), &e) == 0);
	uint8_t sector[SECTOR_BYTES];
	T_CHECK(sectors_read(s, (struct range){ 3, 1 }, sector, &e) == 0);
	T_CHECK(sectors_done(s, &e) != 0);
	T_CHECK(e.kind == ERR_FORMAT);
	sectors_close(s);
	decoder_free(dec);
	free(bytes);
}

/* Does the chunk list what is freed of its sectors, as far as it has room? */
static bool
lists_freed(const struct chunk *c, const struct rangeset *freed)
{
	size_t room = ext_freed_room(&c->ext, &c->h, 0), n = 0;
	bool good = true;

	for (size_t i = rangeset_find(freed, c->h.firstsect); i < rangeset_count(freed);
	     i++) {
		struct range r = range_clip(
		    rangeset_get(freed, i), c->h.firstsect, c->h.lastsect);
		if (r.len == 0)
			break;
		if (n < c->ext.nfreed)
			good &= c->ext.freed[n].off == r.off &&
			        c->ext.freed[n].len == r.len;
		n++;
	}
	return good && c->ext.nfreed == (n < room ? n : room);
}

static void
check_freed(const char *name, struct rangeset *freed)
{
	FILE *f = fopen(in_scratch(name), "rb");
	uint8_t *bytes = malloc(NDZ_CHUNK_BYTES);
	struct chunk c;
	struct err e;
	bool good = true;

	while (good && fread(bytes, NDZ_CHUNK_BYTES, 1, f) == 1) {
		good = chunk_parse(&c, bytes, &e) == 0 && lists_freed(&c, freed);
		if (good)
			chunk_free(&c);
	}
	T_CHECK(good);
	free(bytes);
	fclose(f);
}

static void
check_layers(struct layers *l, const struct model *m)
{
	static uint8_t buf[FRAGMENT_WINDOW_BYTES];
	struct window w = { 0 };
	struct err e;
	uint64_t sectors = 0;
	ssize_t n;
	bool good = true;

	T_CHECK(layers_total(l) == m->total);
	T_CHECK(same_set(layers_stored(l), m));
	while ((n = layers_next(l, &w, buf, &e)) > 0) {
		const uint8_t *p = buf;
		for (unsigned i = 0; i < w.nregions; i++) {
			good &= memcmp(p, m->data + w.regions[i].off * SECTOR_BYTES,
				    w.regions[i].len * SECTOR_BYTES) == 0;
			p += w.regions[i].len * SECTOR_BYTES;
			sectors += w.regions[i].len;
		}
		good &= p == buf + n;
	}
	T_CHECK(n == 0);
	T_CHECK(good);
	T_CHECK(sectors == rangeset_total(layers_stored(l)));
	T_CHECK(layers_done(l, &e) == 0);
}

static void
test_layers(struct model *m, struct model *delta, unsigned round)
{
	static const char *const names[] = { "base", "1", "2" };
	struct sectors *v[3];
	struct rangeset freed;
	struct layers *l;
	struct err e;

	make_model(m, 25);
	write_image("base", m, false, NULL);
	T_CHECK(sectors_open(&v[0], in_scratch("base"), &e) == 0);
	for (unsigned i = 1; i < 3; i++) {
		make_model(delta, 6);
		/* The disk may have shrunk; the model forgets what is behind its end.
		 */
		if (i == round)
			delta->total = DISK_SECTORS - 1000;
		memset(
		    delta->stored + delta->total, false, DISK_SECTORS - delta->total);
		free_some(&freed, delta);
		write_image(names[i], delta, true, &freed);
		T_CHECK(sectors_open(&v[i], in_scratch(names[i]), &e) == 0);
		check_freed(names[i], &freed);
		rangeset_free(&freed);
		apply(m, delta, sectors_freed(v[i]));
		T_CHECK(ext_is_delta(sectors_ext(v[i])));
	}
	T_CHECK(layers_new(&l, v, 3, &e) == 0);
	check_layers(l, m);
	layers_free(l);
	for (unsigned i = 0; i < 3; i++)
		sectors_close(v[i]);
}

static void
test_failures(void)
{
	struct cancel told = { .signal = SIGTERM };
	struct sectors *s;
	struct err e;

	T_CHECK(sectors_open(&s, "/nonexistent/x", &e) != 0);
	T_CHECK(e.kind == ERR_IO);
	cancel_work_for(&told);
	T_CHECK(sectors_open(&s, in_scratch("base"), &e) != 0);
	cancel_work_for(NULL);
	T_CHECK(e.kind == ERR_CANCELLED);
	/* Chunks of which the second's sectors are the first's, too. */
	size_t len;
	uint8_t *bytes = golden_load("ext2", &len);
	FILE *f = fopen(in_scratch("twice.ndz"), "wb");
	fwrite(bytes, len, 1, f);
	fwrite(bytes, len, 1, f);
	fclose(f);
	T_CHECK(sectors_open(&s, in_scratch("twice.ndz"), &e) != 0);
	T_CHECK(e.kind == ERR_UNSUPPORTED);
	free(bytes);
}

static void
test_reloc_sectors(void)
{
	struct ndz_reloc label = { NDZ_RELOC_FREEBSD_LABEL, 1, 0, 276 };
	struct ndz_reloc sum = { NDZ_RELOC_LILO_CHECKSUM, 11, 478, 2 };
	struct ndz_reloc across = { NDZ_RELOC_LILO_ADDRESS, 7, 510, 5 };
	struct ndz_reloc none = { NDZ_RELOC_SHORT_SECTOR, 9, 0, 0 };
	struct range r;

	r = reloc_sectors(&label);
	T_CHECK(r.off == 1);
	T_CHECK(r.len == 1);
	r = reloc_sectors(&sum);
	T_CHECK(r.off == 10);
	T_CHECK(r.len == 2);
	r = reloc_sectors(&across);
	T_CHECK(r.off == 7);
	T_CHECK(r.len == 2);
	r = reloc_sectors(&none);
	T_CHECK(r.off == 9);
	T_CHECK(r.len == 1);
}

/* A header may list relocations in any order. */
static void
test_reloc_order(struct model *m)
{
	static uint8_t bytes[NDZ_CHUNK_BYTES];
	struct ndz_header h;
	struct sectors *s;
	struct err e;
	size_t n;

	make_model(m, 25);
	write_image("r.ndz", m, false, NULL);
	FILE *f = fopen(in_scratch("r.ndz"), "r+b");
	T_CHECK(fread(bytes, sizeof bytes, 1, f) == 1);
	T_CHECK(ndz_header_get(&h, bytes, sizeof bytes, &e) == 0);
	uint64_t first = h.regions[0].off, last = range_end(h.regions[h.nregions - 1]) - 1;
	h.nrelocs = 3;
	h.relocs[0] = (struct ndz_reloc){ NDZ_RELOC_LILO_ADDRESS, last, 0, 5 };
	h.relocs[1] = (struct ndz_reloc){ NDZ_RELOC_LILO_ADDRESS, first, 10, 5 };
	h.relocs[2] = (struct ndz_reloc){ NDZ_RELOC_LILO_ADDRESS, first, 5, 5 };
	T_CHECK(ndz_header_put(&h, bytes, &e) == 0);
	rewind(f);
	fwrite(bytes, NDZ_HEADER_BYTES, 1, f);
	fclose(f);
	if (!T_CHECK(sectors_open(&s, in_scratch("r.ndz"), &e) == 0))
		return;
	const struct ndz_reloc *r = sectors_relocs(s, &n);
	T_CHECK(n == 3);
	T_CHECK(r[0].sector == first && r[0].offset == 5);
	T_CHECK(r[1].sector == first && r[1].offset == 10);
	T_CHECK(r[2].sector == last);
	sectors_close(s);
}

/* Give chunk i of an image this index, and n samples of a base. */
static void
put_samples(const char *name, uint32_t i, int32_t index, struct sample *v, size_t n)
{
	static uint8_t bytes[NDZ_CHUNK_BYTES];
	FILE *f = fopen(in_scratch(name), "r+b");
	struct chunk c;
	struct err e;

	fseek(f, (long)i * NDZ_CHUNK_BYTES, SEEK_SET);
	T_CHECK(fread(bytes, sizeof bytes, 1, f) == 1);
	T_CHECK(chunk_parse(&c, bytes, &e) == 0);
	c.h.index = index;
	c.ext.has_samples = true;
	samples_free(&c.ext.samples);
	c.ext.samples = (struct samples){ .hash = SAMPLE_SHA256, .n = n, .v = v };
	T_CHECK(ndz_header_put(&c.h, bytes, &e) == 0);
	T_CHECK(ext_put(&c.ext, &c.h, bytes, &e) == 0);
	c.ext.samples = (struct samples){ .n = 0 };
	chunk_free(&c);
	fseek(f, (long)i * NDZ_CHUNK_BYTES, SEEK_SET);
	fwrite(bytes, sizeof bytes, 1, f);
	fclose(f);
}

/* The last chunk of a delta says that it is chunk 0, of which samples are in any order.  Those
 * of sectors that it does not store count for nothing. */
static void
test_sample_order(struct model *m)
{
	struct sample v[2] = { { .sectors = { 9, 1 } }, { .sectors = { 3, 1 } } };
	struct sectors *s;
	struct err e;

	make_model(m, 10);
	write_image("s.ndz", m, true, NULL);
	if (!T_CHECK(sectors_open(&s, in_scratch("s.ndz"), &e) == 0))
		return;
	uint32_t last = sectors_chunks(s) - 1;
	const struct rangeset *stored = sectors_stored(s);
	uint64_t end = range_end(rangeset_get(stored, rangeset_count(stored) - 1));
	sectors_close(s);
	T_CHECK(last > 0);
	put_samples("s.ndz", 0, 0, v, 0);
	put_samples("s.ndz", last, 0, v, 2);
	if (T_CHECK(sectors_open(&s, in_scratch("s.ndz"), &e) == 0))
		sectors_close(s);
	v[0].sectors.off = end - 1;
	v[1].sectors.off = end - 2;
	put_samples("s.ndz", last, 0, v, 2);
	T_CHECK(sectors_open(&s, in_scratch("s.ndz"), &e) != 0);
	T_CHECK(e.kind == ERR_FORMAT && strstr(e.text, "do not ascend") != NULL);
}

int
main(void)
{
	static const char *const names[] = { "deflate:1", "zstd:1" };
	struct model *m = malloc(sizeof *m), *delta = malloc(sizeof *delta);

	scratch_init();
	test_golden(m);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		struct err e;
		if (codec_parse(&codec, names[i], &e) != 0) {
			printf("# %s\n", e.text);
			T_CHECK(e.kind == ERR_UNSUPPORTED);
			continue;
		}
		test_reading(m);
		test_reloc_order(m);
		test_sample_order(m);
		for (unsigned round = 0; round < 4; round++)
			test_layers(m, delta, round);
	}
	test_failures();
	test_reloc_sectors();
	free(m);
	free(delta);
	return t_done();
}
