/* swap.h: the controller's engine: which node is to load which image, how far it is, and what
 * should be so because of that.
 *
 * It has no socket, clock, thread or file.  Its caller tells it what has happened (a call came, a
 * report, an image is sent, time has passed), and then makes true what it wants: which nodes
 * have orders (swap_wants_order()), which sessions mfrisbeed serves (swap_wants_server()), which
 * nodes are to be switched off and on (swap_node.power).  Because these are states and not
 * commands, a caller that was killed restores sessions and nodes and goes on, and nothing is
 * lost or done twice.
 *
 * Nodes and sessions are written by the files of this folder alone; callers read them. */
#ifndef CONTROLLER_ENGINE_SWAP_H
#define CONTROLLER_ENGINE_SWAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "controller/engine/smbios.h"

enum {
	SWAP_NODES_MAX = 20000,
	SWAP_RUNNING_MAX = 64,  /* sessions at once */
	SWAP_RECENT_MAX = 100,  /* sessions that have ended and are kept in memory */
	SWAP_NAME_BYTES = 254,  /* of a node or an image, with the NUL */
	SWAP_TEXT_BYTES = 256,  /* last words, with the NUL */
	SWAP_WORDS_BYTES = 512, /* further words of an order */
	SWAP_REQUEST_BYTES = 65,
	SWAP_ORDERS_BYTES = 256, /* mfrisbeed takes a path of 256 bytes */
	SWAP_SALT_BYTES = 17,
	SWAP_ORDER_BYTES = 41, /* netboot/receive takes 40 characters */
	SWAP_SAMPLES_MAX = 600,
	SWAP_SAMPLES_KEPT = 300, /* of a session that has ended: 5 kB of the state */
	SWAP_SERVER_FAILURES_MAX = 5, /* in a row, before a session gives up */
};

enum swap_phase {
	SWAP_IDLE,
	SWAP_BOOTING,
	SWAP_LOADING,
	SWAP_PERSONALISING,
	SWAP_CAPTURING, /* its disk is read and sent */
	SWAP_VERIFYING, /* the receiver verifies what it has got */
	SWAP_STREAMING, /* its system is being started, while its disk is filled */
	SWAP_USABLE,    /* its system runs, while its disk is filled */
	SWAP_REBOOTING,
	SWAP_DONE,
	SWAP_FAILED,
	SWAP_STOPPED,
	SWAP_PHASES
};

enum swap_state { SWAP_IS_RUNNING, SWAP_IS_DONE, SWAP_IS_FAILED, SWAP_IS_STOPPED, SWAP_STATES };
enum swap_slow { SWAP_NOT_SLOW, SWAP_SLOW_LINK, SWAP_SLOW_DISK };

/* One moment: us never goes back, wall_s (seconds since 1970) may jump. */
struct swap_now {
	uint64_t us;
	double wall_s;
};

/* What frisbeed sees of a node that loads, or what a node that is captured says of itself: its progress,
 * its rate and how long it will take. */
struct swap_view {
	double progress, rate_bits_per_s, share_lost, seconds_left, silence_s;
	enum swap_slow slow;
};

struct swap_node {
	char name[SWAP_NAME_BYTES];
	uint8_t mac[6];
	char smbios[SMBIOS_BYTES]; /* its UUID or serial number; empty: it is known by its MAC address */
	/* Another node has that, too; or two machines have reported with it, which counts until the file of
	 * nodes has something else here.  In both cases it is known by its MAC address. */
	bool doubted, of_two;
	uint8_t ip[4];    /* that its last report came from; zeros: unknown */
	uint32_t session; /* the one that it belongs to or has belonged to; 0: none */
	enum swap_phase phase;
	unsigned tries; /* begun */
	bool power;     /* it is to be switched off and on */
	bool leaves;    /* the administrator's file has it no more: it goes when its session has ended */
	double since_s; /* wall clock: when the phase began */
	double took_s[SWAP_PHASES]; /* in phases that are over; < 0: not known */
	char words[SWAP_TEXT_BYTES];
	/* Not kept through a restart: */
	uint64_t since_us, sign_us; /* the phase began; the last sign of progress */
	bool viewed;
	struct swap_view view;
	uint8_t seen[6]; /* the MAC address that reports of this try have come from; zeros: none yet */
	double filled; /* the share of its disk that is there, as a usable node says; < 0: not known */
	uint64_t changed; /* a number that grows: swap.changed at the last change */
	bool unsaved;
};

/* A rate, loss and progress over time: at_s since the session began (swap_seconds()). */
struct swap_sample {
	float at_s, rate_bits_per_s, share_lost, progress;
};

/* A time that n nodes of a session took. */
struct swap_measure {
	unsigned n;
	double median_s, worst_s; /* < 0: none */
	char worst[SWAP_NAME_BYTES];
};

/* What the caller knows of the frisbeed that sends a session's image. */
struct swap_server {
	bool known;
	uint64_t chunks, blocks_sent, blocks_resent, rate_bits_per_s;
	double share_lost;
	char chunk_map[1025];
};

/* How a session's image is sent; zeros and an empty text: as usual. */
struct swap_sending {
	uint64_t bandwidth_bits_per_s; /* at most */
	uint64_t wait;  /* nothing is sent before this number of its nodes receive */
	uint64_t until; /* it ends when this number of nodes are done, and the others only boot */
	char orders[SWAP_ORDERS_BYTES]; /* the folder of orders of reads (frisbeed --orders) */
};

struct swap_session {
	uint32_t id; /* from 1 */
	char image[SWAP_NAME_BYTES];
	char request[SWAP_REQUEST_BYTES];
	char words[SWAP_WORDS_BYTES];
	char asked[1024]; /* the list of nodes, as it was asked for; a long one is cut off */
	bool stream;
	bool capture; /* the image is made of its only node */
	bool replace; /* ... and may take the place of another one of this name */
	struct swap_sending sending;
	unsigned timeout_s, tries;
	enum swap_state state;
	/* Where its image is sent; port 0: that is not known yet. */
	uint8_t group[4];
	uint16_t port;
	double began_s, ended_s; /* wall clock */
	double spent_s; /* since it began, without away_s */
	double away_s;  /* time when no controller ran, as far as the wall clock can be right */
	double seen_s;  /* wall clock: when spent_s was last set */
	char last[SWAP_TEXT_BYTES];
	bool noted; /* it has ended, and mfrisbeed's history has its nodes */
	unsigned server_failures;
	unsigned total, count[SWAP_PHASES]; /* its nodes; set as long as it is running, and at its end */
	/* Measured once a second, and at its end: */
	struct swap_measure took[SWAP_PHASES];
	struct swap_measure usable_after, done_after; /* swap_after_s() of its nodes */
	/* Its course, of which the last ten seconds are lost when the controller is killed: */
	struct swap_server server;
	struct swap_sample samples[SWAP_SAMPLES_MAX];
	unsigned nsamples; /* at most SWAP_SAMPLES_KEPT when it has ended */
	/* Not kept through a restart: */
	bool serves, holds; /* its image is sent; mfrisbeed has been asked for it, and keeps it */
	uint32_t *nodes; /* their numbers; NULL when it has ended */
	uint64_t began_us, deadline_us, server_after_us;
	double sample_every_s;
	uint64_t changed;
	bool unmeasured, unsaved, course_unsaved;
};

/* What somebody asks for. */
struct swap_wish {
	char nodes[16384];
	char image[SWAP_NAME_BYTES];
	char request[SWAP_REQUEST_BYTES]; /* empty: none */
	char words[SWAP_WORDS_BYTES];
	bool stream, capture, replace;
	struct swap_sending sending;
	uint64_t timeout_s, tries;
};
/* Bits a second that mfrisbeed takes. */
#define SWAP_BANDWIDTH_MIN UINT64_C(10000)
#define SWAP_BANDWIDTH_MAX UINT64_C(1000000000000)
enum {
	/* By default a session has two hours: 10 GB at 100 Mbit/s need 15 minutes, and a node may
	 * be tried again.  The limits are there for typing errors. */
	SWAP_TIMEOUT_S = 7200,
	SWAP_TIMEOUT_MIN_S = 60,
	SWAP_TIMEOUT_MAX_S = 604800,
	SWAP_TRIES = 2,
	SWAP_TRIES_MAX = 10
};

/* A line that a node has sent. */
struct swap_report {
	uint8_t mac[6];
	char uuid[SMBIOS_BYTES], serial[SMBIOS_BYTES]; /* empty: the machine has none, or a placeholder */
	char order[SWAP_ORDER_BYTES];
	char phase[21];
	char text[SWAP_TEXT_BYTES];
};

struct swap_config {
	char salt[SWAP_SALT_BYTES]; /* in the names of orders, so that those of others differ */
	unsigned patience_s;        /* a node without progress is tried again after this time */
	unsigned patience_boot_s;   /* in its place for a node that boots, streams or reboots */
	bool follow_up; /* a node that is loaded is done, and one that streams usable, when swap_up()
	                 * says that it answers */
};

/* What nodes are found by, and the tables for that (swap_index.c). */
enum swap_key { SWAP_BY_NAME, SWAP_BY_MAC, SWAP_BY_SMBIOS, SWAP_BY_IP, SWAP_KEYS };
struct swap_index {
	uint32_t *first[SWAP_KEYS], *next[SWAP_KEYS];
	size_t chains; /* as many as there may be nodes; 0, or a power of 2 */
};

struct swap {
	struct swap_config config;
	struct swap_node *nodes;
	size_t nnodes, nodes_cap;
	struct swap_index index;
	struct swap_session **sessions; /* in ascending order of id */
	size_t nsessions, sessions_cap;
	uint32_t last_id;
	uint64_t changed;
	uint64_t retries, ended[SWAP_STATES];
};

/* The word for a phase, or for a state of a session. */
const char *swap_phase_name(enum swap_phase);
const char *swap_state_name(enum swap_state);
/* Does a node in this phase still have something to do? */
bool swap_is_active(enum swap_phase);
/* Does frisbeed see a node in this phase as a client? */
bool swap_receives(enum swap_phase);
/* Is swap_node.view of a node in this phase true? */
bool swap_shows_view(enum swap_phase);
/* Is swap_up() waited for? */
bool swap_awaits_up(const struct swap_node *);

/* Begin with no nodes and no sessions.  swap_free() frees all. */
void swap_init(struct swap *, const struct swap_config *);
void swap_free(struct swap *);
/* Add a node.  smbios: what smbios_read() has written, or empty.  Nodes may share a MAC address
 * when each of them has another smbios; of nodes that share that, with different MAC addresses, it is
 * doubted.  ERR_USAGE: the name or the machine is there already, or it cannot be a name
 * (letters, digits and .-_, at most 253); ERR_NOMEM. */
int swap_add_node(struct swap *, const char *name, const uint8_t mac[6], const char *smbios, struct err *);
/* NULL: there is none. */
struct swap_node *swap_find_node(const struct swap *, const char *name);
/* Does smbios say which node this is?  Otherwise its MAC address does. */
bool swap_by_smbios(const struct swap_node *);
/* The node of this table that is the same machine as n, which may be of another table, by what n is
 * known by; NULL: there is none. */
struct swap_node *swap_same_machine(const struct swap *, const struct swap_node *n);
struct swap_session *swap_find_session(const struct swap *, uint32_t id);
/* The session that this request has started, or NULL. */
struct swap_session *swap_find_request(const struct swap *, const char *request);

/* Replace the nodes by those of this table, in the table's order; the table stays the
 * caller's.  A node whose name is in both stays what it is, with the table's MAC address; one that
 * is in a session and not in the table stays until swap_leave().  Pointers to nodes become
 * invalid.  ERR_REFUSED: a node of a session that runs would be another machine, or its machine
 * another node; ERR_USAGE: too many; ERR_NOMEM.  Nothing is changed then. */
int swap_renew(struct swap *, const struct swap *table, struct err *);
/* The nodes that leave, and whose session has ended and was saved, go.  True: at least one has,
 * and pointers to nodes are invalid.  To be called after their orders were removed. */
bool swap_leave(struct swap *);

/* Start a session.  The caller has looked: the image is there, or the name of one that is captured
 * is free.  *id is the session's.  If a session of the same request is known, nothing is done, and
 * *again is true.  ERR_USAGE: the list of nodes, the words or a number; ERR_ABSENT: a node is not
 * known; ERR_REFUSED: a node belongs to a session that runs, an image of this name is being
 * captured, or too many run; ERR_NOMEM.  Nothing is changed then. */
int swap_start(struct swap *, struct swap_now, const struct swap_wish *, uint32_t *id,
    bool *again, struct err *);
/* Stop a session; one that has ended stays as it is.  ERR_ABSENT: it is not known. */
int swap_stop(struct swap *, struct swap_now, uint32_t id, struct err *);
/* The session of this number, which swap_start() has just begun, could not be saved, and who asked for it
 * hears so: it is stopped before anything is done for it, and its request may come again. */
void swap_take_back(struct swap *, struct swap_now, uint32_t id);

/* Read a line, without its newline, of `report MACHINE ORDER PHASE TEXT`, where MACHINE is
 * MAC[,UUID][,serial:NUMBER].  Harmful characters of
 * the text become '?' (plain.h), and what is longer than SWAP_TEXT_BYTES is cut off.
 * ERR_FORMAT says what is wrong with it. */
int swap_report_read(const char *line, size_t bytes, struct swap_report *, struct err *);
/* Write it as a line, without a newline; returns its length. */
size_t swap_report_write(const struct swap_report *, char *line, size_t cap);
/* A report has come from this address.  One that names another order than the node's is taken
 * and changes nothing.  ERR_ABSENT: no node is known by what the machine calls itself. */
int swap_reported(struct swap *, struct swap_now, const struct swap_report *,
    const uint8_t ip[4], struct err *);
/* frisbeed has seen the client with this address in the session. */
void swap_viewed(struct swap *, struct swap_now, struct swap_session *, const uint8_t ip[4],
    const struct swap_view *);
/* What frisbeed says of itself, once a second. */
void swap_served(struct swap *, struct swap_now, struct swap_session *, const struct swap_server *);
/* Its image is sent at this group and port.  If that is another one than before, the orders of its
 * nodes are others, too. */
void swap_serves(struct swap *, struct swap_session *, const uint8_t group[4], uint16_t port);
/* Its image is not sent any more, or cannot be, for this reason.  It is asked for again after a while,
 * some times, unless that is of no use (for_good).  A session that wants no server stays as it is. */
void swap_server_failed(struct swap *, struct swap_now, struct swap_session *, const char *why,
    bool for_good);
/* Nobody knows for this reason whether its image is sent; that is waited for. */
void swap_server_away(struct swap *, struct swap_session *, const char *why);
/* mfrisbeed keeps its image for it, or has let it go. */
void swap_holds(struct swap *, struct swap_session *, bool);
/* mfrisbeed's history has the nodes of this session, and the state says so. */
void swap_noted(struct swap *, uint32_t id);
/* The node was switched off and on; why: NULL, or what went wrong. */
void swap_powered(struct swap *, struct swap_now, struct swap_node *, const char *why);
/* The node's system answers.  A node that does not wait for this stays as it is. */
void swap_up(struct swap *, struct swap_now, struct swap_node *);
/* Time has passed: to be called at least once a second. */
void swap_tick(struct swap *, struct swap_now);

/* Is there to be an order for this node, as soon as it is known where its image is sent?
 * swap_order_name() is its name. */
bool swap_wants_order(const struct swap_node *);
/* Is that known, or does the session send nothing? */
bool swap_has_place(const struct swap_session *);
void swap_order_name(const struct swap *, const struct swap_node *, char name[SWAP_ORDER_BYTES]);
/* Is its image to be sent, now? */
bool swap_wants_server(const struct swap *, const struct swap_session *, uint64_t now_us);
/* How long it has run, or ran. */
double swap_seconds(const struct swap_session *, struct swap_now);
/* The mean of its nodes' progress, 0 to 1; of one that has ended, as it was at the end. */
double swap_progress(const struct swap *, const struct swap_session *);
/* The progress of one node, 0 to 1. */
double swap_node_progress(const struct swap_node *);
/* How many seconds after the beginning of its try the node was usable (SWAP_USABLE) or done
 * (SWAP_DONE); < 0: it was not so far. */
double swap_after_s(const struct swap_node *, enum swap_phase);

/* After a restart: a session as it was saved, then each of its nodes, then swap_restored().
 * A node that the table has no more is added.  The nodes of a session that has ended are
 * given, too, if no later session has them.  ERR_NOMEM; ERR_FORMAT: they contradict each
 * other. */
int swap_restore_session(struct swap *, struct swap_now, const struct swap_session *, struct err *);
int swap_restore_node(struct swap *, struct swap_now, const struct swap_node *, struct err *);
void swap_restored(struct swap *, struct swap_now);
/* All that is marked as unsaved was saved. */
void swap_saved(struct swap *);
/* All sessions that have ended, but for the last SWAP_RECENT_MAX, are forgotten; the caller
 * has saved them. */
void swap_forget(struct swap *);

#endif /* CONTROLLER_ENGINE_SWAP_H */
