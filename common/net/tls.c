/* tls.c: encrypted connections, by OpenSSL (tls.h).  dolly calls it in the thread of
 * its engine.  There are no certificates: a handshake succeeds only when both sides
 * have the key. */
#include "common/net/tls.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/keyfile.h"

/* The only cipher: the kernel and all processors support it, and its hash is the one that
 * belongs to the key. */
#define CIPHER "TLS_AES_128_GCM_SHA256"
static const unsigned char cipher_id[] = { 0x13, 0x01 };

struct tls {
	SSL_CTX *ctx;
	const char *identity;
	uint8_t key[KEYFILE_SECRET_BYTES];
};

struct tls_wire {
	SSL *ssl;
};

/* The key as a session of OpenSSL; NULL: no memory. */
static SSL_SESSION *
session_of(SSL *ssl)
{
	const struct tls *t = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
	const SSL_CIPHER *cipher = SSL_CIPHER_find(ssl, cipher_id);
	SSL_SESSION *s = SSL_SESSION_new();

	if (s != NULL && cipher != NULL &&
	    SSL_SESSION_set1_master_key(s, t->key, sizeof t->key) == 1 &&
	    SSL_SESSION_set_cipher(s, cipher) == 1 &&
	    SSL_SESSION_set_protocol_version(s, TLS1_3_VERSION) == 1)
		return s;
	SSL_SESSION_free(s);
	return NULL;
}

/* OpenSSL calls this at the side that has dialled, which offers the key. */
static int
on_offer(SSL *ssl, const EVP_MD *md, const unsigned char **id, size_t *id_bytes,
    SSL_SESSION **session)
{
	const struct tls *t = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));

	(void)md; /* the only cipher has the right hash */
	*id = (const unsigned char *)t->identity;
	*id_bytes = strlen(t->identity);
	*session = session_of(ssl);
	return *session != NULL;
}

/* OpenSSL calls this at the other side, with the name of the key that is offered.  The
 * handshake compares the keys themselves. */
static int
on_find(SSL *ssl, const unsigned char *id, size_t id_bytes, SSL_SESSION **session)
{
	const struct tls *t = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));

	*session = NULL;
	if (id_bytes != strlen(t->identity) || memcmp(id, t->identity, id_bytes) != 0)
		return 1; /* no such key: without a certificate the handshake fails */
	*session = session_of(ssl);
	return *session != NULL;
}

static bool
set_up(struct tls *t)
{
	t->ctx = SSL_CTX_new(TLS_method());
	if (t->ctx == NULL)
		return false;
	SSL_CTX_set_app_data(t->ctx, t);
	SSL_CTX_set_psk_use_session_callback(t->ctx, on_offer);
	SSL_CTX_set_psk_find_session_callback(t->ctx, on_find);
	SSL_CTX_set_mode(t->ctx, SSL_MODE_ENABLE_PARTIAL_WRITE |
	                             SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_options(t->ctx, SSL_OP_ENABLE_KTLS | SSL_OP_NO_TICKET);
	SSL_CTX_set_session_cache_mode(t->ctx, SSL_SESS_CACHE_OFF);
	return SSL_CTX_set_min_proto_version(t->ctx, TLS1_3_VERSION) == 1 &&
	       SSL_CTX_set_ciphersuites(t->ctx, CIPHER) == 1 &&
	       SSL_CTX_set_num_tickets(t->ctx, 0) == 1;
}

int
tls_new(struct tls **out, const char *keyfile, const char *identity, struct err *e)
{
	struct tls *t = calloc(1, sizeof *t);

	if (t == NULL)
		return err_nomem(e, "a key");
	t->identity = identity;
	if (keyfile_read_secret(keyfile, KEYFILE_GROUP, t->key, e) != 0) {
		tls_free(t);
		return -1;
	}
	if (!set_up(t)) {
		tls_free(t);
		return err_nomem(e, "TLS");
	}
	*out = t;
	return 0;
}

void
tls_free(struct tls *t)
{
	if (t == NULL)
		return;
	SSL_CTX_free(t->ctx);
	OPENSSL_cleanse(t->key, sizeof t->key);
	free(t);
}

struct tls_wire *
tls_wire_new(struct tls *t, int fd, bool dialled)
{
	struct tls_wire *w = calloc(1, sizeof *w);

	if (w != NULL)
		w->ssl = SSL_new(t->ctx);
	if (w == NULL || w->ssl == NULL || SSL_set_fd(w->ssl, fd) != 1) {
		tls_wire_free(w);
		return NULL;
	}
	if (dialled)
		SSL_set_connect_state(w->ssl);
	else
		SSL_set_accept_state(w->ssl);
	return w;
}

void
tls_wire_free(struct tls_wire *w)
{
	if (w == NULL)
		return;
	SSL_free(w->ssl);
	free(w);
}

int
tls_wire_shake(struct tls_wire *w, bool *writes)
{
	ERR_clear_error();
	int rc = SSL_do_handshake(w->ssl);
	int why = rc == 1 ? SSL_ERROR_NONE : SSL_get_error(w->ssl, rc);

	*writes = why == SSL_ERROR_WANT_WRITE;
	if (rc == 1)
		return SSL_session_reused(w->ssl) ? 1 : -1; /* false: the key was not used */
	return why == SSL_ERROR_WANT_READ || *writes ? 0 : -1;
}

/* Converts the failure of an OpenSSL call to what recv(2) and send(2) return: 0 at the end
 * of the connection, or -1 with errno. */
static ssize_t
failed(struct tls_wire *w, int rc)
{
	int was = errno, why = SSL_get_error(w->ssl, rc);

	if (why == SSL_ERROR_ZERO_RETURN)
		return 0;
	if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE)
		errno = EAGAIN;
	else if (why == SSL_ERROR_SYSCALL && was != 0)
		errno = was;
	else if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
		return 0; /* the other process was killed */
	else
		errno = EPROTO;
	return -1;
}

ssize_t
tls_wire_send(struct tls_wire *w, const void *bytes, size_t n)
{
	size_t done;

	ERR_clear_error();
	errno = 0;
	int rc = SSL_write_ex(w->ssl, bytes, n, &done);
	return rc == 1 ? (ssize_t)done : failed(w, rc);
}

ssize_t
tls_wire_recv(struct tls_wire *w, void *to, size_t n)
{
	size_t done;

	ERR_clear_error();
	errno = 0;
	int rc = SSL_read_ex(w->ssl, to, n, &done);
	return rc == 1 ? (ssize_t)done : failed(w, rc);
}

bool
tls_wire_in_kernel(const struct tls_wire *w)
{
	return BIO_get_ktls_send(SSL_get_wbio(w->ssl)) != 0;
}

bool
tls_wire_pending(const struct tls_wire *w)
{
	return SSL_pending(w->ssl) > 0;
}
