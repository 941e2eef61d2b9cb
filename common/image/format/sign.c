/* sign.c: signatures of chunks by Ed25519.  sealer.c signs with it in the thread that
 * makes the image, and opener.c verifies in the threads that have chunks; mfrisbeed
 * verifies uploads with it, and imagekey makes keys. */
#include "common/image/format/sign.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/keyfile.h"
#include "common/base/wr.h"
#include "common/base/zero.h"

enum {
	PUBLIC_BYTES = 32,
	DIGEST_BYTES = 32,
};

static const char domain[] = "NDZ chunk signature 1"; /* with its NUL */

enum { MESSAGE_BYTES = sizeof domain + NDZ_UUID_BYTES + 3 * 4 + 2 * DIGEST_BYTES };

struct signer {
	EVP_PKEY *key;
	uint8_t id[EXT_KEY_ID_BYTES];
};

struct verifier {
	EVP_PKEY *key;
	uint8_t id[EXT_KEY_ID_BYTES];
	EVP_MD *sha256;
};

/* A key with a password was not made by imagekey, so no password is asked for. */
static int
no_password(char *buf, int size, int rwflag, void *arg)
{
	(void)buf, (void)size, (void)rwflag, (void)arg;
	return -1;
}

static EVP_PKEY *
parse_pem(const char *text, size_t n, bool secret)
{
	BIO *b = BIO_new_mem_buf(text, (int)n);
	EVP_PKEY *k = b == NULL ? NULL
	              : secret  ? PEM_read_bio_PrivateKey(b, NULL, no_password, NULL)
	                        : PEM_read_bio_PUBKEY(b, NULL, no_password, NULL);

	BIO_free(b);
	if (k == NULL || EVP_PKEY_is_a(k, "ED25519"))
		return k;
	EVP_PKEY_free(k);
	return NULL;
}

static int
key_id(EVP_PKEY *key, uint8_t id[EXT_KEY_ID_BYTES])
{
	uint8_t public[PUBLIC_BYTES], digest[EVP_MAX_MD_SIZE];
	size_t n = sizeof public, digest_bytes;

	if (EVP_PKEY_get_raw_public_key(key, public, &n) != 1 || n != sizeof public ||
	    EVP_Q_digest(NULL, "SHA256", NULL, public, n, digest, &digest_bytes) != 1)
		return -1;
	memcpy(id, digest, EXT_KEY_ID_BYTES);
	return 0;
}

static int
load(EVP_PKEY **key, uint8_t id[EXT_KEY_ID_BYTES], const char *path, bool secret,
    struct err *e)
{
	char text[KEYFILE_BYTES_MAX + 1];
	size_t n;

	int rc = keyfile_read(
	    path, secret ? KEYFILE_PRIVATE : KEYFILE_PUBLIC, text, &n, e);
	*key = rc == 0 ? parse_pem(text, n, secret) : NULL;
	OPENSSL_cleanse(text, sizeof text);
	if (rc != 0)
		return -1;
	if (*key == NULL || key_id(*key, id) != 0)
		return err_set(e, ERR_FORMAT, "%s: holds no %s Ed25519 key", path,
		    secret ? "private" : "public");
	return 0;
}

int
signer_new(struct signer **out, const char *path, struct err *e)
{
	struct signer *s = calloc(1, sizeof *s);

	if (s == NULL)
		return err_nomem(e, "a key");
	if (load(&s->key, s->id, path, true, e) != 0) {
		signer_free(s);
		return -1;
	}
	*out = s;
	return 0;
}

void
signer_free(struct signer *s)
{
	if (s == NULL)
		return;
	EVP_PKEY_free(s->key);
	free(s);
}

int
verifier_new(struct verifier **out, const char *path, struct err *e)
{
	struct verifier *v = calloc(1, sizeof *v);

	if (v == NULL)
		return err_nomem(e, "a key");
	if (load(&v->key, v->id, path, false, e) != 0) {
		verifier_free(v);
		return -1;
	}
	v->sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
	if (v->sha256 == NULL) {
		verifier_free(v);
		return err_set(e, ERR_UNSUPPORTED, "SHA-256 is not available");
	}
	*out = v;
	return 0;
}

void
verifier_free(struct verifier *v)
{
	if (v == NULL)
		return;
	EVP_PKEY_free(v->key);
	EVP_MD_free(v->sha256);
	free(v);
}

const uint8_t *
verifier_key_id(const struct verifier *v)
{
	return v->id;
}

/* Key pairs. */

static int
write_pem(EVP_PKEY *key, const char *name, bool secret, struct err *e)
{
	BIO *b = BIO_new(secret ? BIO_s_secmem() : BIO_s_mem());
	char *path = NULL, *text;
	int rc;

	if (b == NULL || asprintf(&path, "%s.%s", name, secret ? "key" : "pub") < 0) {
		BIO_free(b);
		return err_nomem(e, "a key");
	}
	int ok = secret ? PEM_write_bio_PrivateKey(b, key, NULL, NULL, 0, NULL, NULL)
	                : PEM_write_bio_PUBKEY(b, key);
	if (ok == 1) {
		long n = BIO_get_mem_data(b, &text);
		rc = keyfile_write(path, secret, text, (size_t)n, e);
		if (secret)
			OPENSSL_cleanse(text, (size_t)n);
	} else {
		rc = err_set(e, ERR_UNSUPPORTED, "%s: the key cannot be encoded", path);
	}
	BIO_free(b);
	free(path);
	return rc;
}

/* One key of a pair alone is useless, so it is removed. */
static void
remove_key(const char *name)
{
	char *path;

	if (asprintf(&path, "%s.key", name) < 0)
		return;
	unlink(path);
	free(path);
}

int
sign_make_keys(const char *name, struct err *e)
{
	EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");

	if (key == NULL)
		return err_set(e, ERR_UNSUPPORTED, "Ed25519 is not available");
	int rc = write_pem(key, name, true, e);
	if (rc == 0) {
		rc = write_pem(key, name, false, e);
		if (rc != 0)
			remove_key(name);
	}
	EVP_PKEY_free(key);
	return rc;
}

/* The message that is signed. `records`: SHA-256 of the other records of the extension
 * area. */
static void
put_message(uint8_t message[MESSAGE_BYTES], const struct ndz_header *h,
    const struct ext *x, const uint8_t chunk_digest[DIGEST_BYTES],
    const uint8_t records[DIGEST_BYTES])
{
	struct wr w = wr_to(message, MESSAGE_BYTES);

	wr_bytes(&w, domain, sizeof domain);
	wr_bytes(&w, x->uuid, NDZ_UUID_BYTES);
	wr_le32(&w, (uint32_t)h->index);
	wr_le32(&w, x->last);
	wr_le32(&w, x->last ? x->nchunks : 0);
	wr_bytes(&w, chunk_digest, DIGEST_BYTES);
	wr_bytes(&w, records, DIGEST_BYTES);
}

static int
sign_parsed(struct signer *s, const struct ndz_header *h, const struct ext *x,
    uint8_t *chunk, struct err *e)
{
	uint8_t message[MESSAGE_BYTES], records[EVP_MAX_MD_SIZE],
	    sig[EXT_SIGNATURE_RAW_BYTES];
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	size_t n = sizeof sig, digest_bytes;

	if (ctx == NULL)
		return err_nomem(e, "a signature");
	int ok = EVP_Q_digest(NULL, "SHA256", NULL, chunk + x->records_at,
	    x->records_bytes, records, &digest_bytes);
	if (ok == 1) {
		put_message(message, h, x, x->digest, records);
		ok = EVP_DigestSignInit_ex(ctx, NULL, NULL, NULL, NULL, s->key, NULL) ==
		         1 &&
		     EVP_DigestSign(ctx, sig, &n, message, sizeof message) == 1 &&
		     n == sizeof sig;
	}
	EVP_MD_CTX_free(ctx);
	if (ok != 1)
		return err_set(e, ERR_UNSUPPORTED, "a chunk cannot be signed");
	return ext_add_signature(h, chunk, s->id, sig, e);
}

int
sign_chunk(struct signer *s, uint8_t *chunk, struct err *e)
{
	struct ndz_header h;
	struct ext x;
	int rc;

	if (ndz_header_get(&h, chunk, NDZ_CHUNK_BYTES, e) != 0 ||
	    ext_get(&x, &h, chunk, e) != 0)
		return -1;
	if (!x.present || !x.has_uuid || !x.has_digest || x.has_signature)
		rc = err_set(
		    e, ERR_UNSUPPORTED, "a chunk of this kind cannot be signed");
	else
		rc = sign_parsed(s, &h, &x, chunk, e);
	ext_free(&x);
	return rc;
}

/* Verifying. */

/* All bytes that the signature does not cover must be zero. */
static bool
rest_is_zero(const struct ndz_header *h, const struct ext *x, const uint8_t *chunk)
{
	size_t stream_end = NDZ_HEADER_BYTES + (size_t)h->size;
	size_t ext_at = x->records_at - EXT_HEAD_BYTES;
	size_t ext_end = x->records_at + x->records_bytes + EXT_SIGNATURE_BYTES;

	return is_zero(chunk + stream_end, ext_at - stream_end) &&
	       is_zero(chunk + ext_end, NDZ_CHUNK_BYTES - ext_end);
}

static int
check_signature(struct verifier *v, const struct ndz_header *h, const struct ext *x,
    const uint8_t *chunk, struct err *e)
{
	uint8_t message[MESSAGE_BYTES], digest[EVP_MAX_MD_SIZE],
	    records[EVP_MAX_MD_SIZE];
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	unsigned n;

	if (ctx == NULL)
		return err_nomem(e, "a signature");
	int ok = EVP_Digest(chunk, NDZ_HEADER_BYTES + (size_t)h->size, digest, &n,
		     v->sha256, NULL) == 1 &&
	         EVP_Digest(chunk + x->records_at, x->records_bytes, records, &n,
		     v->sha256, NULL) == 1;
	if (ok) {
		put_message(message, h, x, digest, records);
		ok = EVP_DigestVerifyInit_ex(
			 ctx, NULL, NULL, NULL, NULL, v->key, NULL) == 1 &&
		     EVP_DigestVerify(ctx, x->signature, sizeof x->signature, message,
			 sizeof message) == 1;
	}
	EVP_MD_CTX_free(ctx);
	if (!ok || !rest_is_zero(h, x, chunk))
		return err_set(
		    e, ERR_FORMAT, "is damaged or forged: its signature is wrong");
	return 0;
}

/* The signature also covers the place of the chunk in the image. */
static int
verify_parsed(struct verifier *v, uint32_t number, const struct ndz_header *h,
    const struct ext *x, const uint8_t *chunk, struct err *e)
{
	if (!x->has_signature)
		return err_set(
		    e, ERR_REFUSED, "is not signed, as --verify-key demands");
	if (CRYPTO_memcmp(x->key_id, v->id, sizeof v->id) != 0)
		return err_set(e, ERR_REFUSED, "is signed with another key");
	if (check_signature(v, h, x, chunk, e) != 0)
		return -1;
	if (!x->has_uuid || (uint32_t)h->index != number ||
	    (x->last && x->nchunks != number + 1))
		return err_set(e, ERR_FORMAT,
		    "is not at its place: it was signed as chunk %d", h->index);
	return 0;
}

int
verify_chunk(struct verifier *v, uint32_t number, const uint8_t *chunk, struct err *e)
{
	struct ndz_header h;
	struct ext x;

	if (ndz_header_get(&h, chunk, NDZ_CHUNK_BYTES, e) != 0)
		return -1;
	if (h.encrypted)
		return err_set(e, ERR_UNSUPPORTED,
		    "is encrypted; give its key with --decrypt=KEYFILE");
	if (ext_get(&x, &h, chunk, e) != 0)
		return -1;
	int rc = verify_parsed(v, number, &h, &x, chunk, e);
	ext_free(&x);
	return rc;
}
