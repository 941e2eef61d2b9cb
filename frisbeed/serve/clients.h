/* clients.h: a table of what is known of the clients of one session, for statistics only.
 *
 * There is a row for each address (and port, when each client is answered at its own).
 * When the table is full, the row of the client heard longest ago is replaced; rows of
 * clients that never asked for anything are replaced first, so that packets from strangers
 * cost no memory.  Any thread may call these functions.
 */
#ifndef FRISBEED_SERVE_CLIENTS_H
#define FRISBEED_SERVE_CLIENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clients;

/* What a client does, as far as the server can know; in the order of how much its operator
 * has to care. */
enum client_doing {
	CLIENT_DOING_GONE,      /* silent for so long that it counts as dead */
	CLIENT_DOING_FAILED,    /* it left, and said that its disk is not complete */
	CLIENT_DOING_ASIDE,     /* it alone complains, and the rate is not lowered for it */
	CLIENT_DOING_SLOW_LINK, /* it lacks much of what is sent */
	CLIENT_DOING_SLOW_DISK, /* its memory for chunks is full */
	CLIENT_DOING_LOADING,
	CLIENT_DOING_FLUSHING, /* it has received everything, and is writing it */
	CLIENT_DOING_LEFT,     /* a base-protocol client, which does not say how it ended */
	CLIENT_DOING_DONE,
};

/* How a load of a client has ended. */
struct client_ending {
	enum client_doing how; /* CLIENT_DOING_DONE, _FAILED, _LEFT or _GONE */
	uint64_t began_us, ended_us;
	/* What the client said when it left; 0 when it is gone. */
	uint64_t bytes_written;
	uint32_t seconds;
};

struct client_row {
	uint8_t ip[4];
	uint16_t port; /* 0: the client is served at the session's port */
	uint64_t first_us, heard_us;
	uint64_t began_us; /* when it came, or joined again after a load had ended */
	uint32_t ending;   /* number of its last ended load among those of the session; 0: none */
	struct client_ending last; /* how that load ended, also when another one runs by now */
	uint64_t messages, joins, blocks_lost;
	uint64_t sent_before; /* blocks that the session had sent before the client came */
	uint64_t blocks, of;  /* blocks that it has, and blocks of the image; of 0: not known */
	uint64_t told_us;     /* when it last said how far it is */
	uint8_t doing;        /* enum wirext_doing, as it said; 0: it did not say */
	bool extension, left, gone;
	bool lapsed; /* it was gone, and has not joined again since */
	bool outcome_known, whole; /* its LEAVE2 said how it ended; whole: with the whole image */
	bool aside;                /* the server does not heed its complaints */
	double share_received; /* with aside: the share of the sent blocks it receives,
	                          0..1 */
	/* The numbers of its LEAVE2, which all clients send. */
	bool told; /* a LEAVE2 came */
	uint64_t bytes_written;
	uint32_t seconds, stalls, dropped, duplicates;
};

/* Makes a table for at most rows_max clients.  NULL: no memory. */
struct clients *clients_new(uint32_t rows_max);
/* Releases the table.  NULL is allowed. */
void clients_free(struct clients *);
/* The session has heard a packet.  Packets that are not from clients are ignored.
 * sent: how many blocks the session has sent so far. */
void clients_heard(struct clients *, uint64_t now_us, const void *pkt, size_t len,
    const uint8_t from[4], uint16_t port, uint64_t sent);
/* A client that is served alone has `blocks` of the `of` blocks of the image. */
void clients_progress(
    struct clients *, const uint8_t ip[4], uint16_t port, uint64_t blocks, uint64_t of);
/* The image has this number of chunks; clients say how many of them they have. */
void clients_image(struct clients *, uint32_t chunks);
/* The engine has forgotten the clients of this address, which were silent. */
void clients_gone(struct clients *, const uint8_t ip[4]);
/* Notes which clients the engine has set aside.  is() is called for each client: it returns
 * whether the client is set aside, and sets the share of the sent blocks that this client
 * receives. */
void clients_aside(struct clients *,
    bool (*is)(void *arg, const uint8_t ip[4], double *share_received), void *arg);
/* Copies up to max rows, the clients heard last first.  Returns the number of copied rows; *total
 * is the number of all rows. */
uint32_t clients_copy(
    struct clients *, struct client_row *rows, uint32_t max, uint32_t *total);
/* How many clients are known, and how many have said last that they are complete: one whose next
 * load fails is not any more.  Complete clients for which the table has no room any more count as
 * both. */
void clients_count(struct clients *, uint32_t *known, uint32_t *done);
/* Has any client asked for something that neither left nor is gone?  Clients of streams of their
 * own (--unicast) do not count. */
bool clients_are_loading(struct clients *);
/* What the client does now.  sent: the number of blocks that the session has sent so far. */
enum client_doing client_row_doing(const struct client_row *, uint64_t sent);
/* The name of the state for tables and logs: a constant. */
const char *client_doing_name(enum client_doing);
/* Blocks a second that the client got since it came, and seconds until it is complete at that
 * rate; 0: not known. */
double client_row_rate(const struct client_row *);
double client_row_seconds_left(const struct client_row *);
/* The share of the blocks sent since the client came that it has lost: 0..1. */
double client_row_loss(const struct client_row *, uint64_t sent);

#endif /* FRISBEED_SERVE_CLIENTS_H */
