/* An image as a file and as a pipe: whole, cut, mixed up, put together wrongly. */
#include "common/image/read/image.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/image/read/chunk.h"
#include "common/image/write/packer.h"
#include "tests/unit/golden.h"
#include "tests/unit/scratch.h"

enum { CHUNKS = 4, WINDOWS = 50 };

/* A file of chunks, taken from images in any way. */
struct file {
	uint8_t bytes[(2 * CHUNKS + 1) * NDZ_CHUNK_BYTES];
	size_t len;
};

static int
append_chunk(void *arg, const void *chunk, struct err *e)
{
	struct file *f = arg;

	(void)e;
	memcpy(f->bytes + f->len, chunk, NDZ_CHUNK_BYTES);
	f->len += NDZ_CHUNK_BYTES;
	return 0;
}

/* An image of CHUNKS chunks, of noise that no compressor can shorten. */
static void
make_image(struct file *f, unsigned version, uint8_t uuid)
{
	struct packer_config cfg = { .version = version,
		.codec = { &codec_deflate, 0 },
		.emit = append_chunk,
		.arg = f,
		.image = { .kind = EXT_KIND_DISK, .tool = "test" } };
	size_t cap = deflater_bound(FRAGMENT_WINDOW_BYTES);
	uint8_t *raw = malloc(FRAGMENT_WINDOW_BYTES), *out = malloc(cap);
	struct deflater *d = deflater_new(0);
	struct window window = { .nregions = 1 };
	struct fragment fr = { .windows = &window, .nwindows = 1, .data = out };
	struct packer *p;
	struct err e;

	memset(cfg.uuid, uuid, sizeof cfg.uuid);
	f->len = 0;
	T_CHECK(packer_new(&p, &cfg, &e) == 0);
	for (uint64_t w = 0; w < WINDOWS; w++) {
		for (size_t i = 0; i < FRAGMENT_WINDOW_BYTES; i++)
			raw[i] = (uint8_t)(i * 7 + w * 31 + uuid);
		window.regions[0] = (struct range){ w * WINDOW_SECTORS,
			WINDOW_SECTORS };
		fr.bytes = (uint32_t)deflater_fragment(
		    d, raw, FRAGMENT_WINDOW_BYTES, out, cap);
		fr.adler = adler_of(raw, FRAGMENT_WINDOW_BYTES);
		T_CHECK(packer_add(p, &fr, &e) == 0);
	}
	T_CHECK(packer_finish(p, WINDOWS * WINDOW_SECTORS + 5, &e) == 0);
	T_CHECK(f->len == (size_t)CHUNKS * NDZ_CHUNK_BYTES);
	packer_free(p);
	deflater_free(d);
	free(out);
	free(raw);
}

/* Read it to the end: the number of chunks, or -1. */
static int
read_all(const char *path, struct err *e)
{
	uint8_t *buf = malloc(NDZ_CHUNK_BYTES);
	struct image *img;
	struct ndz_header h;
	int n = 0, rc;

	if (image_open(&img, path, e) != 0) {
		free(buf);
		return -1;
	}
	while ((rc = image_next(img, buf, &h, e)) == 1)
		n += h.index == n || h.version < 3;
	if (rc == 0)
		T_CHECK(image_chunks(img) == (uint32_t)n);
	image_close(img);
	free(buf);
	return rc == 0 ? n : -1;
}

static int
read_file(const struct file *f, struct err *e)
{
	const char *path = in_scratch("image");
	FILE *out = fopen(path, "wb");

	T_CHECK(fwrite(f->bytes, 1, f->len, out) == f->len);
	T_CHECK(fclose(out) == 0);
	return read_all(path, e);
}

static int
read_pipe(const struct file *f, struct err *e)
{
	char path[64];
	int fd[2];

	T_CHECK(pipe(fd) == 0);
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		close(fd[0]);
		for (size_t at = 0; at < f->len;) {
			ssize_t n = write(fd[1], f->bytes + at, f->len - at);
			if (n < 0)
				break;
			at += (size_t)n;
		}
		_exit(0);
	}
	close(fd[1]);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd[0]);
	int rc = read_all(path, e);
	close(fd[0]);
	waitpid(child, NULL, 0);
	return rc;
}

static void
expect(const char *what, const struct file *f, int chunks)
{
	struct err a = { .text = "" }, b = { .text = "" };
	int from_file = read_file(f, &a), from_pipe = read_pipe(f, &b);

	printf("# %s: %s | %s\n", what, a.text, b.text);
	T_CHECK(from_file == chunks);
	T_CHECK(from_pipe == chunks);
	if (chunks < 0) {
		T_CHECK(a.kind == ERR_FORMAT);
		T_CHECK(b.kind == ERR_FORMAT);
	}
}

/* Chunks i of image a, in the order of the digits; of image b: letters. */
static void
take(struct file *f, const char *which, const struct file *a, const struct file *b)
{
	f->len = 0;
	for (; *which != '\0'; which++) {
		const struct file *from = *which >= 'a' ? b : a;
		unsigned i = (unsigned)(*which >= 'a' ? *which - 'a' : *which - '0');

		append_chunk(f, from->bytes + (size_t)i * NDZ_CHUNK_BYTES, NULL);
	}
}

/* The chunk as an old program would leave it: nothing behind the stream. */
static void
strip(struct file *f, unsigned i)
{
	uint8_t *chunk = f->bytes + (size_t)i * NDZ_CHUNK_BYTES;
	struct ndz_header h;
	struct err e;

	T_CHECK(ndz_header_get(&h, chunk, NDZ_CHUNK_BYTES, &e) == 0);
	memset(chunk + NDZ_HEADER_BYTES + h.size, 0, NDZ_STREAM_MAX - h.size);
}

static void
test_ours(unsigned version, struct file *f, struct file *a, struct file *b)
{
	static const char *const wrong[] = { "012", "0", "123", "3", "0012", "0132",
		"1023", "0123abcd", "01233", "0120123", "012d", "a123", "0b23" };

	make_image(a, version, 1);
	make_image(b, version, 2);
	take(f, "0123", a, b);
	expect("whole", f, 4);
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		take(f, wrong[i], a, b);
		expect(wrong[i], f, -1);
	}
	for (unsigned i = 0; i < CHUNKS; i++) {
		take(f, "0123", a, b);
		strip(f, i);
		expect("one chunk lost its extension", f, -1);
	}
	for (unsigned i = 0; i < CHUNKS; i++) {
		take(f, "0123", a, b);
		f->bytes[(size_t)(i + 1) * NDZ_CHUNK_BYTES - 1] ^= 1;
		expect("padding is not looked at", f, 4);
	}
}

static void
test_cut(struct file *f, struct file *a)
{
	static const size_t lens[] = { 0, 1, 4095, 4096, NDZ_CHUNK_BYTES - 1,
		NDZ_CHUNK_BYTES + 1, 4 * NDZ_CHUNK_BYTES - 1, 4 * NDZ_CHUNK_BYTES + 1 };

	for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
		take(f, "01230", a, NULL);
		f->len = lens[i];
		expect("cut", f, -1);
	}
}

/* Images of others: no extension, nothing is promised, versions are not mixed. */
static void
test_others(struct file *f, const struct file *a)
{
	size_t len;
	uint8_t *mbr = golden_load("mbr", &len), *v5 = golden_load("v5-fbsd-s1", &len);

	if (!T_CHECK(mbr != NULL) || !T_CHECK(v5 != NULL))
		return;
	f->len = 0;
	for (int i = 0; i < 3; i++)
		append_chunk(f, mbr + (size_t)i * NDZ_CHUNK_BYTES, NULL);
	expect("golden", f, 3);
	f->len -= NDZ_CHUNK_BYTES;
	expect("golden, without its last chunk: nobody can know", f, 2);
	append_chunk(f, v5, NULL);
	expect("two versions", f, -1);
	f->len -= NDZ_CHUNK_BYTES;
	append_chunk(f, a->bytes + 2 * NDZ_CHUNK_BYTES, NULL);
	expect("one of ours behind them", f, -1);
	free(mbr);
	free(v5);
}

static void
test_random_access(struct file *f, const struct file *a)
{
	uint8_t *buf = malloc(NDZ_CHUNK_BYTES);
	struct image *img;
	struct ndz_header h;
	struct err e;

	take(f, "0123", a, NULL);
	T_CHECK(read_file(f, &e) == 4);
	T_CHECK(image_open(&img, in_scratch("image"), &e) == 0);
	T_CHECK(image_seekable(img));
	T_CHECK(image_chunks(img) == 4);
	T_CHECK(image_header(img, 2, &h, &e) == 0);
	T_CHECK(h.index == 2);
	T_CHECK(image_read(img, 3, buf, &e) == 0);
	T_CHECK(memcmp(buf, a->bytes + 3 * NDZ_CHUNK_BYTES, NDZ_CHUNK_BYTES) == 0);
	T_CHECK(image_read(img, 4, buf, &e) != 0);
	T_CHECK(image_header(img, 4, &h, &e) != 0);
	T_CHECK(image_next(img, buf, &h, &e) == 1);
	T_CHECK(h.index == 0);
	image_close(img);
	image_close(NULL);
	T_CHECK(image_open(&img, in_scratch("absent"), &e) != 0);
	T_CHECK(e.kind == ERR_IO);
	free(buf);
}

static int
count(void *arg, struct chunk *c, uint32_t i, const void *bytes, struct err *e)
{
	(void)c, (void)i, (void)bytes, (void)e;
	++*(unsigned *)arg;
	return 0;
}

/* All chunks, or as many as are wanted. */
static void
test_each(struct file *f, const struct file *a)
{
	struct cancel told = { .signal = SIGTERM };
	struct image *img;
	unsigned n = 0;
	struct err e;

	take(f, "0123", a, NULL);
	T_CHECK(read_file(f, &e) == 4);
	T_CHECK(image_open(&img, in_scratch("image"), &e) == 0);
	T_CHECK(image_each(img, count, &n, &e) == 0);
	T_CHECK(n == 4);
	image_close(img);
	n = 0;
	T_CHECK(image_open(&img, in_scratch("image"), &e) == 0);
	cancel_work_for(&told);
	T_CHECK(image_each(img, count, &n, &e) == -1);
	cancel_work_for(NULL);
	T_CHECK(e.kind == ERR_CANCELLED);
	T_CHECK(n == 1);
	image_close(img);
}

/* Known before the first chunk is used, so that nothing is written for it. */
static void
test_known_at_once(struct file *f, const struct file *a)
{
	struct image *img;
	struct err e;

	take(f, "012", a, NULL);
	T_CHECK(read_file(f, &e) == -1);
	T_CHECK(image_open(&img, in_scratch("image"), &e) != 0);
	T_CHECK(e.kind == ERR_FORMAT);
	T_CHECK(strstr(e.text, "truncated") != NULL);
}

int
main(void)
{
	struct file *f = malloc(3 * sizeof *f);

	signal(SIGPIPE, SIG_IGN);
	scratch_init();
	test_ours(5, f, f + 1, f + 2);
	test_ours(3, f, f + 1, f + 2);
	test_cut(f, f + 1);
	test_others(f, f + 1);
	test_random_access(f, f + 1);
	test_each(f, f + 1);
	test_known_at_once(f, f + 1);
	free(f);
	return t_done();
}
