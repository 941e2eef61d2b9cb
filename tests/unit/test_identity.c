/* Which image is served: by content, whatever the file's name, place and times are. */
#include "frisbeed/serve/identity.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "common/image/format/crypt.h"
#include "tests/unit/scratch.h"
#define CHUNKS_MADE 20 /* more than the identity looks at: */
#include "tests/unit/sealed_chunks.h"

enum { FEW = 3, NOT_SAMPLED = 15 };

static void
write_file(const char *name, uint8_t (*chunks)[NDZ_CHUNK_BYTES], unsigned n)
{
	FILE *f = fopen(name, "wb");

	T_CHECK(fwrite(chunks, NDZ_CHUNK_BYTES, n, f) == n);
	T_CHECK(fclose(f) == 0);
}

/* A file, as a session has it. */
struct served {
	struct source source;
	struct disk *file; /* the source's */
};

static struct served
open_file(const char *name)
{
	struct served s = { .file = NULL };

	T_CHECK(disk_open(&s.file, name, DISK_READ, &e) == 0);
	T_CHECK(source_of_disk(&s.source, s.file, &e) == 0);
	return s;
}

static struct identity *
identity(struct served *s, bool is_image)
{
	struct identity *id = NULL;

	T_CHECK(identity_new(&id, &s->source, s->file, is_image, &e) == 0);
	return id;
}

/* The byte is another one afterwards, also in an encrypted chunk, where it may have any value. */
static void
flip_byte(const char *name, long at)
{
	FILE *f = fopen(name, "r+b");

	T_CHECK(f != NULL);
	T_CHECK(fseek(f, at, SEEK_SET) == 0);
	int flipped = fgetc(f) ^ 0xff;
	T_CHECK(fseek(f, at, SEEK_SET) == 0);
	T_CHECK(fputc(flipped, f) == flipped);
	T_CHECK(fclose(f) == 0);
}

/* Another time of change, for certain, but in the same second as the last one. */
static void
touch(const char *name)
{
	static struct timespec at = { 1000000000, 0 };

	at.tv_nsec += 1000000;
	struct timespec times[2] = { at, at };

	T_CHECK(utimensat(AT_FDCWD, name, times, 0) == 0);
}

/* Does it find within a minute that the content is another one? */
static bool
finds_change(struct identity *id, bool expected)
{
	for (int i = 0; i < (expected ? 6000 : 20); i++) {
		if (identity_changed(id))
			return true;
		nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
	}
	return false;
}

static bool
same_identity(const char *a, const char *b)
{
	struct served da = open_file(a), db = open_file(b);
	struct identity *ia = identity(&da, true), *ib = identity(&db, true);
	bool same = memcmp(identity_bytes(ia), identity_bytes(ib),
			WIREXT_IDENTITY_BYTES) == 0;

	identity_free(ia);
	identity_free(ib);
	source_close(&da.source);
	source_close(&db.source);
	return same;
}

static void
test_copy(void)
{
	write_file("a", plain, FEW);
	write_file("b", plain, FEW);
	touch("b");
	T_CHECK(same_identity("a", "b"));
	flip_byte("b", 2 * NDZ_CHUNK_BYTES + 5);
	T_CHECK(!same_identity("a", "b"));
	write_file("b", plain, FEW + 1);
	T_CHECK(!same_identity("a", "b"));
}

/* A file that is touched; a byte of it changes; it is cut. */
static void
check_file(const char *name, bool is_image, bool touch_is_change)
{
	struct served d = open_file(name);
	struct identity *id = identity(&d, is_image);

	T_CHECK(identity_look(id, &e) == 0);
	T_CHECK(!finds_change(id, false));
	touch(name);
	T_CHECK(identity_look(id, &e) == 0);
	T_CHECK(finds_change(id, touch_is_change) == touch_is_change);
	T_CHECK(identity_holds(id, 1) == !touch_is_change);
	if (!touch_is_change) {
		flip_byte(name, NDZ_CHUNK_BYTES + 4100);
		touch(name);
		T_CHECK(identity_look(id, &e) == 0);
		T_CHECK(!identity_holds(id, 1));
		T_CHECK(finds_change(id, true));
	}
	identity_free(id);
	source_close(&d.source);
	d = open_file(name);
	id = identity(&d, is_image);
	T_CHECK(truncate(name, 5000) == 0);
	T_CHECK(identity_look(id, &e) == 0);
	T_CHECK(identity_changed(id));
	identity_free(id);
	source_close(&d.source);
}

static void
test_touched(void)
{
	write_file("a", plain, FEW);
	check_file("a", true, false);
	write_file("a", plain, FEW);
	check_file("a", false, false);
	write_file("a", plain, CHUNKS);
	check_file("a", true, false);
	/* Nothing proves a chunk in the middle of a long file. */
	write_file("a", plain, CHUNKS);
	check_file("a", false, true);
	make_sealed(&(struct sealer_config){ .encrypt = "k" }, 1);
	write_file("a", sealed, CHUNKS);
	check_file("a", true, true);
	write_file("a", sealed, FEW);
	check_file("a", true, false);
	make_plain(&(struct sealer_config){ 0 }, 1);
}

/* One chunk that the identity does not look at is another one. */
static void
check_replaced(const uint8_t *with, size_t bytes)
{
	write_file("long", plain, CHUNKS);
	struct served d = open_file("long");
	struct identity *id = identity(&d, true);

	FILE *f = fopen("long", "r+b");
	T_CHECK(fseek(f, NOT_SAMPLED * (long)NDZ_CHUNK_BYTES, SEEK_SET) == 0);
	T_CHECK(fwrite(with, bytes, 1, f) == 1);
	T_CHECK(fclose(f) == 0);
	touch("long");
	T_CHECK(identity_look(id, &e) == 0);
	T_CHECK(!identity_holds(id, NOT_SAMPLED));
	T_CHECK(finds_change(id, true));
	identity_free(id);
	source_close(&d.source);
}

/* The image itself proves it: its place, its UUID, its digest. */
static void
test_long_image(void)
{
	static uint8_t of_another[NDZ_CHUNK_BYTES], bad[NDZ_CHUNK_BYTES];

	make_plain(&(struct sealer_config){ 0 }, 2);
	memcpy(of_another, plain[NOT_SAMPLED], sizeof of_another);
	make_plain(&(struct sealer_config){ 0 }, 1);
	check_replaced(of_another, sizeof of_another);
	check_replaced(plain[NOT_SAMPLED + 1], NDZ_CHUNK_BYTES);
	memcpy(bad, plain[NOT_SAMPLED], sizeof bad);
	bad[40] ^= 1;
	check_replaced(bad, sizeof bad);
	bad[40] ^= 1;
	bad[NDZ_HEADER_BYTES + 3] ^= 1;
	check_replaced(bad, sizeof bad);
	memset(bad, 0, sizeof bad);
	check_replaced(bad, sizeof bad);
}

int
main(void)
{
	scratch_init();
	T_CHECK(chdir(scratch_dir) == 0);
	T_CHECK(crypt_make_key("k", &e) == 0);
	make_plain(&(struct sealer_config){ 0 }, 1);
	test_copy();
	test_touched();
	test_long_image();
	return t_done();
}
