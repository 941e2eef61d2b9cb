/* client_join.c: joining the server, reading its answer about the image, with which
 * loading begins, and leaving it.  The engine calls this for such packets, in its
 * only thread. */
#include <string.h>

#include "frisbee/client/client_impl.h"

enum {
	/* With fewer buffers than this the extension is not offered: it is better to ask for
	 * one chunk after the other. */
	EXT_BUFFERS = 8,
	/* The first delays between JOINs are shorter, each half of the next one. */
	JOIN_SOON = 4,
};

/* Skip the chunks that a continued installation has already: they are never
 * requested. */
static void
leave_out(struct client *c)
{
	for (uint32_t i = 0; c->cfg.has != NULL && i < c->chunks.n; i++) {
		if (!c->cfg.has(c->cfg.has_arg, i))
			continue;
		client_chunks_take(&c->chunks, i, 0);
		client_chunks_done(&c->chunks, i);
		client_bufs_skip_chunk(&c->bufs);
	}
}

static void
start_loading(struct client *c, uint64_t now_us, uint32_t blocks)
{
	uint32_t n = (blocks - 1) / WIRE_CHUNK_BLOCKS + 1;

	client_position_begin(&c->position, n);
	if (client_chunks_init(&c->chunks, n, c->cfg.sequential, c->cfg.seed, now_us) !=
		0 ||
	    !client_bufs_make(
		&c->bufs, c->cfg.buffers < n ? c->cfg.buffers : n, c->cfg.in_order)) {
		client_membership_refuse(
		    &c->membership, "not enough memory for an image of this size");
		return;
	}
	client_counters_buffers(&c->counters, c->bufs.n);
	if (c->cfg.chunk0_first)
		client_chunks_prefer(&c->chunks, 0);
	leave_out(c);
	client_membership_load(&c->membership);
	client_requests_begin_image(&c->requests, now_us);
	client_schedule_now(&c->schedule, now_us);
}

static bool
may_extend(const struct client *c)
{
	return c->cfg.ext && !c->cfg.any_file && c->cfg.buffers >= EXT_BUFFERS;
}

/* An answer to JOIN, of either kind. */
struct answer {
	const char *bad; /* why it cannot be used; NULL: it can */
	uint32_t blocks;
	uint64_t bytes;
	const struct wirext_answer *ext; /* NULL: none */
};

static void
read_join(struct answer *a, uint32_t blocks)
{
	a->blocks = blocks;
	a->bytes = (uint64_t)blocks * WIRE_BLOCK_BYTES;
	if (blocks == 0)
		a->bad = "says that its image is empty";
	else if (blocks % WIRE_CHUNK_BLOCKS != 0)
		a->bad = "serves a file, not an image (its length is no multiple of "
			 "1 MiB): use -N";
}

/* Compute the number of blocks from that of bytes, because Emulab's server sends 0. */
static void
read_join2(struct answer *a, const struct wire_msg *m)
{
	const uint64_t max_bytes = (uint64_t)INT32_MAX * WIRE_BLOCK_BYTES;

	a->bytes = m->u.join2.image_bytes;
	if (m->u.join2.block_bytes != WIRE_BLOCK_BYTES ||
	    m->u.join2.chunk_blocks != WIRE_CHUNK_BLOCKS)
		a->bad = "uses other block or chunk sizes than 1024";
	else if (a->bytes == 0)
		a->bad = "says that its file is empty";
	else if (a->bytes > max_bytes)
		a->bad = "says that its file has more bytes than can be counted";
	else
		a->blocks = (uint32_t)((a->bytes - 1) / WIRE_BLOCK_BYTES + 1);
}

/* Read an answer.  Returns false if it is not for this client. */
static bool
read_answer(const struct client *c, const struct wire_msg *m,
    const struct wirext_answer *ext, struct answer *a)
{
	*a = (struct answer){ .ext = ext };
	if (m->subtype == WIRE_JOIN && !c->cfg.any_file) {
		read_join(a, m->u.join.blocks);
		return true;
	}
	if (m->subtype != WIRE_JOIN2 || m->u.join2.clientid != c->cfg.clientid)
		return false;
	if (c->cfg.any_file)
		read_join2(a, m);
	else
		a->bad = "serves a file, not an image: use -N";
	return true;
}

static const uint8_t *
identity_of(const struct answer *a)
{
	return a->ext != NULL ? a->ext->identity : NULL;
}

/* Load what its sender serves. */
static void
begin(struct client *c, uint64_t now_us, const struct answer *a, const uint8_t from[4])
{
	client_pin_set(&c->pin, now_us, from);
	client_pin_identify(&c->pin, identity_of(a));
	client_claim_forget(&c->claim);
	client_membership_answered(&c->membership, now_us, a->blocks, a->bytes);
	start_loading(c, now_us, a->blocks);
	/* This may be the answer to the JOIN of another client: an older JOIN of
	 * this client may have been sent before the server was there. */
	if (!c->cfg.any_file && !client_membership_is_fresh(&c->membership, now_us))
		client_membership_join_again(&c->membership);
	if (c->membership.state == CLIENT_LOADING && a->ext != NULL && may_extend(c))
		client_ext_begin(c, now_us, a->ext);
}

/* Is the answer about the image that is being loaded, as far as it says? */
static bool
same_image(const struct client *c, const struct answer *a)
{
	return a->bad == NULL && a->blocks == c->membership.blocks &&
	       a->bytes == c->membership.bytes &&
	       !client_pin_other_image(&c->pin, identity_of(a));
}

static bool
shell_has_chunks(const struct client *c)
{
	return c->bufs.nfree + c->bufs.nfilling + c->bufs.ncomplete < c->bufs.n;
}

void
client_hear_claim(
    struct client *c, uint64_t now_us, const uint8_t from[4], const char *why)
{
	bool joining = c->membership.state == CLIENT_JOINING;
	char text[sizeof c->membership.error];

	if (client_claim_hear(&c->claim, now_us, from, why, joining))
		client_membership_refuse(
		    &c->membership, client_claim_text(&c->claim, text, sizeof text));
}

uint64_t
client_ask_who_at_us(const struct client *c)
{
	uint64_t at = client_pin_ask_at_us(&c->pin);

	return at > c->membership.join_at_us ? at : c->membership.join_at_us;
}

/* Another sender answers, but too early to take the place of the pinned one. */
static void
ask_who_later(struct client *c, uint64_t now_us)
{
	uint64_t at = client_pin_lost_at_us(&c->pin);

	if (c->pin.proved && at > now_us && c->membership.join_at_us > at)
		client_membership_join_at(&c->membership, at);
}

/* Another sender of the image takes the pinned one's place. */
static void
take_over(
    struct client *c, uint64_t now_us, const struct answer *a, const uint8_t from[4])
{
	client_pin_set(&c->pin, now_us, from);
	client_claim_forget(&c->claim);
	client_membership_heard(&c->membership, now_us);
	client_ext_taken_over(c, now_us, a->ext);
}

/* Nothing has shown that the pinned sender is the server, and nothing was written yet. */
static bool
may_begin_anew(const struct client *c, const struct answer *a)
{
	return a->bad == NULL && !c->pin.proved && !shell_has_chunks(c);
}

/* The answer says more than that of the pinned sender did, which may be a neighbour that
 * leaves out by what it could be told from the server. */
static bool
says_more(const struct client *c, const struct answer *a)
{
	return a->ext != NULL && !c->pin.identified && may_extend(c);
}

static void
begin_anew(
    struct client *c, uint64_t now_us, const struct answer *a, const uint8_t from[4])
{
	client_drop_image(c);
	begin(c, now_us, a, from);
	client_membership_join_again(&c->membership);
}

/* A sender other than the pinned one answers, with the same image as far as is known.  If
 * it is certainly the same, it contradicts what the pinned one claims, if that claims
 * anything. */
static void
hear_same(
    struct client *c, uint64_t now_us, const struct answer *a, const uint8_t from[4])
{
	bool certain = client_pin_same_image(&c->pin, identity_of(a));

	if (certain)
		client_pin_rival(&c->pin, from);
	if (client_pin_may_move(&c->pin, now_us, from) ||
	    (certain && !c->pin.named && client_claim_pends(&c->claim)))
		take_over(c, now_us, a, from);
	else if (says_more(c, a) && may_begin_anew(c, a))
		begin_anew(c, now_us, a, from);
	else
		ask_who_later(c, now_us);
}

/* A sender other than the pinned one answers. */
static void
hear_another(
    struct client *c, uint64_t now_us, const struct answer *a, const uint8_t from[4])
{
	if (same_image(c, a)) {
		hear_same(c, now_us, a, from);
		return;
	}
	if (a->bad == NULL)
		client_pin_dispute(&c->pin, from);
	if (client_pin_may_move(&c->pin, now_us, from) && may_begin_anew(c, a))
		begin_anew(c, now_us, a, from);
}

void
client_hear_reply(struct client *c, uint64_t now_us, const struct wire_msg *m,
    const struct wirext_answer *ext, const uint8_t from[4])
{
	struct answer a;

	/* The reply to another client would suffice, but the server does not count a
	 * client that has not joined. */
	if (c->counters.wire.join_attempts == 0 || !read_answer(c, m, ext, &a))
		return;
	if (c->membership.state == CLIENT_JOINING && a.bad == NULL) {
		begin(c, now_us, &a, from);
	} else if (c->membership.state == CLIENT_JOINING) {
		client_hear_claim(c, now_us, from, a.bad);
	} else if (c->membership.state != CLIENT_LOADING) {
		return;
	} else if (!client_pin_hears(&c->pin, now_us, from)) {
		hear_another(c, now_us, &a, from);
	} else if (same_image(c, &a)) {
		if (ext != NULL)
			client_pin_identify(&c->pin, ext->identity);
		client_membership_heard(&c->membership, now_us);
		client_claim_deny(&c->claim, now_us);
		client_ext_answered(c, now_us, ext);
	} else {
		client_hear_claim(c, now_us, from, CLIENT_OTHER_IMAGE);
	}
}

/* A unicast server first sends a cookie and waits for it to be returned, to be sure
 * that the client has the address that its JOIN came from.  The reply that counts
 * has no cookie. */
bool
client_hear_cookie(struct client *c, uint64_t now_us, const void *pkt, size_t len)
{
	uint64_t cookie;

	if (!c->cfg.unicast || !wirext_get_cookie(pkt, len, &cookie))
		return false;
	client_membership_cookie(&c->membership, now_us, cookie);
	return true;
}

/* If many machines start together, they may all lose the one answer.  What the
 * server sends until they ask again is sent twice for the others, so the first
 * repetitions come soon. */
static uint64_t
join_delay_us(const struct client *c)
{
	unsigned n = c->counters.wire.join_attempts;

	return c->cfg.join_us >> (may_extend(c) && n < JOIN_SOON ? JOIN_SOON - n : 0);
}

size_t
client_put_join(struct client *c, uint64_t now_us, uint32_t flags, void *pkt)
{
	struct wire_msg m = { .type = WIRE_REQUEST };

	client_membership_joins(&c->membership, now_us, join_delay_us(c));
	client_counters_join(&c->counters);
	memcpy(m.srcip, c->cfg.srcip, 4);
	if (c->cfg.any_file) {
		m.subtype = WIRE_JOIN2;
		m.u.join2.clientid = c->cfg.clientid;
		m.u.join2.chunk_blocks = WIRE_CHUNK_BLOCKS;
		m.u.join2.block_bytes = WIRE_BLOCK_BYTES;
	} else {
		m.subtype = WIRE_JOIN;
		m.u.join.clientid = c->cfg.clientid;
	}
	size_t len = wire_put(&m, pkt, WIRE_PACKET_MAX);
	if (may_extend(c))
		len = wirext_put_offer(pkt, len, WIRE_PACKET_MAX,
		    flags | (c->cfg.parity ? WIREXT_CAN_PARITY : 0) |
			(c->cfg.buffers < CLIENT_INTERLEAVE_BUFFERS
				? WIREXT_NO_INTERLEAVING
				: 0));
	else if (c->cfg.unicast)
		len = wirext_put_cookie(
		    pkt, len, WIRE_PACKET_MAX, c->membership.cookie);
	return len;
}

size_t
client_put_first_join(struct client *c, uint64_t now_us, void *pkt)
{
	return client_put_join(c, now_us, client_wants_all(c) ? 0 : WIREXT_AGAIN, pkt);
}

size_t
client_join_output(struct client *c, uint64_t now_us, void *pkt)
{
	return now_us < c->membership.join_at_us
	           ? 0
	           : client_put_first_join(c, now_us, pkt);
}

void
client_finish(struct client *c, uint64_t now_us, const struct wire_stats *shell_part)
{
	client_counters_end(&c->counters, now_us - c->membership.start_us, shell_part);
	client_membership_leave(&c->membership);
}

size_t
client_put_leave(struct client *c, void *pkt)
{
	struct wire_msg m = { .type = WIRE_REQUEST, .subtype = WIRE_LEAVE2 };

	memcpy(m.srcip, c->cfg.srcip, 4);
	m.u.leave2.clientid = c->cfg.clientid;
	m.u.leave2.elapsed_s = c->counters.wire.run_s;
	m.u.leave2.stats = c->counters.wire;
	client_membership_left(&c->membership);
	size_t len = wire_put(&m, pkt, WIRE_PACKET_MAX);
	/* Older servers need not know this. */
	return c->session.known || c->membership.cookie != 0
	           ? wirext_put_outcome(pkt, len, WIRE_PACKET_MAX, c->membership.whole)
	           : len;
}

void
client_set_outcome(struct client *c, bool whole)
{
	client_membership_outcome(&c->membership, whole);
}
