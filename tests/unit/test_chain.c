/* A base and its deltas, as one disk that several threads read and as the chunks of one image,
 * against a model that is an array; what does not belong together, damage, and ends that come
 * early. */
#include "common/image/write/chain.h"

#include <pthread.h>

#include "common/base/cancel.h"
#include "tests/unit/disk_model.h"

enum {
	IMAGES = 3,
	PLENTY = 64 << 20,
	THREADS = 4,
	MOST_SECTORS = 500,
	DATA_AT = 300000, /* in the middle of what a full chunk has compressed */
};

static const char *const names[IMAGES] = { "base", "1", "2" };

/* What the images amount to, and the last delta. */
static struct model whole, delta;

static struct ext_state
state_number(unsigned i)
{
	return (struct ext_state){ .kind = EXT_STATE_UUID, .id = { (uint8_t)(i + 1) } };
}

/* A base and two deltas.  Delta `shrinks` is one of a shorter disk; 0: neither is. */
static void
write_chain(unsigned shrinks)
{
	struct rangeset freed;
	struct sectors *s;
	struct err e;

	make_model(&whole, 25);
	model_state = state_number(0);
	write_image(names[0], &whole, false, NULL);
	for (unsigned i = 1; i < IMAGES; i++) {
		make_model(&delta, 6);
		delta.total -= i == shrinks ? 1000 : 0;
		memset(delta.stored + delta.total, false, DISK_SECTORS - delta.total);
		free_some(&freed, &delta);
		model_base = state_number(i - 1);
		model_state = state_number(i);
		write_image(names[i], &delta, true, &freed);
		rangeset_free(&freed);
		T_CHECK(sectors_open(&s, in_scratch(names[i]), &e) == 0);
		apply(&whole, &delta, sectors_freed(s));
		sectors_close(s);
	}
}

static void
open_images(struct sectors *v[], const unsigned which[], size_t n)
{
	struct err e;

	for (size_t i = 0; i < n; i++)
		if (sectors_open(&v[i], in_scratch(names[which[i]]), &e) != 0)
			abort();
}

static void
open_all(struct sectors *v[IMAGES])
{
	open_images(v, (const unsigned[]){ 0, 1, 2 }, IMAGES);
}

/* Sectors of the model, zeros where it stores none. */
static bool
is_right(const uint8_t *got, struct range r)
{
	static const uint8_t zeros[SECTOR_BYTES];

	for (uint64_t i = 0; i < r.len; i++) {
		uint64_t at = r.off + i;
		bool stored = at < whole.total && whole.stored[at];
		const uint8_t *want = stored ? whole.data + at * SECTOR_BYTES : zeros;
		if (memcmp(got + i * SECTOR_BYTES, want, SECTOR_BYTES) != 0)
			return false;
	}
	return true;
}

struct reader {
	struct random *r;
	uint64_t state;
	bool right;
};

static void *
read_many(void *arg)
{
	struct reader *x = arg;
	uint8_t *buf = malloc(MOST_SECTORS * SECTOR_BYTES);
	struct err e;

	x->right = true;
	for (unsigned i = 0; i < 200; i++) {
		uint64_t n = random_next(&x->state);
		struct range r = { n % DISK_SECTORS, 1 + (n >> 15) % MOST_SECTORS };
		x->right &= random_read(x->r, r, buf, &e) == 0 && is_right(buf, r);
	}
	free(buf);
	return NULL;
}

static bool
many_read(struct random *r)
{
	struct reader readers[THREADS];
	pthread_t threads[THREADS];
	bool right = true;

	for (unsigned i = 0; i < THREADS; i++) {
		readers[i] = (struct reader){ .r = r, .state = i };
		if (pthread_create(&threads[i], NULL, read_many, &readers[i]) != 0)
			abort();
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		right &= readers[i].right;
	}
	return right;
}

static void
test_random(uint64_t cache_bytes)
{
	struct sectors *v[IMAGES];
	struct random *r;
	struct err e;

	open_all(v);
	T_CHECK(chain_random(&r, v, IMAGES, cache_bytes, NULL, &e) == 0);
	T_CHECK(random_total(r) == whole.total);
	T_CHECK(same_set(random_stored(r), &whole));
	T_CHECK(many_read(r));
	T_CHECK(random_stats(r).kept <= cache_bytes);
	random_close(r);
}

/* With room for everything, nothing is decoded twice, of whichever image. */
static void
test_random_once(void)
{
	static uint8_t all[DISK_SECTORS * SECTOR_BYTES];
	struct range disk = { 0, DISK_SECTORS };
	struct sectors *v[IMAGES];
	struct random *r;
	struct err e;

	open_all(v);
	T_CHECK(chain_random(&r, v, IMAGES, PLENTY, NULL, &e) == 0);
	T_CHECK(random_read(r, disk, all, &e) == 0);
	T_CHECK(is_right(all, disk));
	uint64_t misses = random_stats(r).misses;
	T_CHECK(random_read(r, disk, all, &e) == 0);
	T_CHECK(is_right(all, disk));
	T_CHECK(random_stats(r).misses == misses);
	random_close(r);
}

static const struct chain_config *
config(chain_warning *warn)
{
	static struct chain_config c = { .program = "test_chain" };

	c.how = (struct maker_choice){ .codec = codec, .jobs = 2 };
	c.warn = warn;
	return &c;
}

static void
open_source(struct source *s)
{
	struct sectors *v[IMAGES];
	struct err e;

	open_all(v);
	if (!T_CHECK(source_of_chain(s, v, IMAGES, config(NULL), &e) == 0)) {
		printf("# %s\n", e.text);
		exit(1);
	}
}

/* All that it gives out into a file; what the last call said. */
static int
drain(struct source *s, const char *to, struct err *e)
{
	FILE *f = fopen(in_scratch(to), "wb");
	uint8_t *buf = malloc(SOURCE_CHUNK_BYTES);
	uint32_t chunk, expected = 0;
	size_t bytes;
	int rc;

	while ((rc = source_next(s, &chunk, buf, &bytes, e)) == 1) {
		T_CHECK(chunk == expected++);
		T_CHECK(bytes == SOURCE_CHUNK_BYTES);
		fwrite(buf, bytes, 1, f);
	}
	free(buf);
	fclose(f);
	return rc;
}

static void
check_made(const char *name)
{
	static uint8_t buf[DISK_SECTORS * SECTOR_BYTES];
	const struct ext_state state = state_number(IMAGES - 1);
	struct sectors *s;
	struct err e;
	bool right = true;

	T_CHECK(sectors_open(&s, in_scratch(name), &e) == 0);
	T_CHECK(!ext_is_delta(sectors_ext(s)));
	T_CHECK(ext_state_same(&sectors_ext(s)->state, &state));
	T_CHECK(sectors_total(s) == whole.total);
	T_CHECK(same_set(sectors_stored(s), &whole));
	for (size_t i = 0; i < rangeset_count(sectors_stored(s)); i++) {
		struct range r = rangeset_get(sectors_stored(s), i);
		right &= sectors_read(s, r, buf, &e) == 0 && is_right(buf, r);
	}
	T_CHECK(right);
	T_CHECK(sectors_done(s, &e) == 0);
	sectors_close(s);
}

static void
test_source(void)
{
	struct source s;
	struct source_info info;
	uint8_t block[SOURCE_BLOCK_BYTES];
	struct err e;

	open_source(&s);
	T_CHECK(source_info(&s, &info, &e) == 0);
	T_CHECK(info.in_order);
	T_CHECK(info.chunks == SOURCE_CHUNKS_UNKNOWN);
	T_CHECK(source_read_run(&s, 0, 0, 1, block, &e) != 0);
	T_CHECK(e.kind == ERR_UNSUPPORTED);
	T_CHECK(drain(&s, "made", &e) == 0);
	T_CHECK(drain(&s, "none", &e) == 0);
	source_close(&s);
	check_made("made");
}

/* Those that do not belong together, in whatever way they are used. */
static void
check_refused(const unsigned which[], size_t n, const char *why)
{
	struct sectors *v[IMAGES];
	struct random *r;
	struct source s;
	struct err e;

	open_images(v, which, n);
	T_CHECK(chain_random(&r, v, n, PLENTY, NULL, &e) != 0);
	T_CHECK(e.kind == ERR_REFUSED);
	T_CHECK(strstr(e.text, why) != NULL);
	open_images(v, which, n);
	T_CHECK(source_of_chain(&s, v, n, config(NULL), &e) != 0);
	T_CHECK(e.kind == ERR_REFUSED);
	T_CHECK(strstr(e.text, why) != NULL);
}

static void
test_refused(void)
{
	check_refused((const unsigned[]){ 0, 2 }, 2, "is a delta of");
	check_refused((const unsigned[]){ 0, 2, 1 }, 3, "is a delta of");
	check_refused((const unsigned[]){ 1, 2 }, 2, "is a delta;");
	check_refused((const unsigned[]){ 0, 0 }, 2, "is a whole image");
}

static unsigned warnings;

static void
warn(const char *sentence)
{
	warnings += strstr(sentence, "does not say") != NULL;
}

/* A delta that does not say what state it makes: whether another one belongs on top of it
 * cannot be known. */
static void
test_cannot_tell(void)
{
	static const unsigned all[] = { 0, 1, 2 };
	struct rangeset none;
	struct sectors *v[IMAGES];
	struct random *r;
	struct err e;

	model_base = state_number(0);
	model_state = (struct ext_state){ .kind = EXT_STATE_NONE };
	make_model(&delta, 6);
	rangeset_init(&none);
	write_image(names[1], &delta, true, &none);
	check_refused(all, IMAGES, "does not say");
	open_all(v);
	T_CHECK(chain_random(&r, v, IMAGES, PLENTY, warn, &e) == 0);
	T_CHECK(warnings == 1);
	random_close(r);
}

/* One image has always been a chain, too. */
static void
test_base_alone(void)
{
	struct sectors *v[1];
	struct random *r;
	struct err e;

	open_images(v, (const unsigned[]){ 0 }, 1);
	T_CHECK(chain_random(&r, v, 1, PLENTY, NULL, &e) == 0);
	T_CHECK(random_total(r) == DISK_SECTORS);
	random_close(r);
}

static void
flip_byte(const char *name)
{
	FILE *f = fopen(in_scratch(name), "r+b");
	int byte;

	fseek(f, DATA_AT, SEEK_SET);
	byte = fgetc(f);
	fseek(f, DATA_AT, SEEK_SET);
	fputc(byte ^ 0x10, f);
	fclose(f);
}

/* Damage of the last delta is named; what does not need it can be read. */
static void
test_damage(void)
{
	static uint8_t buf[DISK_SECTORS * SECTOR_BYTES];
	struct sectors *v[IMAGES];
	struct random *r;
	struct source s;
	struct err e;
	uint64_t damaged = 0;
	bool right = true, named = true;

	flip_byte(names[2]);
	open_source(&s);
	T_CHECK(drain(&s, "broken", &e) == -1);
	T_CHECK(e.kind == ERR_FORMAT);
	T_CHECK(strstr(e.text, in_scratch(names[2])) == e.text);
	T_CHECK(drain(&s, "broken", &e) == -1);
	T_CHECK(e.kind == ERR_FORMAT);
	source_close(&s);
	open_all(v);
	T_CHECK(chain_random(&r, v, IMAGES, PLENTY, NULL, &e) == 0);
	for (uint64_t i = 0; i < DISK_SECTORS; i++) {
		struct range one = { i, 1 };
		if (random_read(r, one, buf, &e) == 0)
			right &= is_right(buf, one);
		else
			named &= ++damaged > 0 && strstr(e.text, in_scratch(names[2])) == e.text;
	}
	T_CHECK(right);
	T_CHECK(named);
	T_CHECK(damaged > 0);
	T_CHECK(damaged < rangeset_total(sectors_stored(v[2])));
	random_close(r);
}

static void *
cancel_it(void *source)
{
	source_cancel(source);
	return NULL;
}

/* It is closed when chunks wait; another thread cancels it; whoever opened it is to end. */
static void
test_early_ends(void)
{
	struct cancel work = { .signal = 0 };
	uint8_t *buf = malloc(SOURCE_CHUNK_BYTES);
	struct sectors *images[IMAGES];
	pthread_t thread;
	struct source s;
	struct err e;
	uint32_t chunk;
	size_t bytes;

	open_source(&s);
	T_CHECK(source_next(&s, &chunk, buf, &bytes, &e) == 1);
	source_close(&s);
	open_source(&s);
	if (pthread_create(&thread, NULL, cancel_it, &s) != 0)
		abort();
	while (source_next(&s, &chunk, buf, &bytes, &e) == 1)
		;
	pthread_join(thread, NULL);
	T_CHECK(source_next(&s, &chunk, buf, &bytes, &e) == -1);
	T_CHECK(e.kind == ERR_CANCELLED);
	source_close(&s);
	open_all(images);
	cancel_work_for(&work);
	work.signal = SIGINT;
	T_CHECK(source_of_chain(&s, images, IMAGES, config(NULL), &e) == 0);
	T_CHECK(drain(&s, "none", &e) == -1);
	T_CHECK(e.kind == ERR_CANCELLED);
	source_close(&s);
	cancel_work_for(NULL);
	free(buf);
}

int
main(void)
{
	static const char *const codecs[] = { "deflate:1", "zstd:1" };
	struct err e;

	scratch_init();
	for (size_t i = 0; i < sizeof codecs / sizeof codecs[0]; i++) {
		if (codec_parse(&codec, codecs[i], &e) != 0) {
			T_CHECK(e.kind == ERR_UNSUPPORTED);
			continue;
		}
		for (unsigned shrinks = 0; shrinks < IMAGES; shrinks++) {
			write_chain(shrinks);
			test_random(PLENTY);
			test_random(1 << 20);
			test_random(0);
			test_random_once();
			test_source();
		}
	}
	test_refused();
	test_base_alone();
	test_early_ends();
	test_damage();
	write_chain(0);
	test_cannot_tell();
	return t_done();
}
