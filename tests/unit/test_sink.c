/* Each sink of chunks without a command line: a file, an installation, a rehearsal; and the loop
 * that puts an image of a store into one. */
#include <stdlib.h>

#include "common/image/read/copy.h"
#include "common/image/read/prove.h"
#include "emustore/store/put.h"
#include "emustore/store/store_disk.h"
#include "imageunzip/install/install_sink.h"
#include "tests/unit/scratch.h"
#include "tests/unit/sealed_chunks.h"

enum { DISK_BYTES = CHUNKS * WINDOW_SECTORS * 512 };

static unsigned released[CHUNKS];

static void
on_released(void *arg, const void *bytes)
{
	unsigned *n = arg;

	__atomic_add_fetch(n, bytes == plain[n - released] ? 1 : 100, __ATOMIC_SEQ_CST);
}

static int
put(struct sink *s, uint32_t i)
{
	const struct sink_chunk c = { .number = i,
		.length = NDZ_CHUNK_BYTES,
		.bytes = plain[i],
		.released = on_released,
		.arg = &released[i] };

	struct proved *proved = NULL;

	released[i] = 0;
	T_CHECK(prove_read(&c, 1, false, &proved, &e) == 0);
	return sink_put(s, proved, &e);
}

static void
check_released(void)
{
	for (unsigned i = 0; i < CHUNKS; i++)
		T_CHECK(__atomic_load_n(&released[i], __ATOMIC_SEQ_CST) == 1);
}

static bool
is_absent(const char *name)
{
	return access(in_scratch(name), F_OK) != 0;
}

static void
note_tidy(const char *(*tidy)(void *arg), void *arg)
{
	static bool to_be_removed;

	T_CHECK((tidy != NULL) != to_be_removed);
	T_CHECK(tidy == NULL || strcmp(arg, in_scratch("image")) == 0);
	to_be_removed = tidy != NULL;
}

static void
note_written(void *arg, uint32_t chunk)
{
	*(uint32_t *)arg |= 1u << chunk;
}

static struct sink
file_sink(uint32_t *written)
{
	const struct sink_file_config c = { .path = in_scratch("image"),
		.guard = note_tidy,
		.written = note_written,
		.arg = written };
	struct sink s = { NULL, NULL };

	T_CHECK(sink_to_file(&s, &c, &e) == 0);
	return s;
}

static void
test_file(void)
{
	uint32_t written = 0;
	struct sink s = file_sink(&written);
	struct sink_info info;
	struct sink_sum sum;

	sink_info(&s, &info);
	T_CHECK(!info.in_order && !info.takes_parts && !info.has_some);
	sink_begin(&s, CHUNKS, NULL);
	T_CHECK(!sink_has(&s, 0));
	for (uint32_t i = CHUNKS; i-- > 0;)
		T_CHECK(put(&s, i) == 0);
	check_released();
	T_CHECK(written == (1u << CHUNKS) - 1);
	T_CHECK(sink_end(&s, &sum, &e) == 0);
	T_CHECK(sum.bytes_written == sizeof plain);
	T_CHECK(!sink_close(&s, NULL, NULL));
	T_CHECK(scratch_holds("image", plain, sizeof plain));
	s = file_sink(&written);
	T_CHECK(put(&s, 0) == 0);
	sink_close(&s, &sum, NULL);
	T_CHECK(is_absent("image") && sum.left == SINK_LEFT_NO_FILE);
	sink_close(&s, NULL, NULL);
}

/* No filesystem has room for so much; nothing is left of the file. */
static void
test_file_has_no_room(void)
{
	const struct sink_file_config c = { .path = in_scratch("image"),
		.guard = note_tidy,
		.room_bytes = UINT64_C(1) << 60 };
	struct sink s = { NULL, NULL };

	T_CHECK(sink_to_file(&s, &c, &e) == -1 && e.kind == ERR_IO);
	T_CHECK(strstr(e.text, "room for 1152921504606846976 bytes") != NULL);
	T_CHECK(is_absent("image"));
}

static struct sink
install_sink(const char *name, struct install_stats *stats)
{
	const struct install_sink_config c = { .install = { .state_s = INSTALL_STATE_S },
		.target = in_scratch(name),
		.stats = stats };
	struct sink s = { NULL, NULL };

	T_CHECK(sink_to_install(&s, &c, &e) == 0);
	sink_begin(&s, CHUNKS, NULL);
	return s;
}

static void
test_install(void)
{
	static const uint8_t zeros[DISK_BYTES];
	struct install_stats stats = { 0 };
	struct sink s = install_sink("disk", &stats);
	struct sink_info info;
	struct sink_sum sum;

	sink_info(&s, &info);
	T_CHECK(!info.in_order && !info.takes_parts);
	T_CHECK(sink_install(&s) != NULL);
	for (uint32_t i = 0; i < CHUNKS; i++)
		T_CHECK(put(&s, (i + CHUNKS - 1) % CHUNKS) == 0);
	T_CHECK(sink_end(&s, &sum, &e) == 0);
	check_released();
	T_CHECK(!sink_close(&s, NULL, NULL));
	T_CHECK(stats.chunks == CHUNKS);
	T_CHECK(sum.bytes_covered == stats.bytes_covered);
	T_CHECK(scratch_holds("disk", zeros, sizeof zeros));
	lost_free(&stats.lost);
}

/* One is missing; and the sink is not ended at all. */
static void
test_install_not_complete(void)
{
	struct sink s = install_sink("part", NULL);

	T_CHECK(put(&s, 0) == 0);
	T_CHECK(sink_end(&s, NULL, &e) == -1);
	T_CHECK(strstr(e.text, "truncated") != NULL);
	T_CHECK(!sink_close(&s, NULL, NULL));
	T_CHECK(is_absent("part"));
	s = install_sink("part", NULL);
	T_CHECK(put(&s, 0) == 0);
	sink_close(&s, NULL, NULL);
	T_CHECK(released[0] == 1);
	T_CHECK(is_absent("part"));
}

/* One chunk of several is put onto a file that is treated as a device. */
static enum sink_left
left_of(bool puts, bool skip_same)
{
	const struct install_sink_config c = { .install = { .state_s = INSTALL_STATE_S,
						   .in_place = true,
						   .skip_same = skip_same },
		.target = in_scratch("device") };
	struct sink s = { NULL, NULL };
	struct sink_sum sum = { .left = SINK_LEFT_UNSAID };

	T_CHECK(sink_to_install(&s, &c, &e) == 0);
	sink_begin(&s, CHUNKS, NULL);
	if (puts)
		T_CHECK(put(&s, 0) == 0 && sink_end(&s, &sum, &e) == -1);
	sink_close(&s, &sum, NULL);
	return sum.left;
}

static void
test_what_is_left(void)
{
	T_CHECK(sh("truncate -s %d device", DISK_BYTES) == 0);
	T_CHECK(left_of(false, false) == SINK_LEFT_AS_WAS);
	T_CHECK(left_of(true, false) == SINK_LEFT_SECTORS);
	T_CHECK(left_of(true, true) == SINK_LEFT_STATE);
	/* It is so by what was done before, too. */
	T_CHECK(left_of(false, false) == SINK_LEFT_SECTORS);
	T_CHECK(strstr(sink_left_text(SINK_LEFT_SECTORS, true), "--skip-same") != NULL);
	T_CHECK(strcmp(sink_left_text(SINK_LEFT_SECTORS, false), "the target is incomplete") == 0);
	T_CHECK(sink_left_text(SINK_LEFT_AS_WAS, false) == NULL);
	T_CHECK(sink_left_text(SINK_LEFT_UNSAID, true) == NULL);
}

/* What a decoder finds is the reason, whatever the giver was told. */
static void
test_install_fails(void)
{
	struct sink s = install_sink("bad", NULL);
	uint8_t *byte = &plain[1][NDZ_HEADER_BYTES + 20];
	struct err why = { 0 };
	int rc = put(&s, 0);

	*byte ^= 0x55;
	for (uint32_t i = 0; rc == 0 && i < 100000; i++)
		rc = put(&s, 1);
	*byte ^= 0x55;
	T_CHECK(rc == -1);
	T_CHECK(sink_close(&s, NULL, &why));
	printf("# %s\n", why.text);
	T_CHECK(strstr(why.text, "chunk 1") != NULL);
	T_CHECK(is_absent("bad"));
}

static void
test_rehearsal(void)
{
	const struct install_config c = { .state_s = INSTALL_STATE_S };
	struct rehearsal_found found = { .nparts = 0 };
	struct sink s = { NULL, NULL };
	struct sink_info info;

	T_CHECK(sink_to_rehearsal(&s, &c, in_scratch("dry"), NULL, &found, &e) == 0);
	sink_info(&s, &info);
	T_CHECK(info.chunk0_first && info.has_some);
	sink_begin(&s, CHUNKS, NULL);
	T_CHECK(!sink_has(&s, 0) && sink_has(&s, 1));
	for (uint32_t i = CHUNKS; i-- > 0;)
		T_CHECK(put(&s, i) == 0);
	T_CHECK(sink_end(&s, NULL, &e) == 0);
	check_released();
	sink_close(&s, NULL, NULL);
	T_CHECK(found.chunks == CHUNKS && found.fresh && !found.whole);
	rehearsal_found_free(&found);
	T_CHECK(is_absent("dry"));
}

/* For test_copy(). */
static void
put_into_store(void)
{
	static struct recipe_image about = { .put_at = 1700000000 };
	const struct put_config cfg = { .jobs = 1 };
	struct put_stats stats;
	struct store st;
	struct put *p;

	snprintf(about.name.name, sizeof about.name.name, "lab/image");
	T_CHECK(store_init(in_scratch("store"), STORE_PACK_BYTES, 0, &e, &e) == 0);
	T_CHECK(store_open(&st, in_scratch("store"), STORE_WRITE, &e) == 0);
	T_CHECK(store_begin(&st, &e) == 0);
	T_CHECK(put_begin(&p, &st, &about, &cfg, &e) == 0);
	for (uint32_t i = 0; i < CHUNKS; i++)
		T_CHECK(put_copy(p, plain[i], &e) == 0);
	T_CHECK(put_end(p, &about, &stats, &e) == 0);
	put_free(p);
	T_CHECK(store_commit(&st, &e) == 0);
	store_close(&st);
}

static struct image *
stored_image(void)
{
	struct image *img = NULL;
	struct disk *d;

	T_CHECK(store_disk_open(&d, in_scratch("store"), "lab/image", NULL, &e) == 0);
	T_CHECK(image_open_disk(&img, d, NULL, &e) == 0);
	return img;
}

static int
stop_at_two(void *arg, uint32_t chunks, struct err *why)
{
	(void)arg;
	return chunks == 2 ? err_set(why, ERR_CANCELLED, "enough") : 0;
}

/* Out of the store into a file: all of it, some of it, and a part until it is stopped. */
static void
test_copy(void)
{
	static const bool some[CHUNKS] = { [0] = true, [CHUNKS - 1] = true };
	const struct copy_config all = { .check_digests = true };
	const struct copy_config two = { .wanted = some };
	const struct copy_config stopped = { .copied = stop_at_two };
	struct image *img = stored_image();
	uint32_t written = 0;
	struct sink s = file_sink(&written);

	T_CHECK(image_copy(img, &s, &all, &e) == 0);
	T_CHECK(sink_end(&s, NULL, &e) == 0);
	sink_close(&s, NULL, NULL);
	image_close(img);
	T_CHECK(scratch_holds("image", plain, sizeof plain));
	img = stored_image();
	written = 0;
	s = file_sink(&written);
	image_copy(img, &s, &two, &e);
	T_CHECK(written == (1u | 1u << (CHUNKS - 1)));
	sink_close(&s, NULL, NULL);
	image_close(img);
	img = stored_image();
	written = 0;
	s = file_sink(&written);
	T_CHECK(image_copy(img, &s, &stopped, &e) == -1);
	T_CHECK(e.kind == ERR_CANCELLED && strcmp(e.text, "enough") == 0);
	T_CHECK(written == 3);
	sink_close(&s, NULL, NULL);
	image_close(img);
}

int
main(void)
{
	const struct sealer_config none = { 0 };

	scratch_init();
	make_plain(&none, 1);
	test_file();
	test_file_has_no_room();
	test_install();
	test_install_not_complete();
	test_what_is_left();
	test_install_fails();
	test_rehearsal();
	put_into_store();
	test_copy();
	return t_done();
}
