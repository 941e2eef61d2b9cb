/* session_stats.h: what a session's frisbeed says of itself in its file of statistics
 * (frisbeed(8), section STATISTICS), for mfrisbeed and for the controller. */
#ifndef MFRISBEED_MASTER_SESSION_STATS_H
#define MFRISBEED_MASTER_SESSION_STATS_H

#include "mfrisbeed/master/history.h"

enum { SESSION_STATS_MAP_BYTES = 1025 };

struct session_stats {
	bool serves;   /* the session could be opened; it may have ended since */
	uint16_t port; /* `serves` */
	uint64_t bytes; /* of a parent's image, as the parent says; 0: it is not one */
	int64_t mtime;  /* likewise */
	uint32_t clients_known, clients_done;
	uint64_t chunks, blocks_sent, blocks_resent;
	double rate;       /* bits a second */
	double share_lost; /* the mean of its clients that say how far they are */
	char chunk_map[SESSION_STATS_MAP_BYTES]; /* hexadecimal digits */
	struct err err; /* why it has failed; ERR_NONE: it has not */
};

/* One client, and its last load that has ended. */
struct session_stats_client {
	uint8_t ip[4];
	uint32_t ending; /* number of that load among those of the session; 0: none */
	enum history_outcome how;
	uint64_t began_us, ended_us; /* clock_us() */
	uint32_t seconds;     /* as the client said; 0: it did not */
	uint64_t bytes_written;
	bool loading;           /* another load runs */
	uint64_t loading_since_us, heard_us;
	bool progresses; /* it says how far it is: */
	double progress, rate, share_lost, seconds_left, silence_s;
	bool slow_link, slow_disk;
};

/* Reads a text[bytes], and calls client() for each client.  ERR_FORMAT: it is no such document;
 * ERR_NOMEM. */
int session_stats_parse(const char *text, size_t bytes, struct session_stats *,
    void (*client)(void *arg, const struct session_stats_client *), void *arg, struct err *);
/* Reads the file, and calls client() for each client.  ERR_ABSENT: there is none yet;
 * ERR_FORMAT; ERR_IO; ERR_NOMEM. */
int session_stats_read(const char *path, struct session_stats *,
    void (*client)(void *arg, const struct session_stats_client *), void *arg, struct err *);

#endif /* MFRISBEED_MASTER_SESSION_STATS_H */
