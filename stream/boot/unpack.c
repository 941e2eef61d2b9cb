/* unpack.c: decompresses a file in memory.  boot.c calls this, in the first thread. */
#include "stream/boot/unpack.h"

#include <lzma.h>
#include <string.h>
#include <zlib.h>
#ifndef NO_ZSTD
#include <zstd.h>
#include <zstd_errors.h>
#endif

enum {
	ROOM_BYTES_MIN = 64 << 10,
	XZ_MEMORY_BYTES_MAX = 256 << 20, /* xz -9 takes 65 MiB */
};

/* What came of decompressing in[n] into out[*len], whose length is then in *len. */
enum outcome { WHOLE, NO_ROOM, DAMAGED, NOT_HERE };

static enum outcome
from_gzip(const uint8_t *in, size_t n, uint8_t *out, size_t *len)
{
	z_stream z = { .next_in = (uint8_t *)(uintptr_t)in,
		.avail_in = (unsigned)n,
		.next_out = out,
		.avail_out = (unsigned)*len };

	if (inflateInit2(&z, 15 + 16) != Z_OK) /* 16: gzip's header is there */
		return DAMAGED;
	int rc = inflate(&z, Z_FINISH);
	*len = z.total_out;
	inflateEnd(&z);
	if (rc == Z_STREAM_END)
		return WHOLE;
	return rc == Z_BUF_ERROR && z.avail_out == 0 ? NO_ROOM : DAMAGED;
}

static enum outcome
from_xz(const uint8_t *in, size_t n, uint8_t *out, size_t *len)
{
	lzma_stream z = LZMA_STREAM_INIT;
	lzma_ret rc = lzma_stream_decoder(&z, XZ_MEMORY_BYTES_MAX, 0);

	z.next_in = in, z.avail_in = n;
	z.next_out = out, z.avail_out = *len;
	while (rc == LZMA_OK)
		rc = lzma_code(&z, LZMA_FINISH);
	*len = (size_t)z.total_out;
	lzma_end(&z);
	if (rc == LZMA_STREAM_END)
		return WHOLE;
	return rc == LZMA_BUF_ERROR && z.avail_out == 0 ? NO_ROOM : DAMAGED;
}

static enum outcome
from_zstd(const uint8_t *in, size_t n, uint8_t *out, size_t *len)
{
#ifndef NO_ZSTD
	size_t got = ZSTD_decompress(out, *len, in, n);

	if (!ZSTD_isError(got)) {
		*len = got;
		return WHOLE;
	}
	return ZSTD_getErrorCode(got) == ZSTD_error_dstSize_tooSmall ? NO_ROOM : DAMAGED;
#else
	(void)in, (void)n, (void)out, (void)len;
	return NOT_HERE;
#endif
}

static const struct format {
	const char *name;
	uint8_t magic[6];
	size_t magic_bytes;
	enum outcome (*from)(const uint8_t *in, size_t n, uint8_t *out, size_t *len);
} formats[] = {
	{ "gzip", { 0x1f, 0x8b }, 2, from_gzip },              /* RFC 1952, 2.3.1 */
	{ "xz", { 0xfd, '7', 'z', 'X', 'Z', 0 }, 6, from_xz }, /* .xz 1.1.0, 2.1.1.1 */
	{ "zstd", { 0x28, 0xb5, 0x2f, 0xfd }, 4, from_zstd },  /* RFC 8878, 3.1.1 */
};

static const struct format *
format_of(const struct buf *b)
{
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (b->len >= formats[i].magic_bytes &&
		    memcmp(b->base, formats[i].magic, formats[i].magic_bytes) == 0)
			return &formats[i];
	return NULL;
}

/* Decompress into *out, whose room is doubled until all of it fits. */
static enum outcome
into(struct buf *out, const struct format *f, const struct buf *b, size_t most)
{
	size_t room = 4 * b->len > ROOM_BYTES_MIN ? 4 * b->len : ROOM_BYTES_MIN;
	enum outcome o = NO_ROOM;

	for (bool last = false; o == NO_ROOM && !last; room *= 2) {
		last = room >= most;
		out->len = 0;
		size_t len = last ? most : room;
		uint8_t *to = buf_room(out, len);
		if (to == NULL)
			return NO_ROOM;
		o = f->from(b->base, b->len, to, &len);
		out->len = len;
	}
	return o;
}

int
unpack_module(struct buf *b, size_t most_bytes, const char *path, struct err *e)
{
	const struct format *f = format_of(b);
	struct buf out = { 0 };

	if (f == NULL)
		return 0;
	enum outcome o = into(&out, f, b, most_bytes);
	if (o == WHOLE) {
		buf_free(b);
		*b = out;
		return 0;
	}
	bool memory = buf_ok(&out);
	buf_free(&out);
	if (!memory)
		return err_nomem(e, path);
	if (o == DAMAGED)
		return err_set(e, ERR_FORMAT, "%s: cannot be decompressed by %s", path, f->name);
	return o == NOT_HERE
	    ? err_set(e, ERR_UNSUPPORTED, "%s: this program was built without %s", path, f->name)
	    : err_set(e, ERR_UNSUPPORTED, "%s: holds more than %zu bytes", path, most_bytes);
}
