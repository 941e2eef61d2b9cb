/* Chunks of a delta that come before chunk 0 are kept until that has shown whether the
 * disk holds the base; on another disk nothing is written. */
#include <poll.h>
#include <stdio.h>

#include "common/cli/codec_opts.h"
#include "common/image/format/basis.h"
#include "common/image/write/encode.h"
#include "tests/random.h"
#include "tests/unit/feeder_onto.h"
#include "tests/unit/scratch.h"

enum {
	WINDOWS = 40, /* of noise: three chunks */
	DISK_BYTES = (WINDOWS + 1) * FRAGMENT_WINDOW_BYTES,
	CHUNKS_MAX = 8,
};

static uint8_t base[DISK_BYTES], disk[DISK_BYTES], want[DISK_BYTES];
static uint8_t chunks[CHUNKS_MAX][NDZ_CHUNK_BYTES];
static uint32_t nchunks;

/* The delta replaces all windows but the last one. */
static ssize_t
next_window(void *arg, struct window *w, void *buf, struct err *e)
{
	uint64_t *at = arg;

	(void)e;
	if (*at == WINDOWS)
		return 0;
	w->nregions = 1;
	w->regions[0] = (struct range){ *at * WINDOW_SECTORS, WINDOW_SECTORS };
	memcpy(buf, want + *at * FRAGMENT_WINDOW_BYTES, FRAGMENT_WINDOW_BYTES);
	++*at;
	return FRAGMENT_WINDOW_BYTES;
}

static int
keep(void *arg, const void *chunk, struct err *e)
{
	(void)arg, (void)e;
	memcpy(chunks[nchunks++], chunk, NDZ_CHUNK_BYTES);
	return 0;
}

static void
make_delta(void)
{
	struct codec_choice codec = CODEC_DEFAULT;
	uint64_t at = 0;
	struct basis b;
	struct packer_config cfg = { .version = 3,
		.codec = codec,
		.basis = &b,
		.base = { .kind = EXT_STATE_UUID },
		.emit = keep };
	struct encode_config enc = {
		.codec = codec, .jobs = 1, .next = next_window, .arg = &at
	};
	struct sample x = { .sectors = { WINDOWS * WINDOW_SECTORS, WINDOW_SECTORS } };
	struct packer *p;
	struct err e;

	basis_init(&b, SAMPLE_SHA256);
	T_CHECK(sample_digest(SAMPLE_SHA256, base + WINDOWS * FRAGMENT_WINDOW_BYTES,
		    FRAGMENT_WINDOW_BYTES, x.before, &e) == 0);
	memcpy(x.after, x.before, sizeof x.after);
	T_CHECK(samples_add(&b.spread, &x, &e) == 0);
	T_CHECK(packer_new(&p, &cfg, &e) == 0);
	T_CHECK(encode_all(&enc, p, &e) == 0);
	T_CHECK(packer_finish(p, DISK_BYTES / SECTOR_BYTES, &e) == 0);
	T_CHECK(nchunks == 3);
	packer_free(p);
	basis_free(&b);
}

static bool
file_is(const char *path, const uint8_t *bytes)
{
	FILE *f = fopen(path, "rb");
	size_t n = fread(disk, 1, sizeof disk, f);

	fclose(f);
	return n == sizeof disk && memcmp(disk, bytes, sizeof disk) == 0;
}

/* Chunk 0 comes last; how it ends. */
static int
load(const char *target, const uint8_t *bytes, bool force, struct err *e)
{
	struct destination onto = { .name = target,
		.install = { .in_place = true, .force = force } };
	struct mailbox *box;
	struct feeder *s;
	struct event news = { 0 };

	FILE *f = fopen(target, "wb");
	T_CHECK(fwrite(bytes, DISK_BYTES, 1, f) == 1);
	T_CHECK(fclose(f) == 0);
	T_CHECK(mailbox_new(&box, 3 + FEEDER_EVENTS, e) == 0);
	s = feeder_onto(&onto, 3, box);
	T_CHECK(feeder_info(s)->chunk0_first == !force);
	feeder_expect(s, 3);
	for (uint32_t i = 0; i < 3; i++)
		memcpy(feeder_buffer(s, i), chunks[i], NDZ_CHUNK_BYTES);
	feed(s, 2, 2, NDZ_CHUNK_BYTES);
	feed(s, 1, 1, NDZ_CHUNK_BYTES);
	feed(s, 0, 0, NDZ_CHUNK_BYTES);
	feeder_end(s);
	while (news.what != FEEDER_FAILED && news.what != FEEDER_DONE) {
		struct pollfd fd = { .fd = mailbox_fd(box), .events = POLLIN };
		if (!mailbox_take(box, &news) && poll(&fd, 1, 60000) != 1)
			break;
	}
	int rc = feeder_close(s, NULL, e);
	T_CHECK(rc == 0 ? news.what == FEEDER_DONE && onto.stats.chunks == 3
	                : news.what == FEEDER_FAILED);
	mailbox_free(box);
	return rc;
}

int
main(void)
{
	const char *target;
	struct err e = { 0 };

	scratch_init();
	draw_bytes(base, DISK_BYTES);
	memcpy(want, base, DISK_BYTES);
	draw_bytes(want, WINDOWS * (size_t)FRAGMENT_WINDOW_BYTES);
	make_delta();
	target = in_scratch("disk");
	T_CHECK(load(target, base, false, &e) == 0);
	T_CHECK(file_is(target, want));
	T_CHECK(load(target, want, false, &e) == 0);
	T_CHECK(file_is(target, want));
	base[DISK_BYTES - 1] ^= 1;
	T_CHECK(load(target, base, false, &e) == -1);
	T_CHECK(e.kind == ERR_REFUSED);
	T_CHECK(strstr(e.text, "does not hold the base") != NULL);
	T_CHECK(file_is(target, base));
	T_CHECK(load(target, base, true, &e) == 0);
	T_CHECK(!file_is(target, base));
	return t_done();
}
