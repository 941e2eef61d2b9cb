/* tally.c: sums the statistics of a session's engines (tally.h).  Streams add to a tally in their
 * own threads, serve_stats.c reads it in any; a lock keeps the sums consistent. */
#include "frisbeed/serve/tally.h"

#include <string.h>

void
tally_init(struct tally_box *b)
{
	memset(b, 0, sizeof *b);
	pthread_mutex_init(&b->lock, NULL);
}

void
tally_fini(struct tally_box *b)
{
	pthread_mutex_destroy(&b->lock);
}

/* Differences and sums wrap, so a value that goes down is still summed rightly. */
static void
add_server(
    struct server_stats *a, const struct server_stats *b, const struct server_stats *c)
{
	a->joins += b->joins - c->joins;
	a->leaves += b->leaves - c->leaves;
	a->requests += b->requests - c->requests;
	a->prequests += b->prequests - c->prequests;
	a->bad_packets += b->bad_packets - c->bad_packets;
	a->blocks_requested += b->blocks_requested - c->blocks_requested;
	a->blocks_already_pending += b->blocks_already_pending -
	                             c->blocks_already_pending;
	a->blocks_sent += b->blocks_sent - c->blocks_sent;
	a->bytes_sent += b->bytes_sent - c->bytes_sent;
	a->blocks_resent += b->blocks_resent - c->blocks_resent;
	a->blocks_lost += b->blocks_lost - c->blocks_lost;
	a->clients += b->clients - c->clients;
	a->wants += b->wants - c->wants;
	a->nacks += b->nacks - c->nacks;
	a->credits += b->credits - c->credits;
	a->parity_sent += b->parity_sent - c->parity_sent;
	a->urgent_sent += b->urgent_sent - c->urgent_sent;
	a->data_packets_sent += b->data_packets_sent - c->data_packets_sent;
	a->blocks_left_out += b->blocks_left_out - c->blocks_left_out;
	a->mtu_acks += b->mtu_acks - c->mtu_acks;
	a->proactive += b->proactive - c->proactive;
	a->congestions += b->congestions - c->congestions;
	a->rate_reductions += b->rate_reductions - c->rate_reductions;
	/* The clients of one engine may have come and gone between two of its calls. */
	if (a->clients_max < b->clients_max)
		a->clients_max = b->clients_max;
	if (a->clients_max < a->clients)
		a->clients_max = a->clients;
}

static void
add(struct tally *sum, const struct tally *now, const struct tally *before)
{
	add_server(&sum->server, &now->server, &before->server);
	sum->stalls += now->stalls - before->stalls;
	sum->limit += now->limit - before->limit;
	sum->rate += now->rate - before->rate;
}

void
tally_add(struct tally_box *b, const struct tally *now, const struct tally *before)
{
	pthread_mutex_lock(&b->lock);
	add(&b->sum, now, before);
	pthread_mutex_unlock(&b->lock);
}

struct tally
tally_get(struct tally_box *b)
{
	pthread_mutex_lock(&b->lock);
	struct tally t = b->sum;
	pthread_mutex_unlock(&b->lock);
	return t;
}

struct tally
tally_sample(struct tally_box *b, uint64_t now_us)
{
	pthread_mutex_lock(&b->lock);
	uint64_t packets = tally_all_packets(&b->sum);
	if (b->rate_us != 0 && now_us > b->rate_us)
		b->sum.rate = (uint64_t)((double)(packets - b->rate_blocks) *
					 WIRE_BLOCK_COST_BITS * 1e6 /
					 (double)(now_us - b->rate_us));
	b->rate_us = now_us;
	b->rate_blocks = packets;
	struct tally t = b->sum;
	pthread_mutex_unlock(&b->lock);
	return t;
}

void
tally_sum(struct tally *sum, const struct tally *t)
{
	static const struct tally none;

	add(sum, t, &none);
}
