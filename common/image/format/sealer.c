/* sealer.c: signs and encrypts a chunk that is made.  maker.c opens the keys and seals each
 * chunk, in the thread that makes the image. */
#include "common/image/format/sealer.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/random_bytes.h"
#include "common/image/format/crypt.h"
#include "common/image/format/sign.h"

struct sealer {
	struct signer *signer; /* or NULL */
	struct crypt *crypt;   /* or NULL */
	uint8_t *copy;
};

static int
load(struct sealer *s, const struct sealer_config *c, struct err *e)
{
	s->copy = malloc(NDZ_CHUNK_BYTES);
	if (s->copy == NULL)
		return err_nomem(e, "a chunk");
	if (c->sign != NULL && signer_new(&s->signer, c->sign, e) != 0)
		return -1;
	return c->encrypt != NULL ? crypt_new(&s->crypt, c->encrypt, e) : 0;
}

int
sealer_new(struct sealer **out, const struct sealer_config *c, struct err *e)
{
	*out = NULL;
	if (c->sign == NULL && c->encrypt == NULL)
		return 0;
	struct sealer *s = calloc(1, sizeof *s);
	if (s == NULL)
		return err_nomem(e, "keys");
	if (load(s, c, e) != 0) {
		sealer_free(s);
		return -1;
	}
	*out = s;
	return 0;
}

void
sealer_free(struct sealer *s)
{
	if (s == NULL)
		return;
	signer_free(s->signer);
	crypt_free(s->crypt);
	free(s->copy);
	free(s);
}

int
sealer_check(const struct sealer_config *c, bool has_uuid, bool v3, struct err *e)
{
	if (v3 && c->encrypt != NULL)
		return err_set(e, ERR_USAGE, "-3 cannot be combined with --encrypt");
	if (has_uuid && (c->encrypt != NULL || c->sign != NULL))
		return err_set(e, ERR_USAGE,
		    "-u cannot be combined with --sign or --encrypt: these need a new "
		    "UUID for every image");
	return 0;
}

/* The UUID is always random; libuuid would use the time when it has no random numbers. */
void
sealer_uuid(uint8_t uuid[NDZ_UUID_BYTES])
{
	random_bytes(uuid, NDZ_UUID_BYTES);
	uuid[6] = (uint8_t)((uuid[6] & 0x0f) | 0x40);
	uuid[8] = (uint8_t)((uuid[8] & 0x3f) | 0x80);
}

int
sealer_seal(struct sealer *s, const void **chunk, struct err *e)
{
	if (s == NULL)
		return 0;
	memcpy(s->copy, *chunk, NDZ_CHUNK_BYTES);
	if (s->signer != NULL && sign_chunk(s->signer, s->copy, e) != 0)
		return -1;
	if (s->crypt != NULL && crypt_seal(s->crypt, s->copy, e) != 0)
		return -1;
	*chunk = s->copy;
	return 0;
}
