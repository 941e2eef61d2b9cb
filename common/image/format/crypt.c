/* crypt.c: the data of a chunk is encrypted and decrypted.  sealer.c and opener.c call
 * this: crypt_new() in the thread that has the keys, the rest in the threads that have
 * chunks.  imagekey makes keys with it. */
#include "common/image/format/crypt.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/keyfile.h"
#include "common/base/wr.h"
#include "common/base/zero.h"

enum {
	KEY_ID_AT = 24, /* offset of the key's id in the header, where V5 has zeros */
	NONCE_BYTES = 12,
	SEALED_BYTES = NDZ_CHUNK_BYTES - NDZ_HEADER_BYTES - CRYPT_TAG_BYTES,
	TAG_AT = NDZ_CHUNK_BYTES - CRYPT_TAG_BYTES,
};

/* Both domains include the NUL at their end. */
static const char image_domain[] = "NDZ image key 1";
static const char id_domain[] = "NDZ key id 1";

struct crypt {
	uint8_t key[CRYPT_KEY_BYTES];
	uint8_t id[CRYPT_ID_BYTES];
	bool has_image; /* the key of an image was derived, and is below */
	uint8_t uuid[NDZ_UUID_BYTES];
	uint8_t image_key[CRYPT_KEY_BYTES];
	EVP_CIPHER *cipher;
	EVP_CIPHER_CTX *ctx;
};

/* HMAC-SHA-256 of domain and UUID (or NULL), with the key. */
static int
derive(const struct crypt *c, const char *domain, size_t domain_bytes,
    const uint8_t *uuid, uint8_t out[CRYPT_KEY_BYTES], struct err *e)
{
	uint8_t text[64];
	size_t n = 0, uuid_bytes = uuid != NULL ? NDZ_UUID_BYTES : 0;
	struct wr w = wr_to(text, sizeof text);

	wr_bytes(&w, domain, domain_bytes);
	if (uuid != NULL)
		wr_bytes(&w, uuid, uuid_bytes);
	if (!wr_ok(&w) ||
	    EVP_Q_mac(NULL, "HMAC", NULL, "SHA256", NULL, c->key, sizeof c->key, text,
		wr_len(&w), out, CRYPT_KEY_BYTES, &n) == NULL ||
	    n != CRYPT_KEY_BYTES)
		return err_set(e, ERR_UNSUPPORTED, "HMAC-SHA-256 is not available");
	return 0;
}

static int
load(struct crypt *c, const char *path, struct err *e)
{
	uint8_t id[CRYPT_KEY_BYTES];

	if (keyfile_read_secret(path, KEYFILE_ENCRYPTION, c->key, e) != 0 ||
	    derive(c, id_domain, sizeof id_domain, NULL, id, e) != 0)
		return -1;
	memcpy(c->id, id, sizeof c->id);
	OPENSSL_cleanse(id, sizeof id);
	c->cipher = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
	c->ctx = EVP_CIPHER_CTX_new();
	if (c->cipher == NULL || c->ctx == NULL)
		return err_set(e, ERR_UNSUPPORTED, "AES-256-GCM is not available");
	return 0;
}

int
crypt_new(struct crypt **out, const char *path, struct err *e)
{
	struct crypt *c = calloc(1, sizeof *c);

	if (c == NULL)
		return err_nomem(e, "a key");
	if (load(c, path, e) != 0) {
		crypt_free(c);
		return -1;
	}
	*out = c;
	return 0;
}

void
crypt_free(struct crypt *c)
{
	if (c == NULL)
		return;
	EVP_CIPHER_CTX_free(c->ctx); /* wipes its key schedule */
	EVP_CIPHER_free(c->cipher);
	OPENSSL_cleanse(c, sizeof *c);
	free(c);
}

const uint8_t *
crypt_chunk_key_id(const uint8_t *chunk)
{
	return chunk + KEY_ID_AT;
}

const uint8_t *
crypt_key_id(const struct crypt *c)
{
	return c->id;
}

int
crypt_make_key(const char *path, struct err *e)
{
	return keyfile_make_secret(path, KEYFILE_ENCRYPTION, e);
}

static int
begin(struct crypt *c, const struct ndz_header *h, const uint8_t *header, bool encrypt,
    struct err *e)
{
	uint8_t nonce[NONCE_BYTES];
	struct wr w = wr_to(nonce, sizeof nonce);
	int n;

	if (!c->has_image || memcmp(c->uuid, h->uuid, sizeof c->uuid) != 0) {
		c->has_image = false;
		if (derive(c, image_domain, sizeof image_domain, h->uuid, c->image_key,
			e) != 0)
			return -1;
		memcpy(c->uuid, h->uuid, sizeof c->uuid);
		c->has_image = true;
	}
	wr_bytes(&w, h->uuid, NONCE_BYTES - 4);
	wr_le32(&w, (uint32_t)h->index);
	if (EVP_CipherInit_ex2(c->ctx, c->cipher, c->image_key, nonce, encrypt, NULL) !=
		1 ||
	    EVP_CipherUpdate(c->ctx, NULL, &n, header, NDZ_HEADER_BYTES) != 1)
		return err_set(e, ERR_UNSUPPORTED, "AES-256-GCM is not available");
	return 0;
}

static void
mark(uint8_t *chunk, uint32_t magic, const uint8_t id[CRYPT_ID_BYTES])
{
	struct wr w = wr_to(chunk, 4);

	wr_le32(&w, magic);
	memcpy(chunk + KEY_ID_AT, id, CRYPT_ID_BYTES);
}

static bool
tag_is_free(const uint8_t *chunk)
{
	return is_zero(chunk + TAG_AT, CRYPT_TAG_BYTES);
}

int
crypt_seal(struct crypt *c, uint8_t *chunk, struct err *e)
{
	uint8_t *p = chunk + NDZ_HEADER_BYTES;
	struct ndz_header h;
	int n;

	if (ndz_header_get(&h, chunk, NDZ_CHUNK_BYTES, e) != 0)
		return -1;
	if (h.encrypted || h.codec == 0 ||
	    is_zero(h.uuid, sizeof h.uuid) ||
	    NDZ_HEADER_BYTES + h.size > TAG_AT || !tag_is_free(chunk))
		return err_set(
		    e, ERR_UNSUPPORTED, "a chunk of this kind cannot be encrypted");
	mark(chunk, NDZ_MAGIC_ENCRYPTED, c->id);
	if (begin(c, &h, chunk, true, e) != 0)
		return -1;
	if (EVP_CipherUpdate(c->ctx, p, &n, p, SEALED_BYTES) != 1 ||
	    n != SEALED_BYTES || EVP_CipherFinal_ex(c->ctx, p + n, &n) != 1 || n != 0 ||
	    EVP_CIPHER_CTX_ctrl(
		c->ctx, EVP_CTRL_AEAD_GET_TAG, CRYPT_TAG_BYTES, chunk + TAG_AT) != 1)
		return err_set(e, ERR_UNSUPPORTED, "encryption failed");
	return 0;
}

/* Returns 1 when the chunk was decrypted and its tag is right, else 0. */
static int
decrypt(struct crypt *c, uint8_t *chunk)
{
	uint8_t *p = chunk + NDZ_HEADER_BYTES;
	int n;

	return EVP_CipherUpdate(c->ctx, p, &n, p, SEALED_BYTES) == 1 &&
	       n == SEALED_BYTES &&
	       EVP_CIPHER_CTX_ctrl(c->ctx, EVP_CTRL_AEAD_SET_TAG, CRYPT_TAG_BYTES,
		   chunk + TAG_AT) == 1 &&
	       EVP_CipherFinal_ex(c->ctx, p + n, &n) == 1;
}

int
crypt_open(struct crypt *c, uint8_t *chunk, struct err *e)
{
	static const uint8_t no_id[CRYPT_ID_BYTES];
	struct ndz_header h;

	if (ndz_header_get(&h, chunk, NDZ_CHUNK_BYTES, e) != 0)
		return -1;
	if (!h.encrypted)
		return err_set(
		    e, ERR_REFUSED, "is not encrypted, as --decrypt demands");
	if (CRYPTO_memcmp(crypt_chunk_key_id(chunk), c->id, sizeof c->id) != 0)
		return err_set(e, ERR_REFUSED, "is encrypted with another key");
	if (begin(c, &h, chunk, false, e) != 0)
		return -1;
	if (!decrypt(c, chunk)) {
		memset(chunk + NDZ_HEADER_BYTES, 0, NDZ_CHUNK_BYTES - NDZ_HEADER_BYTES);
		return err_set(e, ERR_FORMAT,
		    "is damaged or forged: its authentication tag is wrong");
	}
	mark(chunk, NDZ_MAGIC_OWN, no_id);
	memset(chunk + TAG_AT, 0, CRYPT_TAG_BYTES);
	return 0;
}
