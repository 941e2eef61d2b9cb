/* fetch.h: an image that only a parent master has is fetched while it is served.
 *
 * The image is loaded from the parent's session into a file beside the one that will
 * keep it, and served from there while it still arrives.  When it is whole, the file
 * gets its name, and the time of the parent's file, by which it is recognised later. */
#ifndef FRISBEED_RELAY_FETCH_H
#define FRISBEED_RELAY_FETCH_H

#include "common/image/read/source.h"
#include "common/wire/master.h"
#include "common/wire/master_proof.h"

enum { FETCH_HOST_BYTES = 256, FETCH_IFACE_BYTES = 64, FETCH_PATH_BYTES = 1024 };

/* The master server that is asked for images that are not here. */
struct fetch_parent {
	char host[FETCH_HOST_BYTES];   /* empty: there is no parent */
	char iface[FETCH_IFACE_BYTES]; /* interface for its sessions; empty: by the route */
	/* Its token, which is read at each request; empty: none. */
	char token_file[FETCH_PATH_BYTES];
};

/* Asks the parent for an image; status_only: the parent starts no session.  It waits
 * for the reply, and may be called in any thread.  Refusals are errors: ERR_ABSENT:
 * the parent has no such image; ERR_REFUSED: try again later; ERR_UNSUPPORTED: any
 * other.  Also errors of ask.h. */
int fetch_ask(const struct fetch_parent *, const char *name, bool status_only,
    struct master_get_reply *, struct err *);
/* The time of the parent's file, in seconds since 1970; 0: the reply does not say it. */
int64_t fetch_mtime(const struct master_get_reply *);

/* Begins to load an image, as a source that grows, into a file beside `place`, whose
 * name is that with FETCH_ARRIVING and the number of this process.  It waits until the
 * parent has said where its session is, and may be called in any thread.  The parent
 * must stay as long as the source.  *bytes and *mtime are the size and the time that it
 * names.  Errors of fetch_ask() and load_source.h. */
int fetch_begin(struct source *, const struct fetch_parent *, const char *name,
    const char *place, uint64_t *bytes, int64_t *mtime, struct err *);
#define FETCH_ARRIVING "%arriving-"

#endif /* FRISBEED_RELAY_FETCH_H */
