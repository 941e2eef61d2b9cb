/* load.h: a load as a value: it puts an image that a server sends into a sink, in a thread of its
 * own.  One process may have several loads at once.
 *
 *	load_start()	opens all that the load needs, and begins
 *	load_stats()	tells what the load does now
 *	load_urgent()	asks for a chunk of the image that is needed now
 *	load_read()	asks for blocks that are needed now, even before they are proved
 *	load_fd()	gives a descriptor that is readable when the load has ended
 *	load_stop()	makes the load end early
 *	load_end()	waits for the end of the load, says how it ended, and frees it
 *
 * Any thread may call any of these functions; load_start() is the first call for a load, and
 * load_end() the last.  A load works for the owner of the thread that starts it (cancel.h): a
 * signal to that owner ends it as load_stop() does.  Either way the server is told that this
 * client leaves. */
#ifndef FRISBEE_LOAD_LOAD_H
#define FRISBEE_LOAD_LOAD_H

#include "common/image/format/opener.h"
#include "common/image/read/sink.h"
#include "common/net/sock.h"
#include "common/wire/wire.h"
#include "frisbee/client/client.h"

/* What a load is doing. */
enum load_state {
	LOAD_WAITING, /* it waits for a server */
	LOAD_LOADING,
	LOAD_DISK_BOUND, /* all chunk buffers wait to be written */
	LOAD_FLUSHING,   /* everything was received, and is being written */
};

/* The statistics of one load, all taken at one moment. */
struct load_stats {
	enum load_state state;
	bool done;      /* the whole image is installed */
	double seconds; /* from the beginning of the load until its end, or until now */
	struct sink_sum sum; /* what the sink has done; all zero until the load has ended */
	struct wire_stats stats; /* of the engine; the server gets them at the end */
	uint32_t chunks;           /* of the image; 0: no server has answered yet */
	uint32_t rejoins;          /* times the group was joined again, because nothing came */
	bool gave_up;              /* it ended because of silence_us */
	bool extension;            /* a second port was used */
	uint64_t blocks_not_requested; /* blocks not asked for, because of skip_same */
	uint64_t parity_used, parity_unused;
	uint64_t blocks_left_out; /* blocks of empty ends of chunks, which are never sent */
	uint64_t blocks_damaged;  /* damaged blocks, which were asked for again */
	uint32_t chunks_complete;
	/* Chunks that came.  When only some partitions are wanted, not all chunks come; a
	 * damaged chunk may come twice. */
	uint32_t chunks_received;
	uint64_t packets; /* packets received */
	/* Another server of the group that says that it serves another image. */
	bool has_other_server;
	uint8_t other_server[4];
	/* The number of times, of a second and more, in which no packet came before everything
	 * was received, and the sum of these times. */
	uint64_t stalls, stalled_us;
};

/* load_start() copies the struct and the key.  Strings, and everything else that pointers in
 * it lead to, stay the caller's and must exist until load_end(). */
struct load_config {
	/* Where the image comes from.  load_start() itself sets share_port and connected.  For
	 * unicast this is the server's address and its one port. */
	struct sock_config net;
	const uint8_t *key;    /* the key of the group, AUTH_KEY_BYTES; NULL: none */
	uint64_t keepalive_us; /* the group is joined again at this interval; 0: the default */
	bool has_server;       /* only packets from `server` count */
	uint8_t server[4];

	/* How it is loaded. */
	bool base;       /* use only the base protocol, which old servers speak */
	bool unicast;    /* from a server that answers this client alone */
	bool sequential; /* chunks are asked for in order, not at random */
	uint32_t buffers;         /* chunk buffers, of 1 MiB each; 0: the default, 64 */
	uint32_t readahead;       /* chunks that are asked for ahead; 0: the default, 2 */
	uint64_t redo_us;         /* time before blocks are asked for again; 0: default, 1 s */
	uint64_t silence_us;      /* it gives up after this time without a packet; 0: never */
	uint64_t reader_silence_us; /* of source_of_load() alone: see there */
	uint64_t start_delay_us;  /* the load first waits for a random time below this */

	/* What is demanded of the chunks. */
	bool any_file;       /* the file is no image: nothing can be demanded */
	bool keep_encrypted; /* encrypted chunks are accepted when there is no key for them */
	struct opener_config opener;

	/* Opens the sink.  load_start() calls this in its caller's thread.  The sink's threads
	 * should work for the owner that this thread has during the call (cancel.h), and give
	 * way to the network, which must not wait.  load_into() sets the usual sinks. */
	int (*open)(void *open_arg, struct sink *, struct err *);
	void *open_arg;
	uint64_t write_mb; /* MiB that the sink may keep in memory; the server is told so */

	/* These are called in the load's thread, between load_start() and the end of
	 * load_end(), and should return soon.  A callback that is NULL is not called. */
	/* Called once a second with the statistics. */
	void (*tick)(void *arg, const struct load_stats *);
	/* Called often: how far the load is, in bytes of the image; total 0: not known yet. */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	/* Called with a sentence of what the user should know of the network. */
	void (*say)(void *arg, const char *sentence);
	/* Called when a server has answered, with what it says of its image, before any of the
	 * image is written.  Called once more when the first answer turned out to be wrong,
	 * before anything was written. */
	void (*image)(void *arg, const struct client_image *);
	/* Called when blocks [first, first + count) of a chunk are here that somebody waits for,
	 * here (load_read()) or at another client.  They are not proved, and may come again. */
	void (*blocks)(void *arg, uint32_t chunk, uint32_t first, uint32_t count,
	    const uint8_t *data);
	/* Called when the load has ended: rc and the error are what load_end() will return. */
	void (*ended)(void *arg, int rc, const struct err *);
	void *arg; /* of all these callbacks */
};

struct load;
struct destination;

/* Makes this destination (imageunzip/install/destination.h) the sink of a load's configuration.  It
 * stays the caller's, and must exist until load_end(), which fills in its statistics.  ERR_USAGE:
 * any_file is set and a key was chosen. */
int load_into(struct load_config *, struct destination *, struct err *);
/* Opens the socket and the sink, in the calling thread, and begins to load in another one.
 * -1: nothing was begun.  Errors are those of sock.h, auth.h, prove.h and the sink, of which the
 * user should hear; ERR_NOMEM. */
int load_start(struct load **, const struct load_config *, struct err *);
/* The statistics as they were last noted, within the last second, or when the load ended. */
void load_stats(struct load *, struct load_stats *);
/* Somebody waits for this chunk.  It is asked for before all others, as client_urgent() says
 * (frisbee/client/client.h), and goes to the sink when it is here; a target may have to wait
 * for chunk 0, which says whether the image is meant for it.  Other chunks come as before.  The
 * request is remembered when no server has answered yet.  It has no effect for a chunk that has
 * come, that the sink has already, or when chunks come in order (to a pipe). */
void load_urgent(struct load *, uint32_t chunk);
/* Somebody waits for these blocks of a chunk, as client_read() says (frisbee/client/client.h).
 * load_config.blocks is called when they come, and at once for those that are in a chunk buffer.
 * Not for a load that decrypts chunks (`opener`), which it does in the buffer.  Requests are
 * forgotten when very many are made at once, so a caller that waits for long asks again. */
void load_read(struct load *, uint32_t chunk, const struct blockmap *need);
/* A descriptor for poll(2), readable from when the load has ended until load_end(). */
int load_fd(const struct load *);
/* Tell the load to end soon, with ERR_CANCELLED as after SIGTERM.  This does not wait.  It
 * may be called more than once, and after the end. */
void load_stop(struct load *);
/* Waits until the load has ended, and frees it.  0: the whole image is where it belongs.
 * -1: the error says why not, and whether the sink was written to.  The last statistics are given
 * in both cases; NULL: the caller does not want them. */
int load_end(struct load *, struct load_stats *, struct err *);

#endif /* FRISBEE_LOAD_LOAD_H */
