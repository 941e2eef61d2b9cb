/* shapes.c: what the controller knows, as JSON (shapes.h).  answer.c and events.c call this, in the
 * program's first thread. */
#include "controller/http/shapes.h"

#include <stdio.h>

#include "common/base/zero.h"
#include "common/wire/addr.h"
#include "controller/http/wish.h"

/* Seconds since 1970. */
static uint64_t
whole(double s)
{
	return s > 0 && s < 1e15 ? (uint64_t)s : 0;
}

static void
put_view(struct json *j, const struct swap_node *n)
{
	const struct swap_view *v = &n->view;

	json_double(j, "progress", swap_node_progress(n));
	if (!n->viewed || !swap_shows_view(n->phase))
		return;
	json_double(j, "rate_bits_per_s", v->rate_bits_per_s);
	json_double(j, "seconds_left", v->seconds_left);
	if (!swap_receives(n->phase))
		return;
	json_double(j, "share_lost", v->share_lost);
	json_double(j, "silence_s", v->silence_s);
	if (v->slow != SWAP_NOT_SLOW)
		json_string(j, "slow", v->slow == SWAP_SLOW_LINK ? "link" : "disk");
}

static void
put_times(struct json *j, const struct swap_node *n)
{
	json_object(j, "phases");
	for (int p = SWAP_BOOTING; p <= SWAP_REBOOTING; p++)
		if (n->took_s[p] >= 0)
			json_double(j, swap_phase_name((enum swap_phase)p), n->took_s[p]);
	json_end(j);
	double usable_s = swap_after_s(n, SWAP_USABLE), done_s = swap_after_s(n, SWAP_DONE);
	if (usable_s >= 0)
		json_double(j, "usable_after_s", usable_s);
	if (done_s >= 0)
		json_double(j, "done_after_s", done_s);
}

static void
put_membership(struct json *j, const struct swap *w, const struct swap_node *n)
{
	const struct swap_session *s = swap_find_session(w, n->session);

	if (n->session == 0)
		return;
	json_uint(j, "session", n->session);
	if (s != NULL)
		json_string(j, "image", s->image);
	json_uint(j, "since", whole(n->since_s));
	json_uint(j, "try", n->tries);
	put_view(j, n);
	if (n->words[0] != '\0')
		json_string(j, "last_words", n->words);
	put_times(j, n);
}

void
shapes_node(struct json *j, const char *key, const struct swap *w, const struct swap_node *n)
{
	const uint8_t *m = n->mac;
	char mac[18], ip[ADDR_TEXT_MAX];

	snprintf(mac, sizeof mac, "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5]);
	json_object(j, key);
	json_string(j, "name", n->name);
	json_string(j, "mac", mac);
	if (swap_by_smbios(n))
		json_string(j, "smbios", n->smbios);
	if (!is_zero(n->ip, 4))
		json_string(j, "address", addr_text(n->ip, ip));
	json_string(j, "phase", swap_phase_name(n->phase));
	put_membership(j, w, n);
	json_end(j);
}

/* Adds those members of what mfrisbeed has said that are texts, and numbers. */
static void
put_texts(struct json *j, const struct jtree *said, const char *const *keys)
{
	for (; *keys != NULL; keys++)
		if (jtree_text(jtree_get(said, *keys)) != NULL)
			json_string(j, *keys, jtree_text(jtree_get(said, *keys)));
}

static void
put_wholes(struct json *j, const struct jtree *said, const char *const *keys)
{
	uint64_t n;

	for (; *keys != NULL; keys++)
		if (jtree_whole(jtree_get(said, *keys), &n))
			json_uint(j, *keys, n);
}

static void
put_doubles(struct json *j, const struct jtree *said, const char *const *keys)
{
	for (; *keys != NULL; keys++)
		if (jtree_is(jtree_get(said, *keys)) == JTREE_NUMBER)
			json_double(j, *keys, jtree_number(jtree_get(said, *keys), 0));
}

void
shapes_member(struct json *j, const struct jtree *node)
{
	const struct jtree *phases = jtree_get(node, "phases");

	json_object(j, NULL);
	put_texts(j, node, (const char *const[]){ "name", "mac", "smbios", "address", "phase", "image", "last_words", NULL });
	put_wholes(j, node, (const char *const[]){ "session", "since", "try", NULL });
	put_doubles(j, node, (const char *const[]){ "progress", "usable_after_s", "done_after_s", NULL });
	json_object(j, "phases");
	for (int p = SWAP_BOOTING; p <= SWAP_REBOOTING; p++)
		put_doubles(j, phases, (const char *const[]){ swap_phase_name((enum swap_phase)p), NULL });
	json_end(j);
	json_end(j);
}

static void
put_image(struct json *j, const struct jtree *image)
{
	json_object(j, NULL);
	put_texts(j, image, (const char *const[]){ "name", "version", "store", NULL });
	put_wholes(j, image, (const char *const[]){ "bytes", "modified", NULL });
	json_end(j);
}

struct json *
shapes_images(const struct images *x)
{
	const struct jtree *all = jtree_get(x->said, "images");
	struct json *j = json_new();

	json_one_line(j);
	json_object(j, NULL);
	json_array(j, "images");
	for (size_t i = 0; i < jtree_count(all); i++)
		put_image(j, jtree_at(all, i));
	json_end(j);
	if (x->why[0] != '\0')
		json_string(j, "away", x->why);
	else
		put_texts(j, x->said, (const char *const[]){ "away", NULL });
	json_end(j);
	return j;
}

static void
put_counts(struct json *j, const struct swap_session *s)
{
	json_object(j, "nodes");
	json_uint(j, "total", s->total);
	for (int p = SWAP_BOOTING; p < SWAP_PHASES; p++)
		json_uint(j, swap_phase_name((enum swap_phase)p), s->count[p]);
	json_end(j);
	json_double(j, "share_deployed", s->total > 0 ? (double)s->count[SWAP_DONE] / s->total : 0);
}

static void
put_measure(struct json *j, const char *key, const struct swap_measure *m)
{
	if (m->n == 0)
		return;
	json_object(j, key);
	json_uint(j, "nodes", m->n);
	json_double(j, "median_s", m->median_s);
	json_double(j, "worst_s", m->worst_s);
	json_string(j, "worst", m->worst);
	json_end(j);
}

static void
put_phases(struct json *j, const struct swap_session *s)
{
	json_object(j, "phases");
	for (int p = SWAP_BOOTING; p <= SWAP_REBOOTING; p++)
		put_measure(j, swap_phase_name((enum swap_phase)p), &s->took[p]);
	json_end(j);
	put_measure(j, "usable_after", &s->usable_after);
	put_measure(j, "done_after", &s->done_after);
}

static void
put_server(struct json *j, const struct swap_session *s)
{
	const struct swap_server *v = &s->server;
	char group[ADDR_TEXT_MAX], address[32];
	bool runs = s->serves;

	if (!runs && !v->known)
		return;
	json_object(j, "server");
	json_bool(j, "running", runs);
	if (runs) {
		snprintf(address, sizeof address, "%s:%u", addr_text(s->group, group), s->port);
		json_string(j, "address", address);
	}
	if (v->known) {
		json_uint(j, "chunks", v->chunks);
		if (runs)
			json_uint(j, "rate_bits_per_s", v->rate_bits_per_s);
		json_uint(j, "blocks_sent", v->blocks_sent);
		json_uint(j, "blocks_resent", v->blocks_resent);
		json_double(j, "share_lost", v->share_lost);
	}
	if (v->known && v->chunk_map[0] != '\0')
		json_string(j, "chunk_map", v->chunk_map);
	json_end(j);
}

/* Adds the time that is left for the node that needs longest. */
static void
put_left(struct json *j, const struct swap *w, const struct swap_session *s)
{
	double most = -1;

	for (unsigned i = 0; s->nodes != NULL && i < s->total; i++) {
		const struct swap_node *n = &w->nodes[s->nodes[i]];
		if (swap_shows_view(n->phase) && n->viewed && n->view.seconds_left > most)
			most = n->view.seconds_left;
	}
	if (most >= 0)
		json_double(j, "seconds_left", most);
}

void
shapes_session(struct json *j, const char *key, const struct swap *w,
    const struct swap_session *s, struct swap_now now)
{
	bool runs = s->state == SWAP_IS_RUNNING;

	json_object(j, key);
	json_uint(j, "id", s->id);
	json_string(j, "image", s->image);
	json_string(j, "nodes_text", s->asked);
	json_string(j, "state", swap_state_name(s->state));
	json_bool(j, "stream", s->stream);
	json_bool(j, "capture", s->capture);
	if (s->capture && runs)
		json_uint(j, "rate_bits_per_s", s->server.rate_bits_per_s);
	json_uint(j, "began", whole(s->began_s));
	if (!runs)
		json_uint(j, "ended", whole(s->ended_s));
	json_double(j, "seconds", swap_seconds(s, now));
	json_uint(j, "timeout_s", s->timeout_s);
	json_uint(j, "tries", s->tries);
	wish_sending(j, &s->sending);
	put_counts(j, s);
	json_double(j, "progress", swap_progress(w, s));
	put_left(j, w, s);
	put_server(j, s);
	put_phases(j, s);
	json_string(j, "last_words", s->last);
}

void
shapes_samples(struct json *j, const struct swap_session *s)
{
	json_array(j, "samples");
	for (unsigned i = 0; i < s->nsamples; i++) {
		const struct swap_sample *at = &s->samples[i];
		json_array(j, NULL);
		json_double(j, NULL, at->at_s);
		json_double(j, NULL, at->rate_bits_per_s);
		json_double(j, NULL, at->share_lost);
		json_double(j, NULL, at->progress);
		json_end(j);
	}
	json_end(j);
}

void
shapes_address(const struct jtree *session, char address[SHAPES_ADDRESS_BYTES])
{
	const char *group = jtree_text(jtree_get(session, "group"));
	uint64_t port = 0;

	(void)jtree_whole(jtree_get(session, "port"), &port);
	snprintf(address, SHAPES_ADDRESS_BYTES, "%.15s:%u", group != NULL ? group : "", (unsigned)port);
}

void
shapes_sent(struct json *j, const struct jtree *session)
{
	char address[SHAPES_ADDRESS_BYTES];

	shapes_address(session, address);
	json_object(j, NULL);
	put_texts(j, session, (const char *const[]){ "name", "state", NULL });
	json_string(j, "address", address);
	json_uint(j, "holders", jtree_count(jtree_get(session, "holders")));
	put_wholes(j, session, (const char *const[]){ "clients_known", "clients_done", "blocks_sent", NULL });
	json_double(j, "rate_bits_per_s", jtree_number(jtree_get(session, "rate_bits_per_s"), 0));
	json_end(j);
}
