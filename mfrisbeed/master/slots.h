/* slots.h: what sessions.c, slots.c and state.c know of each session. */
#ifndef MFRISBEED_MASTER_SLOTS_H
#define MFRISBEED_MASTER_SLOTS_H

#include <pthread.h>

#include "common/base/cancel.h"
#include "common/base/mailbox.h"
#include "frisbeed/serve/serve.h"
#include "mfrisbeed/master/history.h"
#include "mfrisbeed/master/sessions.h"

enum { SLOTS_MAX = 256 };

/* One session.  While it is starting, its thread has it, and the others read its name, entry and state
 * alone, which that thread does not change. */
struct slot {
	char *name; /* NULL: free */
	struct catalog_entry entry;
	enum sessions_state state;
	uint32_t group_index; /* from the first group on */
	bool unicast;
	uint8_t group[4]; /* of unicast our own address */
	uint16_t port; /* asked for; 0: the kernel chooses */
	/* Copies of what the settings said when it began. */
	char iface[SETTINGS_IFACE_BYTES]; /* empty: by the route */
	struct settings_parent parent;
	bool not_known; /* how long an image of the parent is, and from when, until it has started */
	unsigned tries; /* how often it has begun again, since the parent had failed it */
	/* What the start came to: */
	uint32_t number; /* the session's */
	uint32_t noted;  /* endings of its loads that the history has */
	uint16_t port_got;
	uint64_t bytes;  /* of an image of the parent, */
	int64_t mtime;   /* ... as it says now */
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
	uint64_t look_us;        /* when it is looked at loads again */
	struct mailbox *started; /* SLOT_STARTED, of slot n */
	struct slot slots[SLOTS_MAX];
};

enum { SLOT_STARTED };

/* Begin to serve a slot's image in a thread.  ERR_IO: there is no thread. */
int slot_start(struct slot *, struct err *);
/* Its thread has ended: take over what it did. */
void slot_started(struct slot *);
/* It is free; its session has ended. */
void slot_clear(struct slot *);
/* The group with this index. */
void slot_group(const struct settings *, uint32_t index, uint8_t group[4]);

/* The state folder's list of what is served.  ERR_IO names the file. */
int state_save(const struct sessions *, struct err *);
/* Take the state folder, so that no other master uses it: a descriptor to be closed.  ERR_REFUSED: another one
 * has it; ERR_IO. */
int state_lock(const struct settings *, struct err *);
/* Calls `each` for every line: name, group, port.  ERR_USAGE: it is not such a list. */
int state_read(const struct settings *,
    int (*each)(void *arg, const char *name, const uint8_t group[4], uint16_t port,
	struct err *),
    void *arg, struct err *);

#endif /* MFRISBEED_MASTER_SLOTS_H */
