/* An image as a source of chunks while it comes from a server: read at once from any place by
 * several threads, chunk after chunk as they come, and what becomes of those who wait when it
 * ends early. */
#include "frisbee/load/load_source.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/image/read/image.h"
#include "common/image/read/source_live.h"
#include "frisbeed/serve/serve.h"
#include "tests/random.h"
#include "tests/unit/one_chunk.h"
#include "tests/unit/scratch.h"
#include "tests/unit/segments.h"

enum { MORE_WINDOWS = 80, CHUNKS_MAX = 12, LIMIT_MS = 60000 };

static uint8_t image[CHUNKS_MAX][NDZ_CHUNK_BYTES];
static uint32_t nchunks;
static struct err e;

static int
keep_one(void *arg, const void *bytes, struct err *ignored)
{
	(void)arg;
	(void)ignored;
	memcpy(image[nchunks++], bytes, NDZ_CHUNK_BYTES);
	return 0;
}

/* A window that does not compress. */
static void
add_noise(struct packer *p, const struct codec_choice *z, void *encoder, unsigned i)
{
	static uint8_t noise[FRAGMENT_WINDOW_BYTES], out[FRAGMENT_WINDOW_BYTES + 8192];
	struct window w = { .nregions = 1,
		.regions[0] = { i * WINDOW_SECTORS, WINDOW_SECTORS } };
	struct fragment f = { .windows = &w, .nwindows = 1, .data = out };
	uint8_t digest[32];

	draw_seed = i;
	draw_bytes(noise, sizeof noise);
	f.bytes = (uint32_t)z->codec->window(
	    encoder, sizeof noise, noise, sizeof noise, out, sizeof out);
	z->codec->end(out, f.bytes);
	f.adler = adler_of(noise, sizeof noise);
	sha256(noise, sizeof noise, digest);
	memcpy(f.digest, digest, sizeof f.digest);
	T_CHECK(packer_add(p, &f, &e) == 0);
}

static void
make_image(void)
{
	struct packer_config cfg = { .version = 3, .emit = keep_one };
	struct packer *p;

	T_CHECK(codec_parse(&cfg.codec, "deflate", &e) == 0);
	T_CHECK(packer_new(&p, &cfg, &e) == 0);
	void *encoder = cfg.codec.codec->encoder_new(cfg.codec.level);
	for (unsigned i = 0; i < MORE_WINDOWS; i++)
		add_noise(p, &cfg.codec, encoder, i);
	cfg.codec.codec->encoder_free(encoder);
	T_CHECK(packer_finish(p, MORE_WINDOWS * WINDOW_SECTORS, &e) == 0);
	packer_free(p);
	FILE *f = fopen(in_scratch("image.ndz"), "w");
	T_CHECK(fwrite(image, NDZ_CHUNK_BYTES, nchunks, f) == nchunks);
	T_CHECK(fclose(f) == 0);
}

/* The image, served on this host at a port that the kernel chooses. */
static struct serve *
serve_image(uint32_t gap_us, uint16_t *port)
{
	static const struct session_config each = { .net = { .unicast = true },
		.unicast_max = 4 };
	const struct serve_config c = { .session = &each,
		.engine = { .run_blocks = 32, .ahead = 16, .burst = 16, .gap_us = gap_us },
		.sessions_max = 1 };
	struct net_options net = { .addr = "127.0.0.1", .port = "0", .unicast = true };
	struct serve_stats st = { 0 };
	struct serve *s = NULL;
	struct place *p = NULL;
	uint32_t number;

	T_CHECK(serve_new(&s, &c, &e) == 0);
	T_CHECK(places_one(&p, in_scratch("image.ndz"), &net, &e) == 0);
	T_CHECK(serve_add(s, p, &number, &e) == 0);
	T_CHECK(serve_stats(s, number, &st, &e) == 0);
	places_free(p, 1);
	*port = (uint16_t)atoi(strchr(st.where, ':') + 1);
	return s;
}

static struct source
source_at(uint16_t port)
{
	const struct load_config c = { .net = { .addr = { 127, 0, 0, 1 },
					   .port_lo = port,
					   .port_hi = port,
					   .buffer_bytes = 1 << 20 },
		.unicast = true,
		.buffers = 8 };
	struct source s = { NULL, NULL };

	T_CHECK(source_of_load(&s, &c, in_scratch("arriving"), 0, &e) == 0);
	return s;
}

struct reading {
	struct source *source;
	uint32_t chunk;
	bool same;
};

static void *
read_one(void *arg)
{
	struct reading *r = arg;
	uint8_t *got = malloc(NDZ_CHUNK_BYTES);
	struct err why;

	r->same = source_read(r->source, r->chunk, NULL, got, &why) == 0 &&
	          memcmp(got, image[r->chunk], NDZ_CHUNK_BYTES) == 0;
	free(got);
	return NULL;
}

/* All at once, the last one first; each is there when its read returns. */
static void
test_anywhere(void)
{
	struct reading r[CHUNKS_MAX];
	pthread_t t[CHUNKS_MAX];
	struct source_info info;
	uint8_t block[SOURCE_BLOCK_BYTES];
	uint16_t port;
	struct serve *serve = serve_image(2000, &port);
	struct source s = source_at(port);

	for (uint32_t i = 0; i < nchunks; i++) {
		r[i] = (struct reading){ &s, nchunks - 1 - i, false };
		T_CHECK(pthread_create(&t[i], NULL, read_one, &r[i]) == 0);
	}
	T_CHECK(source_info(&s, &info, &e) == 0);
	T_CHECK(info.chunks == nchunks);
	T_CHECK(info.bytes == (uint64_t)nchunks * NDZ_CHUNK_BYTES);
	T_CHECK(info.live);
	for (uint32_t i = 0; i < nchunks; i++) {
		T_CHECK(pthread_join(t[i], NULL) == 0);
		T_CHECK(r[i].same);
	}
	T_CHECK(source_read_run(&s, 1, 7, 1, block, &e) == 0);
	T_CHECK(memcmp(block, image[1] + 7 * sizeof block, sizeof block) == 0);
	T_CHECK(source_read(&s, nchunks, NULL, image[0], &e) == -1);
	T_CHECK(e.kind == ERR_FORMAT);
	source_close(&s);
	T_CHECK(access(in_scratch("arriving"), F_OK) != 0);
	serve_free(serve);
}

/* As they come, each once, and told of as well. */
static void
test_in_turn(void)
{
	static uint8_t got[NDZ_CHUNK_BYTES];
	bool came[CHUNKS_MAX] = { false }, told[CHUNKS_MAX] = { false };
	uint32_t chunk, n = 0, ntold = 0;
	struct source_info info;
	uint16_t port;
	struct serve *serve = serve_image(500, &port);
	struct source s = source_at(port);
	size_t bytes;
	int rc;

	while ((rc = source_next(&s, &chunk, got, &bytes, &e)) == 1) {
		if (T_CHECK(chunk < nchunks))
			T_CHECK(!came[chunk]);
		T_CHECK(bytes == NDZ_CHUNK_BYTES);
		T_CHECK(memcmp(got, image[chunk], NDZ_CHUNK_BYTES) == 0);
		came[chunk] = true;
		n++;
	}
	T_CHECK(rc == 0);
	T_CHECK(n == nchunks);
	T_CHECK(source_info(&s, &info, &e) == 0);
	struct pollfd p = { .fd = source_arrivals_fd(&s), .events = POLLIN };
	T_CHECK(poll(&p, 1, 0) == 1);
	while ((rc = source_arrived(&s, &chunk, &e)) == 1) {
		if (T_CHECK(chunk < nchunks))
			T_CHECK(!told[chunk]);
		told[chunk] = true;
		ntold++;
	}
	T_CHECK(rc == 0);
	T_CHECK(ntold == nchunks);
	T_CHECK(poll(&p, 1, 0) == 0);
	source_close(&s);
	serve_free(serve);
}

/* An image is read and checked as if it were all there. */
static void
test_image(void)
{
	static uint8_t got[NDZ_CHUNK_BYTES];
	struct image *img = NULL;
	uint16_t port;
	struct serve *serve = serve_image(500, &port);
	struct source s = source_at(port);
	uint32_t n = 0;

	T_CHECK(image_open_source(&img, &s, NULL, &e) == 0);
	while (image_next(img, got, NULL, &e) == 1) {
		T_CHECK(memcmp(got, image[n], NDZ_CHUNK_BYTES) == 0);
		n++;
	}
	T_CHECK(n == nchunks);
	image_close(img);
	serve_free(serve);
}

static void *
wait_in_vain(void *arg)
{
	struct source_info info;
	struct err *why = calloc(1, sizeof *why);

	if (source_info(arg, &info, why) == 0) {
		free(why);
		return NULL;
	}
	return why;
}

/* Nobody serves there. */
static void
test_cancel(void)
{
	uint16_t port;
	struct serve *serve = serve_image(500, &port);
	serve_free(serve);
	struct source s = source_at(port);
	void *why = NULL;
	pthread_t t;

	T_CHECK(pthread_create(&t, NULL, wait_in_vain, &s) == 0);
	source_cancel(&s);
	T_CHECK(pthread_join(t, &why) == 0);
	T_CHECK(why != NULL);
	T_CHECK(((struct err *)why)->kind == ERR_CANCELLED);
	free(why);
	source_close(&s);
}

/* A reader who hears nothing for too long is told so, and reads on when something comes again. */
static void
test_silence(void)
{
	const struct live_config c = { .file = in_scratch("silent"),
		.name = "a session",
		.silence_us = 20000 };
	const struct source_info about = { .chunks = nchunks,
		.bytes = (uint64_t)nchunks * NDZ_CHUNK_BYTES };
	static uint8_t got[NDZ_CHUNK_BYTES];
	struct source s = { NULL, NULL };
	struct source_info info;
	struct live *g = NULL;

	FILE *f = fopen(c.file, "w");
	T_CHECK(fwrite(image, NDZ_CHUNK_BYTES, nchunks, f) == nchunks);
	T_CHECK(fclose(f) == 0);
	T_CHECK(live_new(&g, &s, &c, &e) == 0);
	T_CHECK(source_info(&s, &info, &e) == -1);
	T_CHECK(e.kind == ERR_IO);
	live_begin(g, &about);
	T_CHECK(source_info(&s, &info, &e) == 0);
	T_CHECK(source_read(&s, 1, NULL, got, &e) == -1);
	T_CHECK(e.kind == ERR_IO);
	T_CHECK(strstr(e.text, "nothing was heard") != NULL);
	live_has(g, 1);
	T_CHECK(source_read(&s, 1, NULL, got, &e) == 0);
	T_CHECK(memcmp(got, image[1], NDZ_CHUNK_BYTES) == 0);
	source_close(&s);
}

int
main(void)
{
	if (!segments_arrive()) {
		puts("UDP_SEGMENT does not reach the kernel as it was set");
		return 77;
	}
	scratch_init();
	make_image();
	T_CHECK(nchunks >= 4);
	test_anywhere();
	test_in_turn();
	test_image();
	test_cancel();
	test_silence();
	return t_done();
}
