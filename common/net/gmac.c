/* gmac.c: GMAC by libcrypto.  auth.c calls this, in the thread that has the session's
 * sockets. */
#include "common/net/gmac.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>

#include "common/base/wr.h"

enum { NONCE_BYTES = 12 };

int
gmac_init(struct gmac *g, struct err *e)
{
	*g = (struct gmac){ .cipher = EVP_CIPHER_fetch(NULL, "AES-128-GCM", NULL),
		.ctx = EVP_CIPHER_CTX_new() };
	if (g->cipher != NULL && g->ctx != NULL)
		return 0;
	gmac_fini(g);
	return err_set(e, ERR_UNSUPPORTED, "AES-128-GCM is not available");
}

void
gmac_fini(struct gmac *g)
{
	EVP_CIPHER_CTX_free(g->ctx); /* wipes its key schedule */
	EVP_CIPHER_free(g->cipher);
	OPENSSL_cleanse(g, sizeof *g);
}

/* Set the key and the nonce.  A key that is set already is not set again, because making its
 * tables costs as much as a tag. */
static bool
begin(struct gmac *g, const uint8_t key[GMAC_KEY_BYTES], uint64_t number)
{
	uint8_t nonce[NONCE_BYTES] = { 0 };
	struct wr w = wr_to(nonce + NONCE_BYTES - 8, 8);
	bool same = g->keyed && memcmp(g->key, key, GMAC_KEY_BYTES) == 0;

	wr_le64(&w, number);
	if (!same) {
		memcpy(g->key, key, GMAC_KEY_BYTES);
		g->keyed = true;
	}
	return EVP_EncryptInit_ex2(g->ctx, same ? NULL : g->cipher, same ? NULL : key,
		   nonce, NULL) == 1;
}

bool
gmac_tag(struct gmac *g, const uint8_t key[GMAC_KEY_BYTES], uint64_t number,
    const struct gmac_part *part, unsigned n, uint8_t tag[GMAC_TAG_BYTES])
{
	bool ok = begin(g, key, number);
	int out;

	for (unsigned i = 0; i < n && ok; i++)
		ok = part[i].len == 0 || EVP_EncryptUpdate(g->ctx, NULL, &out,
					     part[i].bytes, (int)part[i].len) == 1;
	ok = ok && EVP_EncryptFinal_ex(g->ctx, tag, &out) == 1 &&
	     EVP_CIPHER_CTX_ctrl(
		 g->ctx, EVP_CTRL_AEAD_GET_TAG, GMAC_TAG_BYTES, tag) == 1;
	g->keyed &= ok;
	return ok;
}
