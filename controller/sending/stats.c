/* stats.c: reads frisbeed's statistics (stats.h) with jtree.h.  servers.c calls this, in the
 * program's first thread. */
#include "controller/sending/stats.h"

#include <string.h>

#include "common/base/jtree.h"
#include "common/wire/addr.h"

/* A number that is not negative, or 0. */
static double
number(const struct jtree *o, const char *key)
{
	double v = jtree_number(jtree_get(o, key), 0);

	return v > 0 && v < 1e18 ? v : 0;
}

static double
share(const struct jtree *o, const char *key)
{
	double v = number(o, key);

	return v < 1 ? v : 1;
}

static enum swap_slow
slow_of(const char *state)
{
	if (state == NULL)
		return SWAP_NOT_SLOW;
	return strcmp(state, "slow link") == 0 || strcmp(state, "set aside") == 0 ? SWAP_SLOW_LINK
	       : strcmp(state, "slow disk") == 0                                ? SWAP_SLOW_DISK
	                                                                          : SWAP_NOT_SLOW;
}

/* Returns the client's share of lost packets, or -1 when nothing is known of it. */
static double
read_client(const struct jtree *c, void (*view)(void *, const uint8_t ip[4], const struct swap_view *),
    void *arg)
{
	const char *address = jtree_text(jtree_get(c, "address"));
	uint8_t ip[4];
	struct err ignored;
	struct swap_view v;

	if (address == NULL || addr_parse(address, ip, &ignored) != 0 ||
	    jtree_is(jtree_get(c, "progress")) != JTREE_NUMBER)
		return -1;
	memset(&v, 0, sizeof v); /* it is compared as bytes */
	v.progress = share(c, "progress");
	v.rate_bits_per_s = number(c, "rate_bits_per_s");
	v.share_lost = share(c, "share_lost");
	v.seconds_left = number(c, "seconds_left");
	v.silence_s = number(c, "silence_s");
	v.slow = slow_of(jtree_text(jtree_get(c, "state")));
	view(arg, ip, &v);
	return v.share_lost;
}

static void
read_map(const struct jtree *s, char map[1025])
{
	const char *text = jtree_text(jtree_get(s, "chunk_map"));
	size_t n = text != NULL ? strlen(text) : 0;

	if (n < 1025 && n > 0 && strspn(text, "0123456789abcdef") == n)
		memcpy(map, text, n + 1);
}

static void
read_session(const struct jtree *s, struct swap_server *out,
    void (*view)(void *, const uint8_t ip[4], const struct swap_view *), void *arg)
{
	const struct jtree *clients = jtree_get(s, "clients");
	double lost = 0;
	unsigned n = 0;

	*out = (struct swap_server){ .known = true };
	out->chunks = (uint64_t)number(s, "chunks");
	out->blocks_sent = (uint64_t)number(s, "blocks_sent");
	out->blocks_resent = (uint64_t)number(s, "blocks_resent");
	out->rate_bits_per_s = (uint64_t)number(s, "rate_bits_per_s");
	read_map(s, out->chunk_map);
	for (size_t i = 0; i < jtree_count(clients); i++) {
		double one = read_client(jtree_at(clients, i), view, arg);
		if (one >= 0)
			lost += one, n++;
	}
	out->share_lost = n > 0 ? lost / n : 0;
}

int
stats_read(const char *text, size_t bytes, struct swap_server *out,
    void (*view)(void *arg, const uint8_t ip[4], const struct swap_view *), void *arg,
    struct err *e)
{
	struct jtree *all;

	if (bytes > STATS_BYTES_MAX)
		return err_set(e, ERR_FORMAT, "more than %d bytes of statistics", STATS_BYTES_MAX);
	if (jtree_read(&all, text, bytes, e) != 0)
		return -1;
	const struct jtree *s = jtree_at(jtree_get(all, "sessions"), 0);
	if (s != NULL)
		read_session(s, out, view, arg);
	jtree_free(all);
	return s != NULL ? 0 : err_set(e, ERR_FORMAT, "that is not frisbeed's statistics");
}
