/* payload.c: what a server serves, and its identity (payload.h).  serve.c opens it in the
 * program's first thread; dolly/net/reader.c reads chunks in its own thread. */
#include "dolly/payload.h"

#include <stdlib.h>
#include <string.h>

#include "common/disk/disk.h"
#include "common/image/format/marker.h"
#include "frisbeed/serve/identity.h"

static int
take_identity(struct payload *o, const struct disk *d, bool is_image, struct err *e)
{
	struct identity *id;

	if (identity_new(&id, &o->source, d, is_image, e) != 0)
		return -1;
	memcpy(o->identity, identity_bytes(id), sizeof o->identity);
	identity_free(id);
	return 0;
}

static int
open_image(struct payload *o, struct err *e)
{
	struct source source = o->source; /* the image's from now on */

	o->source = (struct source){ 0 };
	o->content = MSG_IMAGE;
	if (image_open_source(&o->image, &source, NULL, e) != 0)
		return -1;
	image_keep_encrypted(o->image);
	o->chunks = image_chunks(o->image);
	o->chunk_bytes = SOURCE_CHUNK_BYTES;
	o->bytes = (uint64_t)o->chunks * SOURCE_CHUNK_BYTES;
	return 0;
}

static int
open_raw(struct payload *o, const struct source_info *info, bool zstd, struct err *e)
{
	o->content = MSG_RAW;
	o->chunks = info->chunks;
	o->chunk_bytes = RAW_SENT_MAX;
	o->bytes = info->bytes;
	o->chunk = malloc(RAW_CHUNK_BYTES);
	if (o->chunk == NULL)
		return err_nomem(e, "a chunk");
	return raw_new(&o->raw, zstd, e);
}

/* A disk that is not whole is no source. */
static int
check_whole(struct disk *d, const struct payload_how *how, struct err *e)
{
	struct err why;

	if (!how->raw || how->force || marker_refuse_any(d, &why) == 0)
		return 0;
	*e = why;
	return why.kind != ERR_REFUSED
	           ? -1
	           : err_set(e, ERR_REFUSED,
	                 "%.400s; finish it first, or use --force to serve it as it is",
	                 why.text);
}

int
payload_open(struct payload *o, const char *path, const struct payload_how *how,
    struct err *e)
{
	struct source_info info;
	struct disk *d;

	o->name = path;
	if (disk_open(&d, path, DISK_READ, e) != 0 ||
	    source_of_disk(&o->source, d, e) != 0 ||
	    source_info(&o->source, &info, e) != 0)
		return -1;
	if (info.in_order)
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: is a pipe, but nodes need the chunks in any order", path);
	if (info.chunks == 0 || info.chunks > MSG_CHUNKS_MAX)
		return err_set(e, info.chunks == 0 ? ERR_FORMAT : ERR_UNSUPPORTED,
		    info.chunks == 0 ? "%s: is empty" : "%s: is too large", path);
	if (check_whole(d, how, e) != 0 || take_identity(o, d, !how->raw, e) != 0)
		return -1;
	return how->raw ? open_raw(o, &info, how->zstd, e) : open_image(o, e);
}

void
payload_close(struct payload *o)
{
	image_close(o->image);
	source_close(&o->source);
	raw_free(o->raw);
	free(o->chunk);
	*o = (struct payload){ 0 };
}

/* The length of a chunk of an image without the zeros at its end, which nodes put back; at
 * least 1. */
static uint32_t
without_padding(const uint8_t *chunk)
{
	uint32_t n = SOURCE_CHUNK_BYTES;

	while (n > 1 && chunk[n - 1] == 0)
		n--;
	return n;
}

static int
read_image(struct payload *o, uint32_t chunk, void *to, uint32_t *length, struct err *e)
{
	if (image_read(o->image, chunk, to, e) != 0)
		return -1;
	*length = without_padding(to);
	return 0;
}

int
payload_read(void *arg, uint32_t chunk, void *to, uint32_t *length, struct err *e)
{
	struct payload *o = arg;

	if (o->image != NULL)
		return read_image(o, chunk, to, length, e);
	if (source_read(&o->source, chunk, NULL, o->chunk, e) != 0)
		return -1;
	*length = raw_pack(o->raw, chunk, o->chunk, raw_length(o->bytes, chunk), to);
	return 0;
}
