/* change.h: a source of change: says which bytes of a device are the same as in a base.
 *
 * A kind is one file, all static, that ends in its table; changes.c lists the tables.
 * Silence means "changed": a kind that understands too little, or finds something that it
 * does not expect, makes a larger stream, never a wrong copy.  The sink checks bounds for
 * all kinds; on any error of same() the caller takes everything as changed, with a warning
 * that names the reason.
 *
 * The order of calls: open() fixes the new state, so that whatever is written later counts
 * as written after it; then, perhaps, a snapshot is taken; same() for each base; sent() for
 * what is read; keep() when the stream is complete; close().
 */
#ifndef DSYNC_CHANGE_CHANGE_H
#define DSYNC_CHANGE_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/range.h"
#include "common/disk/rangeset.h"
#include "dsync/change/bases.h"

/* Collects what is the same. */
struct same_sink;
/* Bytes of the device, in any order.  Outside of it: ERR_FORMAT, and all counts as changed. */
int same_add(struct same_sink *, struct range bytes, struct err *);
/* The rest: all of the device but these ranges, which are given in bytes, and which may be
 * outside of the device in part; the set is sealed. */
int same_but(struct same_sink *, const struct rangeset *changed_bytes, struct err *);

struct change_job {
	const char *args;    /* behind "KIND:"; "" when there is nothing */
	const char *device;  /* as the user names it */
	struct disk *disk;   /* the device, for reading */
	uint64_t device_bytes;
	const char *state_path; /* of the bases; other files of the kind stand beside it; NULL:
	                         * the kind has no bases */
};

/* What open() tells. */
struct change_about {
	uint32_t block_bytes; /* a power of two: what is sent are whole blocks */
	bool cumulative;      /* whatever was written is told, also when it was undone */
	struct stream_id base; /* of a kind without bases: the state that it compares with */
	char from[300];        /* what the data is to be read from; "": the device */
};

struct change_kind {
	const char *name;  /* "scan" */
	const char *args;  /* "STATE": what --since names, for --help; "" for none */
	const char *about; /* a line for --help */
	bool has_bases;    /* it remembers what was sent (bases.h) */
	bool path_is_args; /* args names the file of the bases */
	int (*open)(void **self, const struct change_job *, struct change_about *,
	    struct err *);
	/* base: NULL for a kind without bases. */
	int (*same)(void *self, const struct base *, struct same_sink *, struct err *);
	/* These bytes are being sent; data NULL: they are zeros.  Ascending, in one thread.
	 * NULL: the kind need not know. */
	int (*sent)(void *self, struct range bytes, const void *data, struct err *);
	/* Was nothing written since open()?  1, 0, -1.  NULL: nobody knows. */
	int (*quiet)(void *self, struct err *);
	/* What it must know of the new state later, in one word; nothing more is sent. */
	int (*keep)(void *self, const struct stream_id *, char token[BASE_TOKEN_BYTES],
	    struct err *);
	/* A base is not needed any more.  NULL: nothing goes with it. */
	void (*dropped)(const struct change_job *, const struct base *);
	void (*close)(void *self);
};

/* The kind of "KIND:ARGS" or "KIND"; *args is what follows.  NULL: ERR_USAGE. */
const struct change_kind *change_find(const char *since, const char **args, struct err *);
/* The i-th of all kinds; NULL behind the last. */
const struct change_kind *change_at(unsigned i);
/* Which bytes have changed since any of the bases (n 0: of a kind without bases), in whole
 * blocks, into *changed, which is sealed.  What cannot be told has changed; warning is "" or
 * says why everything has.  -1 only for ERR_NOMEM and ERR_CANCELLED. */
int change_since(const struct change_kind *, void *self, const struct change_job *,
    const struct change_about *, const struct base *, unsigned n, struct rangeset *changed,
    char warning[512], struct err *);

extern const struct change_kind change_ranges, change_scan, change_sig, change_image,
    change_era, change_thin, change_nbd;

#endif /* DSYNC_CHANGE_CHANGE_H */
