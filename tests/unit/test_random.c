/* An image that is read anywhere, by several threads: the same data as one thread reads in
 * order, how little of the source is read, what is kept, and what becomes of damage. */
#include "common/image/read/random.h"

#include <pthread.h>

#include "common/image/format/crypt.h"
#include "common/image/format/opener.h"
#include "common/image/format/sign.h"
#include "common/image/read/fragments.h"
#include "common/image/read/partial.h"
#include "common/image/read/sectors.h"
#include "common/image/read/source.h"
#include "tests/unit/disk_model.h"
#include "tests/unit/golden.h"

enum { MOST_SECTORS = 500, PLENTY = 64 << 20, THREADS = 4 };

/* A file in memory that knows what was read of it. */
struct file {
	uint8_t *bytes;
	size_t len;
	pthread_mutex_t lock;
	struct blockmap was_read[16]; /* of each chunk */
	unsigned reads, fail_at;      /* the read that fails; 0: none */
	struct opener *opener;        /* or NULL */
};

static const char *
file_name(void *self)
{
	(void)self;
	return "memory";
}

static int
file_info(void *self, struct source_info *info, struct err *e)
{
	const struct file *f = self;

	(void)e;
	info->bytes = f->len;
	info->chunks = (uint32_t)(f->len / SOURCE_CHUNK_BYTES);
	return 0;
}

/* False: this is the read that fails. */
static bool
file_count(struct file *f, uint32_t chunk, const struct blockmap *need)
{
	pthread_mutex_lock(&f->lock);
	bool good = ++f->reads != f->fail_at;
	blockmap_add(&f->was_read[chunk], need);
	pthread_mutex_unlock(&f->lock);
	return good;
}

static int
file_read(void *self, uint32_t chunk, const struct blockmap *need, uint32_t first, void *to,
    struct err *e)
{
	struct file *f = self;
	const uint8_t *from = f->bytes + (size_t)chunk * SOURCE_CHUNK_BYTES;

	if (!file_count(f, chunk, need))
		return err_set(e, ERR_IO, "memory: cannot be read now");
	for (uint32_t b = blockmap_next(need, 0); b < WIRE_CHUNK_BLOCKS;
	     b = blockmap_next(need, b + 1)) {
		size_t at = (size_t)b * SOURCE_BLOCK_BYTES;
		memcpy((uint8_t *)to + at - (size_t)first * SOURCE_BLOCK_BYTES, from + at,
		    SOURCE_BLOCK_BYTES);
	}
	return 0;
}

static void
file_close(void *self)
{
	(void)self;
}

static struct sectors *
open_sectors(struct file *f)
{
	static const struct source_ops ops = {
		.name = file_name, .info = file_info, .read = file_read, .close = file_close
	};
	struct source source = { &ops, f };
	struct sectors *s;
	struct err e;

	if (!T_CHECK(sectors_open_source(&s, &source, f->opener, &e) == 0)) {
		printf("# %s\n", e.text);
		exit(1);
	}
	return s;
}

/* What was read until it was open does not count. */
static struct random *
open_random(struct file *f, uint64_t cache_bytes)
{
	struct random *r;
	struct err e;

	T_CHECK(random_open(&r, open_sectors(f), cache_bytes, &e) == 0);
	memset(f->was_read, 0, sizeof f->was_read);
	f->reads = f->fail_at = 0;
	return r;
}

static struct file
new_file(uint8_t *bytes, size_t len)
{
	struct file f = { .bytes = bytes, .len = len };

	pthread_mutex_init(&f.lock, NULL);
	return f;
}

static struct file
load_file(const char *name)
{
	uint8_t *bytes = malloc(16 * SOURCE_CHUNK_BYTES);
	FILE *f = fopen(in_scratch(name), "rb");
	size_t len = fread(bytes, 1, 16 * SOURCE_CHUNK_BYTES, f);

	fclose(f);
	T_CHECK(len > 0);
	return new_file(bytes, len);
}

static void
end_file(struct file *f)
{
	pthread_mutex_destroy(&f->lock);
	opener_free(f->opener);
	free(f->bytes);
}

/* What one thread reads in order: all that is stored, in places as on the disk. */
struct truth {
	const struct rangeset *stored;
	struct sectors *s;
	uint8_t *disk;
};

static struct truth
find_truth(struct file *f)
{
	struct truth t = { .s = open_sectors(f) };
	struct err e;

	t.stored = sectors_stored(t.s);
	t.disk = calloc(sectors_total(t.s), SECTOR_BYTES);
	for (size_t i = 0; i < rangeset_count(t.stored); i++) {
		struct range r = rangeset_get(t.stored, i);
		if (sectors_read(t.s, r, t.disk + r.off * SECTOR_BYTES, &e) != 0)
			T_CHECK(!"the image is damaged");
	}
	T_CHECK(sectors_done(t.s, &e) == 0);
	return t;
}

static void
end_truth(struct truth *t)
{
	sectors_close(t->s);
	free(t->disk);
}

static struct range
pick_range(const struct truth *t, uint64_t *state)
{
	uint64_t n = random_next(state);
	struct range r = rangeset_get(t->stored, n % rangeset_count(t->stored));
	uint64_t from = (n >> 7) % r.len, most = 1 + (n >> 15) % MOST_SECTORS;

	return range_clip(r, r.off + from, r.off + from + most);
}

/* 1 it is right, 0 it is not, -1 it cannot be read. */
static int
reads(struct random *r, const struct truth *t, struct range range, struct err *e)
{
	uint8_t *buf = malloc(range.len * SECTOR_BYTES);
	int rc = random_read(r, range, buf, e);

	if (rc == 0)
		rc = memcmp(buf, t->disk + range.off * SECTOR_BYTES,
			 range.len * SECTOR_BYTES) == 0;
	free(buf);
	return rc;
}

struct reader {
	struct random *r;
	const struct truth *t;
	uint64_t state;
	unsigned times;
};

static void *
read_many(void *arg)
{
	struct reader *x = arg;
	struct err e;
	bool right = true;

	for (unsigned i = 0; i < x->times; i++)
		right &= reads(x->r, x->t, pick_range(x->t, &x->state), &e) == 1;
	return right ? x : NULL;
}

static bool
many_read(struct random *r, const struct truth *t, unsigned times)
{
	struct reader readers[THREADS];
	pthread_t threads[THREADS];
	bool right = true;
	void *ok;

	for (unsigned i = 0; i < THREADS; i++) {
		readers[i] = (struct reader){ r, t, i, times };
		if (pthread_create(&threads[i], NULL, read_many, &readers[i]) != 0)
			abort();
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &ok);
		right &= ok != NULL;
	}
	return right;
}

static bool
reads_all(struct random *r, const struct truth *t)
{
	struct err e;
	bool right = true;

	for (size_t i = 0; i < rangeset_count(t->stored); i++)
		right &= reads(r, t, rangeset_get(t->stored, i), &e) == 1;
	return right;
}

static void
test_cache(struct file *f, const struct truth *t, uint64_t cache_bytes)
{
	struct random *r = open_random(f, cache_bytes);
	struct reader alone = { r, t, 77, 100 };

	T_CHECK(read_many(&alone) != NULL);
	T_CHECK(many_read(r, t, 50));
	T_CHECK(reads_all(r, t));
	T_CHECK(random_stats(r).kept <= cache_bytes);
	random_close(r);
}

/* With room for everything, nothing is decoded or read twice, whoever wants it when. */
static void
test_once(struct file *f, const struct truth *t)
{
	struct random *r = open_random(f, PLENTY);
	uint64_t stored = rangeset_total(t->stored) * SECTOR_BYTES;

	T_CHECK(many_read(r, t, 50));
	T_CHECK(reads_all(r, t));
	struct random_stats all = random_stats(r);
	unsigned reads_before = f->reads;
	T_CHECK(all.decoded <= stored);
	T_CHECK(all.decoded > stored / 2);
	T_CHECK(many_read(r, t, 50));
	T_CHECK(random_stats(r).misses == all.misses);
	T_CHECK(random_stats(r).decoded == all.decoded);
	T_CHECK(random_stats(r).hits > all.hits);
	T_CHECK(f->reads == reads_before);
	random_close(r);
}

static void
test_image(struct file *f)
{
	struct truth t = find_truth(f);

	test_cache(f, &t, PLENTY);
	test_cache(f, &t, 3 << 20);
	test_cache(f, &t, 0);
	test_once(f, &t);
	end_truth(&t);
}

/* Chunk 1, and its first fragment that is not zero. */
static struct fragments
find_fragment(const struct file *f, struct chunk *c)
{
	struct err e;

	T_CHECK(chunk_parse(c, f->bytes + SOURCE_CHUNK_BYTES, &e) == 0);
	struct fragments x = fragments_of(c);
	while (fragments_next(&x) && x.entry->zero)
		;
	return x;
}

/* A sector that the fragment has. */
static struct range
sector_of(const struct chunk *c, const struct fragments *f)
{
	uint64_t at = f->raw_at / SECTOR_BYTES;
	unsigned i = 0;

	for (; at >= c->h.regions[i].len; i++)
		at -= c->h.regions[i].len;
	return (struct range){ c->h.regions[i].off + at, 1 };
}

/* Of the stream only what belongs to the fragment is read, and of other chunks nothing. */
static void
test_blocks(struct file *f)
{
	struct truth t = find_truth(f);
	struct random *r = open_random(f, PLENTY);
	struct chunk c;
	struct fragments x = find_fragment(f, &c);
	struct blockmap own = partial_fragment(&x), needed = own;
	uint32_t area = (uint32_t)(ext_area_at(&c.h) / SOURCE_BLOCK_BYTES);
	struct blockmap header = blockmap_range(0, PARTIAL_FIRST_BLOCKS);
	struct blockmap table = blockmap_range(area, WIRE_CHUNK_BLOCKS - area);
	struct err e;

	blockmap_add(&needed, &header);
	blockmap_add(&needed, &table);
	T_CHECK(reads(r, &t, sector_of(&c, &x), &e) == 1);
	struct blockmap more = blockmap_minus(f->was_read[1], &needed);
	struct blockmap less = blockmap_minus(own, &f->was_read[1]);
	T_CHECK(blockmap_empty(&more));
	T_CHECK(blockmap_empty(&less));
	T_CHECK(blockmap_empty(&f->was_read[0]));
	T_CHECK(blockmap_count(&f->was_read[1]) < 200);
	unsigned before = f->reads;
	T_CHECK(reads(r, &t, sector_of(&c, &x), &e) == 1);
	T_CHECK(f->reads == before);
	T_CHECK(random_stats(r).hits == 1);
	T_CHECK(random_stats(r).misses == 1);
	T_CHECK(random_stats(r).decoded == x.raw_bytes);
	chunk_free(&c);
	random_close(r);
	end_truth(&t);
}

/* Each sector of chunk 1 is right or cannot be read. */
static void
count_damage(struct random *r, const struct truth *t, const struct chunk *c,
    uint64_t *right, uint64_t *damaged)
{
	struct err e;

	*right = *damaged = 0;
	for (unsigned i = 0; i < c->h.nregions; i++)
		for (uint64_t k = 0; k < c->h.regions[i].len; k++) {
			struct range one = { c->h.regions[i].off + k, 1 };
			int rc = reads(r, t, one, &e);
			*right += rc == 1;
			*damaged += rc == -1 && e.kind == ERR_FORMAT &&
			            strstr(e.text, "memory: chunk 1") == e.text;
		}
}

static void
test_damage(struct file *f)
{
	struct truth t = find_truth(f);
	struct random *r = open_random(f, PLENTY);
	struct chunk c;
	struct fragments x = find_fragment(f, &c);
	uint8_t *byte = f->bytes + SOURCE_CHUNK_BYTES + NDZ_HEADER_BYTES + x.stream_at +
	                x.entry->bytes / 2;
	uint64_t right, damaged;

	*byte ^= 0x10;
	count_damage(r, &t, &c, &right, &damaged);
	T_CHECK(damaged == x.raw_bytes / SECTOR_BYTES);
	T_CHECK(right + damaged == c.raw_bytes / SECTOR_BYTES);
	*byte ^= 0x10; /* nothing wrong was kept */
	count_damage(r, &t, &c, &right, &damaged);
	T_CHECK(right == c.raw_bytes / SECTOR_BYTES);
	chunk_free(&c);
	random_close(r);
	end_truth(&t);
}

/* Header, table or data cannot be read, once. */
static void
test_failure(struct file *f, uint64_t sector)
{
	struct truth t = find_truth(f);
	struct range one = { sector, 1 };
	struct random *r = open_random(f, PLENTY);
	struct err e;

	T_CHECK(reads(r, &t, one, &e) == 1);
	random_close(r);
	for (unsigned at = 1, n = f->reads; at <= n; at++) {
		r = open_random(f, PLENTY);
		f->fail_at = at;
		T_CHECK(reads(r, &t, one, &e) == -1);
		T_CHECK(e.kind == ERR_IO);
		T_CHECK(strstr(e.text, "memory: ") == e.text);
		T_CHECK(reads(r, &t, one, &e) == 1);
		random_close(r);
	}
	end_truth(&t);
}

/* The chunk becomes one of another image when it is already open. */
static void
test_other_image(struct file *f, const struct file *other)
{
	struct random *r = open_random(f, PLENTY);
	uint8_t *chunk = f->bytes + SOURCE_CHUNK_BYTES, *was = malloc(SOURCE_CHUNK_BYTES);
	uint8_t buf[SECTOR_BYTES];
	struct chunk c;
	struct fragments x = find_fragment(f, &c);
	struct err e;

	memcpy(was, chunk, SOURCE_CHUNK_BYTES);
	memcpy(chunk, other->bytes + SOURCE_CHUNK_BYTES, SOURCE_CHUNK_BYTES);
	T_CHECK(random_read(r, sector_of(&c, &x), buf, &e) == -1);
	T_CHECK(e.kind == ERR_FORMAT);
	T_CHECK(strstr(e.text, "memory: chunk 1: belongs to another image") == e.text);
	memcpy(chunk, was, SOURCE_CHUNK_BYTES);
	T_CHECK(random_read(r, sector_of(&c, &x), buf, &e) == 0);
	chunk_free(&c);
	random_close(r);
	free(was);
}

static void
test_tables(struct model *m)
{
	struct chunk c;

	make_model(m, 40);
	write_image("a.ndz", m, false, NULL);
	write_image("b.ndz", m, false, NULL);
	struct file a = load_file("a.ndz"), b = load_file("b.ndz");
	test_image(&a);
	test_blocks(&a);
	test_damage(&a);
	struct fragments x = find_fragment(&a, &c);
	test_failure(&a, sector_of(&c, &x).off);
	chunk_free(&c);
	test_other_image(&a, &b);
	end_file(&a);
	end_file(&b);
}

/* An image of Emulab's, without tables and digests: nothing of a chunk with a wrong Adler-32 is
 * given out. */
static void
test_stream(void)
{
	size_t len;
	uint8_t *bytes = golden_load("raw", &len), sector[SECTOR_BYTES];
	struct file f = new_file(bytes, len);
	struct ndz_header h;
	struct err e;

	test_image(&f);
	test_failure(&f, 3);
	T_CHECK(ndz_header_get(&h, bytes, NDZ_HEADER_BYTES, &e) == 0);
	uint8_t *last = bytes + NDZ_HEADER_BYTES + h.size - 1;
	struct random *r = open_random(&f, PLENTY);
	*last ^= 1;
	T_CHECK(random_read(r, (struct range){ 3, 1 }, sector, &e) == -1);
	T_CHECK(e.kind == ERR_FORMAT);
	T_CHECK(strstr(e.text, "memory: chunk 0: ") == e.text);
	T_CHECK(random_stats(r).kept == 0);
	*last ^= 1;
	T_CHECK(random_read(r, (struct range){ 3, 1 }, sector, &e) == 0);
	random_close(r);
	end_file(&f);
}

static void
seal_file(struct file *f)
{
	const struct opener_config open = { in_scratch("a.pub"), in_scratch("a.enc") };
	struct sealer *sealer;
	struct err e;

	T_CHECK(sealer_new(&sealer, &sealing, &e) == 0);
	for (size_t at = 0; at < f->len; at += NDZ_CHUNK_BYTES) {
		const void *chunk = f->bytes + at;
		T_CHECK(sealer_seal(sealer, &chunk, &e) == 0);
		memcpy(f->bytes + at, chunk, NDZ_CHUNK_BYTES);
	}
	sealer_free(sealer);
	T_CHECK(opener_new(&f->opener, &open, &e) == 0);
}

/* Nothing of a chunk that is not proved is given out. */
static void
test_forged(struct file *f)
{
	struct truth t = find_truth(f);
	struct random *r = open_random(f, PLENTY);
	struct range first = rangeset_get(t.stored, 0);
	struct err e;

	first.len = 1;
	f->bytes[NDZ_CHUNK_BYTES - 1000] ^= 1;
	T_CHECK(reads(r, &t, first, &e) == -1);
	T_CHECK(e.kind == ERR_FORMAT);
	T_CHECK(strstr(e.text, "memory: chunk 0: is damaged or forged") == e.text);
	f->bytes[NDZ_CHUNK_BYTES - 1000] ^= 1;
	T_CHECK(reads(r, &t, first, &e) == 1);
	random_close(r);
	end_truth(&t);
}

/* Signed and encrypted. */
static void
test_sealed(struct model *m)
{
	static char sign[200], encrypt[200];
	struct err e;

	T_CHECK(sign_make_keys(in_scratch("a"), &e) == 0);
	T_CHECK(crypt_make_key(in_scratch("a.enc"), &e) == 0);
	snprintf(sign, sizeof sign, "%s", in_scratch("a.key"));
	snprintf(encrypt, sizeof encrypt, "%s", in_scratch("a.enc"));
	sealing = (struct sealer_config){ sign, encrypt };
	make_model(m, 40);
	write_image("c.ndz", m, false, NULL);
	struct file f = load_file("c.ndz");
	seal_file(&f);
	test_image(&f);
	test_forged(&f);
	end_file(&f);
}

int
main(void)
{
	static const char *const names[] = { "deflate:1", "zstd:1" };
	struct model *m = malloc(sizeof *m);

	draw_seed = 2; /* the second chunk begins with a short fragment, also of zstd */
	scratch_init();
	test_stream();
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		struct err e;
		if (codec_parse(&codec, names[i], &e) == 0)
			test_tables(m);
		else
			T_CHECK(e.kind == ERR_UNSUPPORTED);
	}
	T_CHECK(codec_parse(&codec, "deflate:1", &(struct err){ 0 }) == 0);
	test_sealed(m);
	free(m);
	return t_done();
}
