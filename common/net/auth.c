/* auth.c: keys are derived, and a packet that is to be sent gets its header.  sock_auth.c calls
 * this, in the thread that has the session's sockets. */
#include "common/net/auth.h"

#include <assert.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/wr.h"
#include "common/net/auth_impl.h"

/* Both labels include the NUL at their end. */
static const char sender_label[] = "frisbee group key 1 sender";
static const char id_label[] = "frisbee group key 1 id";

/* Derive n bytes from the group's key by HKDF with SHA-256 (RFC 5869).  False: libcrypto
 * fails. */
static bool
hkdf(const struct auth *a, const void *salt, size_t salt_bytes, const void *info,
    size_t info_bytes, uint8_t *out, size_t n)
{
	EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
	EVP_KDF_CTX *ctx = kdf != NULL ? EVP_KDF_CTX_new(kdf) : NULL;
	OSSL_PARAM p[] = {
		OSSL_PARAM_construct_utf8_string(
		    OSSL_KDF_PARAM_DIGEST, (char *)(uintptr_t)"SHA256", 0),
		OSSL_PARAM_construct_octet_string(
		    OSSL_KDF_PARAM_KEY, (void *)(uintptr_t)a->key, sizeof a->key),
		OSSL_PARAM_construct_octet_string(
		    OSSL_KDF_PARAM_SALT, (void *)(uintptr_t)salt, salt_bytes),
		OSSL_PARAM_construct_octet_string(
		    OSSL_KDF_PARAM_INFO, (void *)(uintptr_t)info, info_bytes),
		OSSL_PARAM_construct_end(),
	};
	bool ok = ctx != NULL && EVP_KDF_derive(ctx, out, n, p) == 1;

	EVP_KDF_CTX_free(ctx);
	EVP_KDF_free(kdf);
	return ok;
}

bool
auth_derive(const struct auth *a, bool server, uint64_t id, uint64_t session,
    uint8_t key[GMAC_KEY_BYTES])
{
	uint8_t salt[16], info[sizeof sender_label + 8];
	struct wr s = wr_to(salt, sizeof salt), i = wr_to(info, sizeof info);

	wr_le64(&s, id);
	wr_le64(&s, session);
	wr_bytes(&i, sender_label, sizeof sender_label);
	wr_u8(&i, server ? 's' : 'c');
	wr_bytes(&i, a->cfg.group, sizeof a->cfg.group);
	wr_le16(&i, a->cfg.port);
	return hkdf(a, salt, sizeof salt, info, wr_len(&i), key, GMAC_KEY_BYTES);
}

static int
init(struct auth *a, const struct auth_config *c, struct err *e)
{
	uint8_t id[2];

	if (c->key == NULL)
		return 0;
	memcpy(a->key, c->key, sizeof a->key);
	a->waiting = c->server ? calloc(AUTH_WAITING_MAX, sizeof *a->waiting) : NULL;
	if (c->server && a->waiting == NULL)
		return err_nomem(e, "senders of packets");
	if (!hkdf(a, "", 0, id_label, sizeof id_label, id, sizeof id))
		return err_set(
		    e, ERR_UNSUPPORTED, "HKDF with SHA-256 is not available");
	a->key_id = (uint16_t)(id[0] | id[1] << 8);
	if (gmac_init(&a->out, e) != 0 || gmac_init(&a->in, e) != 0)
		return -1;
	return auth_senders_init(a, e);
}

int
auth_new(struct auth **out, const struct auth_config *c, struct err *e)
{
	struct auth *a = calloc(1, sizeof *a);

	assert(c->senders > 0 && c->server == (c->session != 0));
	if (a == NULL)
		return err_nomem(e, "senders of packets");
	a->cfg = *c;
	a->cfg.key = c->key != NULL ? a->key : NULL;
	a->session = c->session;
	if (init(a, c, e) != 0) {
		auth_free(a);
		return -1;
	}
	*out = a;
	return 0;
}

void
auth_free(struct auth *a)
{
	if (a == NULL)
		return;
	auth_senders_fini(a);
	gmac_fini(&a->out);
	gmac_fini(&a->in);
	free(a->waiting);
	OPENSSL_cleanse(a, sizeof *a);
	free(a);
}

bool
auth_is_on(const struct auth *a)
{
	return a != NULL && a->cfg.key != NULL;
}

struct ignored *
auth_ignored(struct auth *a)
{
	return &a->ignored;
}

bool
auth_may_seal(const struct auth *a)
{
	return a->session != 0;
}

static const uint8_t *
own_key(struct auth *a, uint64_t session)
{
	if (a->own_session == session && a->number > 0)
		return a->own_key;
	a->own_session = session;
	return auth_derive(a, a->cfg.server, a->cfg.id, session, a->own_key)
	           ? a->own_key
	           : NULL;
}

static void
put_header(const struct auth *a, enum auth_kind kind, enum auth_port port,
    uint64_t session, uint8_t header[AUTH_HEADER_BYTES])
{
	struct wr w = wr_to(header, AUTH_HEADER_BYTES);

	wr_bytes(&w, "FBXA", 4);
	wr_u8(&w, (uint8_t)kind);
	wr_u8(&w, (uint8_t)port);
	wr_le16(&w, a->key_id);
	wr_le64(&w, a->cfg.id);
	wr_le64(&w, session);
	wr_le64(&w, a->number);
	wr_zero(&w, GMAC_TAG_BYTES);
}

/* Make the header of a packet.  Every packet gets a new number, even if it is not sent
 * afterwards. */
static int
seal(struct auth *a, enum auth_kind kind, enum auth_port port, uint64_t session,
    const struct gmac_part *part, unsigned n, uint8_t header[AUTH_HEADER_BYTES])
{
	struct gmac_part all[1 + AUTH_PARTS_MAX] = { { header, AUTH_TAG_AT } };
	const uint8_t *key = own_key(a, session);

	assert(n <= AUTH_PARTS_MAX);
	for (unsigned i = 0; i < n; i++)
		all[1 + i] = part[i];
	put_header(a, kind, port, session, header);
	return key != NULL && gmac_tag(&a->out, key, a->number++, all, 1 + n,
				  header + AUTH_TAG_AT)
	           ? 0
	           : -1;
}

int
auth_seal(struct auth *a, enum auth_port port, const struct gmac_part *part, unsigned n,
    uint8_t header[AUTH_HEADER_BYTES], struct err *e)
{
	a->unanswered += !a->cfg.server;
	if (seal(a, a->cfg.server ? AUTH_SERVER : AUTH_CLIENT, port, a->session, part, n,
		header) != 0)
		return err_set(e, ERR_UNSUPPORTED, "a packet cannot be authenticated");
	return 0;
}

bool
auth_wants_hello(const struct auth *a)
{
	return !a->cfg.server &&
	       (a->session == 0 || (a->unanswered >= AUTH_UNANSWERED &&
				       a->unanswered % AUTH_UNANSWERED == 0));
}

size_t
auth_put_hello(struct auth *a, uint8_t pkt[AUTH_PACKET_MAX])
{
	return seal(a, AUTH_HELLO, AUTH_FIRST, 0, NULL, 0, pkt) == 0 ? AUTH_HEADER_BYTES
	                                                             : 0;
}

static size_t
put_welcome(struct auth *a, unsigned askers, uint8_t pkt[AUTH_PACKET_MAX])
{
	uint8_t *body = pkt + AUTH_HEADER_BYTES;
	struct wr w = wr_to(body, AUTH_PACKET_MAX - AUTH_HEADER_BYTES);

	for (unsigned i = 0; i < askers; i++) {
		wr_le64(&w, a->waiting[i].id);
		wr_le64(&w, a->waiting[i].number);
	}
	struct gmac_part part = { body, wr_len(&w) };
	return seal(a, AUTH_WELCOME, AUTH_FIRST, a->session, &part, 1, pkt) == 0
	           ? AUTH_HEADER_BYTES + part.len
	           : 0;
}

size_t
auth_put_welcome(struct auth *a, uint8_t pkt[AUTH_PACKET_MAX])
{
	unsigned n = a->nwaiting < AUTH_ASKERS ? a->nwaiting : AUTH_ASKERS;

	if (n == 0)
		return 0;
	size_t len = put_welcome(a, n, pkt);
	a->nwaiting -= n;
	memmove(a->waiting, a->waiting + n, a->nwaiting * sizeof *a->waiting);
	return len;
}

size_t
auth_put_notice(struct auth *a, uint8_t pkt[AUTH_PACKET_MAX])
{
	if (auth_is_on(a))
		return put_welcome(a, 0, pkt);
	put_header(a, AUTH_NONE, AUTH_FIRST, 0, pkt);
	return AUTH_HEADER_BYTES;
}

bool
auth_was_welcomed(struct auth *a)
{
	bool was = a->welcomed;

	a->welcomed = false;
	return was;
}
