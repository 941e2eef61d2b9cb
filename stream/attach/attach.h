/* attach.h: an image as a file, a mounted filesystem or a block device of this machine, by
 * nbdkit with the plugin, and nbdfuse or nbd-client. */
#ifndef STREAM_ATTACH_ATTACH_H
#define STREAM_ATTACH_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/range.h"
#include "common/image/format/proof.h"
#include "stream/sources/sources.h"

enum attach_as {
	ATTACH_FILE,  /* TARGET/NAME, or TARGET itself where that is a file; by FUSE */
	ATTACH_MOUNT, /* its filesystem at TARGET; root alone */
	ATTACH_NBD,   /* TARGET, which is /dev/nbdN; root alone */
};

/* All strings are the caller's, until attach_end(). */
struct attach_config {
	struct sources_config sources;
	struct proof_config keys;
	uint64_t size_bytes, cache_bytes; /* 0: the plugin's own */
	struct range part;                /* in sectors; length 0: the whole disk */
	enum attach_as as;
	const char *target;
	const char *name;    /* ATTACH_FILE: in the folder */
	const char *options; /* ATTACH_MOUNT: for mount(8); NULL: none */
	/* What nbdkit has to say while it serves; from another thread. */
	void (*tell)(const char *sentence);
};

struct attach;

/* When it returns 0, the target can be used.  ERR_ABSENT: a program or the plugin is not here;
 * ERR_IO: one of them failed, with its own words. */
int attach_start(struct attach **, const struct attach_config *, struct err *);
/* Where the disk, or its filesystem, is. */
const char *attach_where(const struct attach *);
/* Until the calling thread's work is to end, or somebody else has detached it: 0.  -1: the
 * server has ended. */
int attach_wait(struct attach *, struct err *);
/* Detach it.  -1: it was in use, and whoever uses it gets errors from now on. */
int attach_end(struct attach *, struct err *);

#endif /* STREAM_ATTACH_ATTACH_H */
