/* An image from a source onto a file, without a command line: from a file and from a pipe, and
 * what is refused. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/image/read/source.h"
#include "imageunzip/install/install_from.h"
#include "imageunzip/install/install_sink.h"
#include "tests/unit/memdisk.h"
#include "tests/unit/one_chunk.h"
#include "tests/unit/scratch.h"

static struct image *
open_chunk(uint8_t *chunk, enum disk_kind kind)
{
	static struct mem m;
	struct image *img = NULL;
	struct source s;
	struct err e;

	m = mem_of(chunk, NDZ_CHUNK_BYTES);
	T_CHECK(source_of_disk(&s, mem_open(&m, "memory", kind), &e) == 0);
	T_CHECK(image_open_source(&img, &s, NULL, &e) == 0);
	return img;
}

struct seen {
	uint64_t sectors;
	uint32_t chunks;
	bool stop;
};

static void
begins(void *arg, uint64_t sectors)
{
	struct seen *s = arg;

	s->sectors = sectors;
}

static int
fed(void *arg, uint32_t chunks, struct err *e)
{
	struct seen *s = arg;

	s->chunks = chunks;
	return s->stop ? err_set(e, ERR_CANCELLED, "enough") : 0;
}

static bool
is_installed(const char *path)
{
	static uint8_t disk[WINDOWS * FRAGMENT_WINDOW_BYTES + 1];
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, disk, sizeof disk);

	close(fd);
	return n == (ssize_t)sizeof raw && memcmp(disk, raw, sizeof raw) == 0;
}

static void
test_installs(enum disk_kind kind)
{
	const char *path = in_scratch(kind == DISK_STREAM ? "pipe" : "file");
	struct install_stats st;
	const struct install_sink_config cfg = { .install = { .state_s = INSTALL_STATE_S },
		.target = path,
		.stats = &st };
	struct seen seen = { .sectors = UINT64_MAX };
	const struct install_from_watch watch = { begins, fed, &seen };
	struct image *img = open_chunk(good, kind);
	struct sink sink;
	struct survey v;
	struct err e;

	T_CHECK(survey_image(&v, img, &e) == 0);
	T_CHECK(v.first.has_digest);
	T_CHECK(v.total_sectors == (kind == DISK_STREAM ? 0 : WINDOWS * WINDOW_SECTORS));
	T_CHECK(sink_to_install(&sink, &cfg, &e) == 0);
	T_CHECK(install_from(&sink, img, &v, &watch, &e) == 0);
	T_CHECK(sink_end(&sink, NULL, &e) == 0);
	T_CHECK(!sink_close(&sink, NULL, NULL));
	T_CHECK(seen.sectors == v.total_sectors);
	T_CHECK(seen.chunks == 1);
	T_CHECK(st.chunks == 1);
	T_CHECK(is_installed(path));
	lost_free(&st.lost);
	survey_free(&v);
	image_close(img);
}

/* What the caller gets, and nothing is left of the target. */
static void
test_fails(uint8_t *chunk, bool stop, const char *why)
{
	const char *path = in_scratch("fails");
	const struct install_sink_config cfg = { .install = { .state_s = INSTALL_STATE_S },
		.target = path };
	struct seen seen = { .stop = stop };
	const struct install_from_watch watch = { NULL, fed, &seen };
	struct image *img = open_chunk(chunk, DISK_FILE);
	struct sink sink;
	struct survey v;
	struct err e;

	T_CHECK(survey_image(&v, img, &e) == 0);
	T_CHECK(sink_to_install(&sink, &cfg, &e) == 0);
	T_CHECK(install_from(&sink, img, &v, &watch, &e) == -1);
	T_CHECK(!sink_close(&sink, NULL, &e));
	T_CHECK(strstr(e.text, why) != NULL);
	T_CHECK(access(path, F_OK) != 0);
	survey_free(&v);
	image_close(img);
}

int
main(void)
{
	static uint8_t bad[NDZ_CHUNK_BYTES];

	scratch_init();
	make_chunk();
	test_installs(DISK_FILE);
	test_installs(DISK_STREAM);
	memcpy(bad, good, sizeof bad);
	bad[NDZ_HEADER_BYTES + 5000] ^= 1;
	test_fails(bad, false, "memory: chunk 0: the digest of the chunk is wrong");
	test_fails(good, true, "enough");
	return t_done();
}
