/* auth_open.c: packets that come are checked: does a packet belong to the session, does its
 * sender have the key, and is it new?  sock_auth.c calls this for each packet before it is
 * handed on, in the thread that has the socket. */
#include <openssl/crypto.h>
#include <string.h>

#include "common/base/rd.h"
#include "common/net/auth_impl.h"

static const uint8_t magic[4] = { 'F', 'B', 'X', 'A' };

static bool
is_sealed(const uint8_t *pkt, size_t len)
{
	return len >= sizeof magic && memcmp(pkt, magic, sizeof magic) == 0;
}

static bool
get_header(struct auth_header *h, const uint8_t *pkt, size_t len)
{
	struct rd r = rd_from(pkt, len);

	rd_skip(&r, sizeof magic);
	h->kind = rd_u8(&r);
	h->port = rd_u8(&r);
	h->key_id = rd_le16(&r);
	h->id = rd_le64(&r);
	h->session = rd_le64(&r);
	h->number = rd_le64(&r);
	h->tag = rd_bytes(&r, GMAC_TAG_BYTES);
	return rd_ok(&r) && h->kind >= AUTH_HELLO && h->kind <= AUTH_NONE &&
	       h->port < AUTH_PORTS && h->number < UINT64_MAX;
}

static bool
tag_is_right(struct auth *a, const struct auth_header *h,
    const uint8_t key[GMAC_KEY_BYTES], const uint8_t *pkt, size_t len)
{
	struct gmac_part part[] = { { pkt, AUTH_TAG_AT },
		{ pkt + AUTH_HEADER_BYTES, len - AUTH_HEADER_BYTES } };
	uint8_t tag[GMAC_TAG_BYTES];

	return gmac_tag(&a->in, key, h->number, part, 2, tag) &&
	       CRYPTO_memcmp(tag, h->tag, sizeof tag) == 0;
}

/* The packet that is being checked. */
struct arrival {
	struct auth_header h;
	const uint8_t *pkt;
	size_t len;
	const uint8_t *from;
	uint16_t from_port;
};

static void
ignore(struct auth *a, const struct arrival *p, enum ignored_why why)
{
	ignored_add(&a->ignored, why, p->from, p->from_port);
}

/* Take the packet if it is new and really its sender's, and remember the sender. */
static bool
take(struct auth *a, const struct arrival *p, bool server, uint64_t session)
{
	struct auth_sender *s = auth_find(a, server, p->h.id);
	uint8_t key[GMAC_KEY_BYTES];

	/* A repeated packet is not counted as an attack: networks repeat packets, too. */
	if (s != NULL && !replay_is_new(&s->taken[p->h.port], p->h.number))
		return false;
	if (s == NULL && !auth_derive(a, server, p->h.id, session, key))
		return false;
	if (!tag_is_right(a, &p->h, s != NULL ? s->key : key, p->pkt, p->len)) {
		ignore(a, p, IGNORED_FORGED);
		return false;
	}
	if (s == NULL)
		s = auth_remember(a, server, p->h.id, key);
	replay_take(&s->taken[p->h.port], p->h.number);
	a->ignored.ever = true;
	if (server)
		a->unanswered = 0;
	return true;
}

/* A HELLO only puts its sender among the clients that are answered next; no other state is kept
 * for it. */
static void
hear_hello(struct auth *a, const struct arrival *p)
{
	uint8_t key[GMAC_KEY_BYTES];
	unsigned i = 0;

	if (p->h.session != 0 || p->len != AUTH_HEADER_BYTES ||
	    !auth_derive(a, false, p->h.id, 0, key) ||
	    !tag_is_right(a, &p->h, key, p->pkt, p->len)) {
		ignore(a, p, IGNORED_FORGED);
		return;
	}
	while (i < a->nwaiting && a->waiting[i].id != p->h.id)
		i++;
	if (i == AUTH_WAITING_MAX)
		return; /* the client will send another HELLO */
	a->nwaiting += i == a->nwaiting;
	a->waiting[i] = (struct auth_asker){ p->h.id, p->h.number };
}

/* Does this WELCOME answer a HELLO that we have sent since we were last welcomed?  If it does,
 * it is new, and no recording. */
static bool
answers_us(const struct auth *a, const struct arrival *p)
{
	struct rd r = rd_from(
	    p->pkt + AUTH_HEADER_BYTES, p->len - AUTH_HEADER_BYTES);

	while (rd_left(&r) >= AUTH_ASKER_BYTES) {
		uint64_t id = rd_le64(&r), number = rd_le64(&r);
		if (id == a->cfg.id && number >= a->since && number < a->number)
			return true;
	}
	return false;
}

/* A client leaves a session for another one only when nothing comes from the old one. */
static void
hear_welcome(struct auth *a, const struct arrival *p)
{
	uint8_t key[GMAC_KEY_BYTES];
	bool free = a->session == 0 || a->unanswered >= AUTH_UNANSWERED;

	if (p->h.session != 0 && p->h.session == a->session) {
		(void)take(a, p, true, a->session);
		return;
	}
	if (!free || p->h.session == 0 || !answers_us(a, p))
		return;
	if (!auth_derive(a, true, p->h.id, p->h.session, key) ||
	    !tag_is_right(a, &p->h, key, p->pkt, p->len)) {
		ignore(a, p, IGNORED_FORGED);
		return;
	}
	auth_forget_all(a);
	replay_take(
	    &auth_remember(a, true, p->h.id, key)->taken[p->h.port], p->h.number);
	a->session = p->h.session;
	a->since = a->number;
	a->unanswered = 0;
	a->welcomed = a->ignored.ever = true;
}

static const uint8_t *
open_sealed(struct auth *a, enum auth_port port, const struct arrival *p, size_t *n)
{
	bool server = p->h.kind == AUTH_SERVER;

	if (p->h.id == a->cfg.id)
		return NULL; /* a packet of our own, which came back */
	switch (p->h.kind) {
	case AUTH_HELLO:
		if (a->cfg.server)
			hear_hello(a, p);
		return NULL;
	case AUTH_WELCOME:
		if (!a->cfg.server)
			hear_welcome(a, p);
		return NULL;
	default:
		break;
	}
	/* The packet belongs to another session or another server, and is ignored. */
	if (a->session == 0 || p->h.session != a->session || p->h.port != port ||
	    (server && a->cfg.server) || !take(a, p, server, a->session))
		return NULL;
	*n = p->len - AUTH_HEADER_BYTES;
	return p->pkt + AUTH_HEADER_BYTES;
}

const uint8_t *
auth_open(struct auth *a, enum auth_port port, const uint8_t *pkt, size_t len,
    const uint8_t from[4], uint16_t from_port, size_t *n)
{
	struct arrival p = { .pkt = pkt, .len = len, .from = from, .from_port = from_port };
	bool sealed = is_sealed(pkt, len);
	bool whole = sealed && get_header(&p.h, pkt, len);

	*n = len;
	if (!auth_is_on(a)) {
		/* Two servers without a key need not answer each other's NONE. */
		if (sealed && !(whole && p.h.kind == AUTH_NONE))
			ignore(a, &p, IGNORED_SEALED);
		return sealed ? NULL : pkt;
	}
	if (!sealed || (whole && p.h.kind == AUTH_NONE))
		ignore(a, &p, IGNORED_PLAIN);
	else if (!whole)
		ignore(a, &p, IGNORED_FORGED);
	else if (p.h.key_id != a->key_id)
		ignore(a, &p, IGNORED_KEY);
	else
		return open_sealed(a, port, &p, n);
	return NULL;
}
