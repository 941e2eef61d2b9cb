/* load.h: a load as a value: an image that a server sends, into a sink, in a thread of its
 * own.  One process may have several of them at once.
 *
 *	load_start()	opens all that it needs, and begins
 *	load_stats()	what it does now
 *	load_urgent()	this chunk of the image is needed now
 *	load_read()	these blocks of it are, and can be used before they are proved
 *	load_fd()	can be read when it has ended; poll(2) waits for several
 *	load_stop()	it is to end early
 *	load_end()	waits for its end, says how it ended, frees it
 *
 * Any thread may call any of these functions; load_start() is the first call for a load, and
 * load_end() the last.  A load works for the owner of the thread that starts it (cancel.h): a
 * signal to that owner ends it as load_stop() does.  Either way the server is told that this
 * client leaves. */
#ifndef FRISBEE_LOAD_LOAD_H
#define FRISBEE_LOAD_LOAD_H

#include "common/image/format/proof.h"
#include "common/image/read/sink.h"
#include "common/net/sock.h"
#include "common/wire/wire.h"
#include "frisbee/client/client.h"

/* What a load is doing. */
enum load_state {
	LOAD_WAITING, /* for a server */
	LOAD_LOADING,
	LOAD_DISK_BOUND, /* all chunk buffers wait to be written */
	LOAD_FLUSHING,   /* everything was received; what is left to do is writing */
};

/* Of one load, all of it as it was at one moment. */
struct load_stats {
	enum load_state state;
	bool done;      /* all of it is installed */
	double seconds; /* since it began, until it ended */
	struct sink_sum sum; /* what the sink has done; while it runs this is all zero */
	struct wire_stats stats;
	uint32_t chunks;           /* of the image; 0: no server has answered yet */
	uint32_t rejoins;          /* of the group, when nothing came */
	bool gave_up;              /* it ended because of silence_us */
	bool extension;            /* a second port was used */
	uint64_t blocks_not_requested; /* skip_same */
	uint64_t parity_used, parity_unused;
	uint64_t blocks_left_out; /* of empty ends of chunks: they never came */
	uint64_t blocks_damaged;  /* and asked for again */
	uint32_t chunks_complete;
	/* Chunks that came: not all when only some partitions are wanted, and some perhaps
	 * twice. */
	uint32_t chunks_received;
	uint64_t packets; /* heard */
	/* Times without any packet, of a second and more, before all was there. */
	uint64_t stalls, stalled_us;
};

/* The whole struct is copied by load_start(); strings, and what other pointers lead to, stay
 * the caller's until load_end(), but for the key. */
struct load_config {
	/* From where.  Whether the port is shared or the socket connected, load_start() says
	 * itself.  For unicast this is the server's address and its one port. */
	struct sock_config net;
	const uint8_t *key;    /* the group's, AUTH_KEY_BYTES, copied; NULL: none */
	uint64_t keepalive_us; /* the group is joined again at this interval; 0: the default */
	bool has_server;       /* only this one is the server: */
	uint8_t server[4];

	/* How. */
	bool base;       /* use only the base protocol, which old servers speak */
	bool unicast;    /* from a server that answers this client alone */
	bool sequential; /* chunks are asked for in order, not at random */
	uint32_t buffers;         /* for chunks, of 1 MiB each; 0: the usual */
	uint32_t readahead;       /* chunks that are asked for ahead; 0: the usual */
	uint64_t redo_us;         /* before something is asked for again; 0: the usual */
	uint64_t silence_us;      /* it gives up after this time without a packet; 0: never */
	uint64_t start_delay_us;  /* it first waits for a random time of up to this */

	/* What is demanded of its chunks. */
	bool any_file;       /* it is no image: nothing can be demanded */
	bool keep_encrypted; /* encrypted chunks that there is no key for are taken */
	struct proof_config proof;

	/* To where: load_start() calls this, in its caller's thread.  The sink's threads
	 * should work for the owner of that moment (cancel.h), and give way to a network that
	 * must not be kept waiting.  load_target.h has the usual ones. */
	int (*open)(void *open_arg, struct sink *, struct err *);
	void *open_arg;
	uint64_t write_mb; /* that the sink may keep in memory; the server is told so */

	/* These are called in the load's thread, between load_start() and the end of
	 * load_end(), and should return soon.  A callback that is NULL is not called. */
	/* Once a second: how it is. */
	void (*tick)(void *arg, const struct load_stats *);
	/* Often: how far it is, in bytes of the image; total 0: not known yet. */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	/* What the user should know of the network while it loads. */
	void (*say)(void *arg, const char *sentence);
	/* A server has answered: this is its image; before any of it is written.  Once more
	 * when the first one was none: then nothing had been written. */
	void (*image)(void *arg, const struct client_image *);
	/* Blocks [first, first + count) of a chunk have come that somebody waits for, here
	 * (load_read()) or elsewhere.  They are not proved, and may come again. */
	void (*blocks)(void *arg, uint32_t chunk, uint32_t first, uint32_t count,
	    const uint8_t *data);
	/* It has ended, as load_end() will say: 0 or -1 with the error. */
	void (*ended)(void *arg, int rc, const struct err *);
	void *arg; /* of these */
};

struct load;

/* Opens the socket and the sink, in the calling thread, and begins to load in another one.
 * -1: nothing was begun.  Errors are those of sock.h, auth.h, prove.h and the sink, of which the
 * user should hear; ERR_NOMEM. */
int load_start(struct load **, const struct load_config *, struct err *);
/* The statistics as they were last noted, within the last second, or when the load ended. */
void load_stats(struct load *, struct load_stats *);
/* Somebody waits for this chunk: it is asked for before all others, as client_urgent() says
 * (frisbee/client/client.h), and goes to the sink when it is here; a target may have to wait
 * for chunk 0, which says whether the image is meant for it.  The others come as ever.  It
 * is remembered when no server has answered yet.  It means nothing for a chunk that has come,
 * that the sink has already, or that comes in order (to a pipe). */
void load_urgent(struct load *, uint32_t chunk);
/* Somebody waits for these blocks of a chunk: client_read() (frisbee/client/client.h).  They go
 * to load_config.blocks when they come.  Forgotten when very many are asked for at once, so
 * whoever waits for long asks again. */
void load_read(struct load *, uint32_t chunk, const struct blockmap *need);
/* A descriptor for poll(2), readable from when the load has ended until load_end(). */
int load_fd(const struct load *);
/* Tell the load to end soon, with ERR_CANCELLED as after SIGTERM.  This does not wait.  It
 * may be called more than once, and after the end. */
void load_stop(struct load *);
/* Waits until the load has ended, and frees it.  0: all of it is where it belongs.  -1: the
 * error says why not, and whether the sink was written to.  The last statistics are given
 * either way; NULL: nobody wants them. */
int load_end(struct load *, struct load_stats *, struct err *);

#endif /* FRISBEE_LOAD_LOAD_H */
