/* encrypted.c: the headers of an encrypted image, which anybody can read.
 *
 * main.c calls this in the first thread, after an image could not be dumped because its
 * key was not given.  Nothing here is proved: without the key a header could have been
 * changed.
 */
#include "tools/imagedump/encrypted.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/number.h"
#include "common/base/say.h"
#include "common/image/format/crypt.h"
#include "common/image/read/image.h"
#include "tools/imagedump/report.h"
#include "tools/imagedump/totals.h"

/* What the headers of all chunks tell. */
struct headers {
	struct totals totals;
	uint8_t uuid[NDZ_UUID_BYTES];
	uint8_t key_id[CRYPT_ID_BYTES]; /* of the first chunk */
};

/* Read all headers.  Returns 0 when the first chunk is encrypted and all headers could be read,
 * otherwise -1, or 1 when the run is to end.  buf has room for a chunk; *c is scratch space. */
static int
read_headers(struct image *image, struct headers *s, void *buf, struct chunk *c)
{
	struct err ignored;
	int rc = 1;

	image_keep_encrypted(image);
	while (cancel_signal() == 0 &&
	       (rc = image_next(image, buf, &c->h, &ignored)) == 1) {
		if (s->totals.chunks == 0) {
			if (!c->h.encrypted)
				return -1;
			memcpy(s->uuid, c->h.uuid, sizeof s->uuid);
			memcpy(s->key_id, crypt_chunk_key_id(buf), sizeof s->key_id);
		}
		c->ext = (struct ext){ 0 };
		c->codec = ndz_header_codec(&c->h);
		c->raw_bytes = ndz_header_raw_bytes(&c->h);
		totals_add(&s->totals, c);
	}
	return rc;
}

static int
read_image(const char *path, struct headers *s)
{
	struct err ignored;
	struct image *image;
	void *buf = malloc(NDZ_CHUNK_BYTES);
	struct chunk *c = malloc(sizeof *c);
	int rc = -1;

	if (buf != NULL && c != NULL && image_open(&image, path, &ignored) == 0) {
		if (image_seekable(image))
			rc = read_headers(image, s, buf, c);
		image_close(image);
	}
	free(c);
	free(buf);
	return rc;
}

/* Whether the image is a delta, for example, is not known without the key. */
static void
show(struct json *j, const struct headers *s, const char *path)
{
	const struct totals *t = &s->totals;
	char uuid[2 * sizeof s->uuid + 1], key[2 * sizeof s->key_id + 1];

	json_uint(j, "version", t->version);
	json_string(j, "codec", t->codec->name);
	json_uint(j, "chunks", t->chunks);
	json_uint(j, "sectors", t->sectors);
	json_uint(j, "stream_bytes", t->stream_bytes);
	json_uint(j, "data_bytes", t->raw_bytes);
	json_hex(j, "uuid", s->uuid, sizeof s->uuid);
	json_bool(j, "encrypted", true);
	json_hex(j, "encryption_key", s->key_id, sizeof s->key_id);
	if (j != NULL)
		return;
	report_totals(NULL, t, path);
	say_text(stdout,
	    "  uuid %s; encrypted with key %s; the rest cannot be read without this key\n",
	    number_hex(s->uuid, sizeof s->uuid, uuid),
	    number_hex(s->key_id, sizeof s->key_id, key));
}

void
encrypted_report(const struct options *o, const char *path, struct json *j)
{
	struct headers s = { 0 };

	if (o->opener_files.decrypt == NULL && (j != NULL || !o->quiet) &&
	    read_image(path, &s) == 0)
		show(j, &s, path);
	totals_free(&s.totals);
}
