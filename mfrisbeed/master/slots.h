/* slots.h: the sessions, as sessions.c, slots.c, loads.c and state.c share them. */
#ifndef MFRISBEED_MASTER_SLOTS_H
#define MFRISBEED_MASTER_SLOTS_H

#include <pthread.h>

#include "common/base/cancel.h"
#include "common/base/mailbox.h"
#include "frisbeed/serve/serve.h"
#include "mfrisbeed/master/history.h"
#include "mfrisbeed/master/sessions.h"

enum { SLOTS_MAX = 256 }; /* as many as `group` has addresses by default */

/* One session.  While it starts it belongs to its thread; the first thread reads only name,
 * entry and state, which the session's thread does not change. */
struct slot {
	char *name; /* NULL: the slot is free */
	struct catalog_entry entry;
	enum sessions_state state;
	uint32_t group_index; /* counted from the first group of the settings */
	bool unicast;
	uint8_t group[4]; /* unicast: the address of this host */
	uint16_t port; /* before the start: the one to use, 0: the kernel chooses */
	/* Copies of what the settings said when it began. */
	char iface[SETTINGS_IFACE_BYTES]; /* empty: by the route */
	struct settings_parent parent;
	bool not_known; /* size and time of the parent's image are known after the start */
	unsigned tries; /* how often it was begun again because the image did not arrive whole */
	/* The outcome of the start: */
	uint32_t number; /* of the session (serve.h) */
	uint32_t noted;  /* client_row.ending of the last load that the history has */
	uint16_t port_got;
	uint64_t bytes;  /* size of the image; of a parent's image, as the parent says */
	int64_t mtime;   /* its time, likewise */
	struct err err;
	pthread_t thread;
	struct sessions *of;
};

struct sessions {
	const struct settings *settings;
	struct cancel cancel; /* of the starts, and of the sessions that they start */
	struct session_config each;
	struct serve *serve;
	struct history *history; /* NULL: none is kept */
	struct client_row *rows; /* SESSION_CLIENT_ROWS, for loads.c */
	uint64_t look_us;        /* when ended loads are noted next */
	struct mailbox *started; /* SLOT_STARTED, n: the index of the slot */
	struct slot slots[SLOTS_MAX];
};

enum { SLOT_STARTED };

/* Begins to serve a slot's image, in a thread of its own.  ERR_IO: there is no thread. */
int slot_start(struct slot *, struct err *);
/* Takes over what the thread of slot_start() did, after SLOT_STARTED. */
void slot_started(struct slot *);
/* Frees a slot whose session has ended. */
void slot_clear(struct slot *);
/* The group with this index, counted from the first group of the settings. */
void slot_group(const struct settings *, uint32_t index, uint8_t group[4]);

/* Writes the list of the sessions that run, or are begun at a known port, into the state folder.
 * ERR_IO names the file. */
int state_save(const struct sessions *, struct err *);
/* Locks the state folder, so that no other master uses it.  Returns a descriptor, which the
 * caller closes; -1: ERR_REFUSED: another master uses the folder; ERR_IO. */
int state_lock(const struct settings *, struct err *);
/* Reads the list that state_save() has written, and calls `each` for every session; where
 * there is no list nothing is done.  ERR_USAGE: the file is no such list; ERR_IO; errors of
 * `each`. */
int state_read(const struct settings *,
    int (*each)(void *arg, const char *name, const uint8_t group[4], uint16_t port,
	struct err *),
    void *arg, struct err *);

#endif /* MFRISBEED_MASTER_SLOTS_H */
