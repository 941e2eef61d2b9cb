/* change.h: a source of change: says which bytes of a device are the same as in a base.
 *
 * A kind is one file, all static, that ends in its table; changes.c lists the tables.
 * What a kind does not report as the same counts as changed: a kind that understands too
 * little, or finds something that it does not expect, makes a larger stream, never a wrong
 * copy.  The sink checks bounds for all kinds; on any error of same() the caller takes
 * everything as changed, with a warning that names the reason.
 *
 * The order of calls: open() fixes the new state, so that whatever is written later counts
 * as written after that state; a snapshot may be taken; same() for each base; sent() for
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

/* Collects the ranges that are the same as in the base. */
struct same_sink;
/* Report bytes of the device as the same, in any order.  ERR_FORMAT: they are not all on the
 * device, and everything counts as changed.  ERR_NOMEM. */
int same_sink_add(struct same_sink *, struct range bytes, struct err *);
/* Report all of the device but these ranges as the same.  The set is in bytes and sealed; its
 * ranges may lie partly or wholly beyond the device.  ERR_NOMEM. */
int same_sink_add_all_but(struct same_sink *, const struct rangeset *changed_bytes, struct err *);

/* What a source of change is opened for.  All strings are borrowed. */
struct change_job {
	const char *args;    /* behind "KIND:"; "" when there is nothing */
	const char *device;  /* as the user names it */
	struct disk *disk;   /* the device, for reading */
	uint64_t device_bytes;
	const char *folder;  /* of all files of dsync, such as /var/lib/dsync */
	const char *state_path; /* the file of bases; other files of the kind lie beside it; NULL:
	                         * the kind has no bases */
};

/* What open() reports. */
struct change_about {
	uint32_t block_bytes; /* a power of two: only whole blocks are sent */
	bool cumulative;      /* whatever was written counts, also when it was written back */
	bool compares; /* it compares contents, so what was written back counts only if the state
	                * between is a base */
	struct stream_id base; /* a kind without bases: the state that it compares with */
	uint64_t frozen_us;    /* how long the device was suspended for a snapshot */
	char from[300];        /* path that the data is to be read from; "": the device */
};

struct change_kind {
	const char *name;  /* as in --since, such as "scan" */
	const char *args;  /* "STATE": what --since names, for --help; "" for none */
	const char *about; /* a line for --help */
	bool has_bases;    /* it remembers what was sent (bases.h) */
	bool path_is_args; /* `args` of the job names the file of bases */
	int (*open)(void **self, const struct change_job *, struct change_about *,
	    struct err *);
	/* Report what is the same as in `base` to the sink; NULL for a kind without bases. */
	int (*same)(void *self, const struct base *, struct same_sink *, struct err *);
	/* These bytes are being sent; data NULL: they are zeros.  Called in ascending order, in
	 * one thread.  NULL: the kind need not know. */
	int (*sent)(void *self, struct range bytes, const void *data, struct err *);
	/* Whether nothing was written since open(): 1, 0, or -1 with an error.  NULL: the kind
	 * cannot tell. */
	int (*quiet)(void *self, struct err *);
	/* Make the token, one word: what the kind must know of the new state later.  Nothing
	 * more is sent after this call. */
	int (*keep)(void *self, const struct stream_id *, char token[BASE_TOKEN_BYTES],
	    struct err *);
	/* A base is not needed any more.  NULL: the kind has nothing to remove. */
	void (*dropped)(const struct change_job *, const struct base *);
	void (*close)(void *self);
};

/* Find the kind of "KIND:ARGS" or "KIND"; *args is what follows the colon, a part of `since`.
 * NULL with ERR_USAGE: there is no such kind. */
const struct change_kind *change_find(const char *since, const char **args, struct err *);
/* The i-th kind; NULL when i is beyond the last. */
const struct change_kind *change_at(unsigned i);
/* Find which bytes have changed since any of the n bases (0 for a kind without bases), in
 * whole blocks.  They go into *changed, which is sealed.  What is not known to be the same has
 * changed; `warning` is "" or says why everything counts as changed.  Returns -1 only for
 * ERR_NOMEM and ERR_CANCELLED. */
int change_since(const struct change_kind *, void *self, const struct change_job *,
    const struct change_about *, const struct base *, unsigned n, struct rangeset *changed,
    char warning[512], struct err *);

extern const struct change_kind change_ranges, change_scan, change_sig, change_image,
    change_era, change_thin, change_nbd, change_map;

#endif /* DSYNC_CHANGE_CHANGE_H */
