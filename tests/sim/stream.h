/* stream.h: a link that carries streams in virtual time, as TCP does: a host sends at a rate, and
 * what it has sent arrives after a delay, in its order; only a window of it is on its way or not
 * read yet.  A stream may end, and be mute in one direction.  It knows no engine and no clock: its
 * user adds an event for each time that is returned (heap.h). */
#ifndef TESTS_SIM_STREAM_H
#define TESTS_SIM_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { STREAM_DELAY_US = 100 };

/* Of a host: what it sends on all its streams, one after the other. */
struct stream_line {
	uint64_t us_a_kb;
	uint64_t free_us; /* it is busy until then */
};

struct stream_packet {
	struct stream_packet *next;
	size_t n;
	uint8_t bytes[];
};

/* One direction of a stream; its user sets the window.  All else zeros: nothing was sent. */
struct stream_way {
	size_t window, under_way; /* bytes */
	bool mute;                /* nothing leaves */
	struct stream_packet *unread, *last; /* that have arrived */
};

/* A packet that is empty, and has room for so many bytes. */
static inline struct stream_packet *
stream_packet_new(size_t room)
{
	struct stream_packet *k = malloc(sizeof *k + room);

	if (k == NULL)
		abort();
	k->next = NULL;
	k->n = 0;
	return k;
}

/* Is there room in the window, beside `more` bytes? */
static inline bool
stream_has_room(const struct stream_way *w, size_t more)
{
	return !w->mute && w->under_way + more < w->window;
}

static inline uint64_t
stream_free_us(const struct stream_line *l, uint64_t now_us)
{
	return l->free_us > now_us ? l->free_us : now_us;
}

/* Sends n bytes, which keep the line busy as long as `as` bytes do.  Returns when they arrive. */
static inline uint64_t
stream_send(struct stream_line *l, struct stream_way *w, size_t n, size_t as, uint64_t now_us)
{
	l->free_us = stream_free_us(l, now_us) + as * l->us_a_kb / 1024;
	w->under_way += n;
	return l->free_us + STREAM_DELAY_US;
}

/* The host ends a stream.  Returns when the other end notices: behind all that was sent. */
static inline uint64_t
stream_end(const struct stream_line *l, uint64_t now_us)
{
	return stream_free_us(l, now_us) + STREAM_DELAY_US;
}

/* A packet has arrived, and is the way's now. */
static inline void
stream_arrived(struct stream_way *w, struct stream_packet *k)
{
	if (w->unread == NULL)
		w->unread = k;
	else
		w->last->next = k;
	w->last = k;
}

/* Takes the next packet that has arrived; there must be one.  It is the caller's. */
static inline struct stream_packet *
stream_take(struct stream_way *w)
{
	struct stream_packet *k = w->unread;

	w->unread = k->next;
	w->under_way -= k->n;
	return k;
}

/* Releases what was not read. */
static inline void
stream_forget(struct stream_way *w)
{
	while (w->unread != NULL)
		free(stream_take(w));
}

#endif /* TESTS_SIM_STREAM_H */
