/* sock_auth.c: authentication between a socket and its caller.  A packet that is sent gets its
 * header, a packet that comes loses it, and HELLO and WELCOME are sent when it is time.
 * sock_send.c and sock_receive.c call this, in the thread that has the socket. */
#include <errno.h>
#include <string.h>

#include "common/base/random_bytes.h"
#include "common/net/sock_impl.h"
#include "common/wire/wirext.h"

enum {
	/* As many as the clients that a server counts.  A page of the table takes memory only
	 * when it is used. */
	SENDERS = 16384,
};

void
sock_authenticate(struct sock *s, struct auth *a, enum auth_port port)
{
	s->auth = a;
	s->auth_port = port;
	s->held_bytes = 0;
}

int
sock_new_auth(struct auth **out, const struct sock *s, bool server, const uint8_t *key,
    struct err *e)
{
	static const uint8_t none[4];

	return sock_new_auth_at(
	    out, s->group ? sock_dest(s) : none, sock_port(s), server, key, e);
}

int
sock_new_auth_at(struct auth **out, const uint8_t group[4], uint16_t port, bool server,
    const uint8_t *key, struct err *e)
{
	uint64_t random[3];
	struct auth_config c = {
		.server = server, .key = key, .port = port, .senders = SENDERS
	};

	random_bytes(random, sizeof random);
	c.id = random[0];
	c.seed = random[1];
	c.session = server ? random[2] | 1 : 0;
	memcpy(c.group, group, 4);
	return auth_new(out, &c, e);
}

int
sock_branch_auth(struct auth **out, const struct sock *s, struct err *e)
{
	uint64_t id;

	random_bytes(&id, sizeof id);
	return auth_branch(out, s->auth, id, e);
}

size_t
sock_auth_bytes(const struct sock *s)
{
	return auth_is_on(s->auth) ? AUTH_HEADER_BYTES : 0;
}

/* A HELLO for which the kernel has no room is lost, as any packet may be. */
static int
say_hello(struct sock *s, struct err *e)
{
	uint8_t pkt[AUTH_PACKET_MAX];
	size_t n = auth_put_hello(s->auth, pkt);

	return n > 0 && sock_send_raw(s, pkt, n, &s->dest, e) < 0 ? -1 : 0;
}

int
sock_send_sealed(struct sock *s, const void *pkt, size_t len,
    const struct sockaddr_in *to, struct err *e)
{
	uint8_t out[AUTH_HEADER_BYTES + WIREXT_PACKET_MAX];
	struct gmac_part part = { pkt, len };

	if (!auth_is_on(s->auth))
		return sock_send_raw(s, pkt, len, to, e);
	if (auth_wants_hello(s->auth) && say_hello(s, e) != 0)
		return -1;
	if (!auth_may_seal(s->auth)) {
		s->held_bytes = len <= sizeof s->held ? len : 0;
		memcpy(s->held, pkt, s->held_bytes);
		return 1;
	}
	if (len > WIREXT_PACKET_MAX ||
	    auth_seal(s->auth, s->auth_port, &part, 1, out, e) != 0)
		return err_set(e, ERR_UNSUPPORTED, "a packet cannot be authenticated");
	memcpy(out + AUTH_HEADER_BYTES, pkt, len);
	return sock_send_raw(s, out, AUTH_HEADER_BYTES + len, to, e);
}

int
sock_seal_block(struct sock *s, const struct sock_block *b,
    uint8_t header[AUTH_HEADER_BYTES], struct err *e)
{
	struct gmac_part part[] = { { b->header, b->header_bytes },
		{ b->data, b->data_bytes } };

	return auth_seal(s->auth, s->auth_port, part, 2, header, e);
}

int
sock_seal(struct sock *s, const void *pkt, size_t len, uint8_t header[AUTH_HEADER_BYTES],
    size_t *header_bytes, struct err *e)
{
	struct gmac_part part = { pkt, len };

	*header_bytes = sock_auth_bytes(s);
	return *header_bytes == 0
	           ? 0
	           : auth_seal(s->auth, s->auth_port, &part, 1, header, e);
}

const uint8_t *
sock_unseal(struct sock *s, const uint8_t *pkt, size_t len,
    const struct sockaddr_in *from, size_t *n)
{
	*n = len;
	if (s->auth == NULL)
		return pkt;
	return auth_open(s->auth, s->auth_port, pkt, len, (const uint8_t *)&from->sin_addr,
	    ntohs(from->sin_port), n);
}

int
sock_shake_hands(struct sock *s, const struct sockaddr_in *to, struct err *e)
{
	uint8_t pkt[AUTH_PACKET_MAX];
	size_t n;

	if (!auth_is_on(s->auth))
		return 0;
	while ((n = auth_put_welcome(s->auth, pkt)) > 0)
		if (sock_send_raw(s, pkt, n, to, e) < 0)
			return -1;
	if (s->held_bytes == 0 || !auth_was_welcomed(s->auth))
		return 0;
	n = s->held_bytes;
	s->held_bytes = 0;
	return sock_send_sealed(s, s->held, n, &s->dest, e) < 0 ? -1 : 0;
}

void
sock_answer_ignored(struct sock *s, uint64_t now_us)
{
	struct sockaddr_in to = s->dest;
	uint8_t pkt[AUTH_PACKET_MAX];
	struct err ignored;

	if (s->auth == NULL || !ignored_answer(auth_ignored(s->auth), now_us))
		return;
	const struct ignored *g = auth_ignored(s->auth);
	if (s->cfg.any_sender) {
		memcpy(&to.sin_addr, g->asker, 4);
		to.sin_port = htons(g->asker_port);
	}
	size_t n = auth_put_notice(s->auth, pkt);
	if (n > 0 && to.sin_port != 0)
		(void)sock_send_raw(s, pkt, n, &to, &ignored);
}

bool
sock_say_ignored(struct sock *s, uint64_t now_us, bool waits, char text[IGNORED_TEXT_MAX])
{
	return s->auth != NULL &&
	       ignored_say(auth_ignored(s->auth), now_us, waits, text);
}

const char *
sock_ignored_reason(struct sock *s)
{
	return s->auth != NULL ? ignored_reason(auth_ignored(s->auth)) : NULL;
}
