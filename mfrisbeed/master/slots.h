/* slots.h: the sessions, as sessions.c, slots.c, loads.c and state.c share them. */
#ifndef MFRISBEED_MASTER_SLOTS_H
#define MFRISBEED_MASTER_SLOTS_H

#include "common/base/path.h"
#include "frisbeed/serve/budget.h"
#include "mfrisbeed/master/history.h"
#include "mfrisbeed/master/session_stats.h"
#include "mfrisbeed/master/sessions.h"

enum { SLOTS_MAX = STARTER_IDS }; /* as many as `group` has addresses by default */

/* One session. */
struct slot {
	char *name; /* NULL: the slot is free */
	struct catalog_entry entry;
	enum sessions_state state;
	uint32_t group_index; /* counted from the first group of the settings */
	uint32_t elsewhere; /* how many other groups were tried, because they were taken */
	bool unicast;
	uint8_t group[4]; /* unicast: the address of this host */
	uint16_t port; /* before the start: the one to use, 0: the kernel chooses */
	/* What the settings said when it began; empty: by the route. */
	char iface[FETCH_IFACE_BYTES];
	bool not_known; /* size and time of the parent's image are known after the start */
	unsigned tries; /* how often it was begun again */
	uint64_t begin_us; /* SESSIONS_STARTING: when its process is begun; UINT64_MAX: it was */
	pid_t pid;         /* of its frisbeed; 0: it does not run */
	uint64_t began_us; /* when that began */
	uint64_t look_us;  /* when its statistics are read next */
	uint32_t noted;    /* the last load of that process that the history has */
	struct session_stats said;  /* what it has said last */
	struct err err;    /* SESSIONS_FAILED: why */
	struct sessions_options options;
	char holder[SESSIONS_HOLDERS][SESSIONS_HOLDER_BYTES]; /* empty: nobody */
	bool asked;     /* clients have asked for it by name */
	bool begun;     /* it has sent something, so its clients are not waited for any more */
	/* Nobody holds it any more: it ends, or its process gives way to one that ends
	 * when it is idle. */
	bool ends, renewed;
	struct sessions *of;
};

struct sessions {
	const struct settings *settings;
	struct sessions_config config;
	uint64_t rate, idle_s; /* as the settings said at the start */
	struct budget *budget; /* of all sessions; `rate` in the state folder */
	bool lost;             /* the starter has ended */
	uint64_t changes;      /* of what sessions_put() says */
	uint32_t group_from;   /* index of the group from which on a free one is looked for */
	uint32_t next_group;   /* index of the one that the next held session tries first */
	struct slot slots[SLOTS_MAX];
};

/* The file of its process's statistics. */
int slot_said_file(const struct slot *, char path[PATH_BYTES], struct err *);
/* Begins to serve a slot's image, after some seconds when it is begun again too often. */
int slot_start(struct slot *, struct err *);
/* Begins the process of a slot, which is due.  ERR_IO; ERR_NOMEM; ERR_USAGE. */
int slot_begin(struct slot *, struct err *);
/* Reads what its process says of itself, and notes loads.  over: it has ended, and
 * with it all loads.  *out is all zeros when it has said nothing. */
void slot_look(struct slot *, bool over, struct session_stats *out);
/* The session can be joined now. */
void slot_started(struct slot *, const struct session_stats *);
/* Is it held? */
bool slot_is_held(const struct slot *);
/* Has it any options? */
bool slot_has_options(const struct sessions_options *);
/* Frees a slot whose session has ended. */
void slot_clear(struct slot *);
/* The group with this index, counted from the first group of the settings. */
void slot_group(const struct settings *, uint32_t index, uint8_t group[4]);
/* The port to use there; 0: the kernel chooses. */
uint16_t slot_port(const struct settings *, uint32_t index);

/* The file of the rate that all sessions share. */
int slots_rate_file(const struct sessions *, char path[PATH_BYTES], struct err *);
/* Removes what processes have said before. */
void slots_clean(const struct sessions *);

/* Writes the list of the sessions that run, or are begun at a known port, into the
 * state folder. ERR_IO names the file. */
int state_save(const struct sessions *, struct err *);
/* Locks the state folder, so that no other master uses it.  Returns a descriptor,
 * which the caller closes; -1: ERR_REFUSED: another master uses the folder; ERR_IO. */
int state_lock(const struct settings *, struct err *);
/* A session as the list has it. */
struct state_session {
	const char *name;
	uint8_t group[4];
	uint16_t port;
	struct sessions_options options;
	char holder[SESSIONS_HOLDERS][SESSIONS_HOLDER_BYTES];
	bool asked, begun;
};
/* Reads the list that state_save() has written, and calls `each` for every session; *next becomes
 * sessions.next_group; where there is no list nothing is done.  ERR_FORMAT: the file is no such list;
 * ERR_IO; errors of `each`. */
int state_read(const struct settings *, uint32_t *next,
    int (*each)(void *arg, const struct state_session *, struct err *), void *arg,
    struct err *);
/* Takes a word KEY=VALUE of an option.  1: it was one; 0: it is none; -1: ERR_USAGE. */
int state_option(struct sessions_options *, char *word, struct err *);

#endif /* MFRISBEED_MASTER_SLOTS_H */
