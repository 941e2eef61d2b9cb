/* changes.h: how a reader knows that the objects of a store have not changed since its
 * index was brought up to date, without listing them.
 *
 * Each writer says in the store that it writes before it changes the first object, and
 * makes a new mark, which no store had before, when it has changed the last one.  Where
 * nobody writes, and the mark is the one that the index has, nothing has changed.  A writer
 * that died says for ever that it writes, until another writer (in a folder) or gc (in a
 * bucket) has put that right: until then whoever opens the store lists all of it.
 *
 *	lock			in a folder: "w" and an id (somebody writes), or "d" and an id
 *	changes/open-ID		in a bucket: somebody writes
 *	changes/done-ID		in a bucket: all of these together are the mark
 */
#ifndef EMUSTORE_STORE_CHANGES_H
#define EMUSTORE_STORE_CHANGES_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "emustore/objects/objects.h"
#include "emustore/store/keys.h"

enum { MARK_BYTES = 100 };

struct store;

/* What a writer keeps of its changes. */
struct changes {
	char id[KEY_RANDOM_CHARS + 1]; /* of this writer; empty: it has not begun */
	struct listing before; /* in a bucket: what was below changes/ when it began */
	struct buf keys; /* of tables and images that it put or removed, each with its '\0' */
	bool unsure;     /* a request got no answer, so it may still change something */
	/* after the end: the mark that the store has now; empty: others have changed
	 * something meanwhile */
	char mark[MARK_BYTES];
};

/* Read the mark of the objects as they are now.  Empty: there is none, or somebody writes
 * or has died writing. */
int changes_read(struct store *, char mark[MARK_BYTES], struct err *);
/* A writer begins, who has the lock if the store is a folder: say so in the store, and read
 * the mark as it was before. */
int changes_begin(struct store *, char mark[MARK_BYTES], struct err *);
/* Note the key of a table or an image that the writer put or removed, or tried to.  done
 * false: it failed, so in a bucket the store never says again that the writer has ended. */
void changes_note(struct store *, const char *key, bool done);
/* The writer has ended: say so in the store, and read its mark.  Failing does no harm: the
 * store goes on to say that somebody writes.  Nothing is done if it has not begun. */
void changes_end(struct store *);
/* Free the memory.  What the store says stays as it is. */
void changes_free(struct store *);

#endif /* EMUSTORE_STORE_CHANGES_H */
