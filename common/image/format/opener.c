/* opener.c: opens a sealed chunk: verifies its signature and decrypts it.  Whoever has chunks
 * calls opener_open(), in any thread; the thread that has the keys calls the rest. */
#include "common/image/format/opener.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/number.h"
#include "common/image/format/crypt.h"
#include "common/image/format/sign.h"

struct opener {
	struct verifier *verifier; /* or NULL */
	struct crypt *crypt;       /* or NULL */
	/* held by the thread that decrypts: `crypt` belongs to one thread at a time */
	pthread_mutex_t decrypting;
	char key_name[2 * EXT_KEY_ID_BYTES + 1];
};

static int
load(struct opener *p, const struct opener_config *c, struct err *e)
{
	if (c->verify_key != NULL && verifier_new(&p->verifier, c->verify_key, e) != 0)
		return -1;
	if (p->verifier != NULL)
		number_hex(verifier_key_id(p->verifier), EXT_KEY_ID_BYTES, p->key_name);
	return c->decrypt != NULL ? crypt_new(&p->crypt, c->decrypt, e) : 0;
}

int
opener_new(struct opener **out, const struct opener_config *c, struct err *e)
{
	*out = NULL;
	if (c->verify_key == NULL && c->decrypt == NULL)
		return 0;
	struct opener *p = calloc(1, sizeof *p);
	if (p == NULL)
		return err_nomem(e, "keys");
	pthread_mutex_init(&p->decrypting, NULL);
	if (load(p, c, e) != 0) {
		opener_free(p);
		return -1;
	}
	*out = p;
	return 0;
}

void
opener_free(struct opener *p)
{
	if (p == NULL)
		return;
	verifier_free(p->verifier);
	crypt_free(p->crypt);
	pthread_mutex_destroy(&p->decrypting);
	free(p);
}

/* Encryption also proves who made a chunk, but only the header says where it belongs. */
static int
check_place(uint32_t number, const void *chunk, struct err *e)
{
	struct ndz_header h;

	if (ndz_header_get(&h, chunk, NDZ_CHUNK_BYTES, e) != 0)
		return -1;
	if ((uint32_t)h.index != number)
		return err_set(e, ERR_FORMAT,
		    "is not at its place: its header says that it is chunk %d",
		    h.index);
	return 0;
}

static int
decrypt(struct opener *p, void *chunk, struct err *e)
{
	pthread_mutex_lock(&p->decrypting);
	int rc = crypt_open(p->crypt, chunk, e);
	pthread_mutex_unlock(&p->decrypting);
	return rc;
}

int
opener_open(struct opener *p, uint32_t number, void *chunk, struct err *e)
{
	if (p == NULL)
		return 0;
	if (p->crypt != NULL &&
	    (decrypt(p, chunk, e) != 0 || check_place(number, chunk, e) != 0))
		return -1;
	return p->verifier != NULL ? verify_chunk(p->verifier, number, chunk, e) : 0;
}

const char *
opener_key_name(const struct opener *p)
{
	return p != NULL ? p->key_name : "";
}
