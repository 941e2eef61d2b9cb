/* attach.h: attaches an image, or a disk that becomes what the image holds, as a file, a mounted
 * filesystem or a block device of this machine, by nbdkit with the plugin, and nbdfuse or the
 * kernel's NBD client. */
#ifndef STREAM_ATTACH_ATTACH_H
#define STREAM_ATTACH_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/range.h"
#include "common/image/format/opener.h"
#include "stream/sources/sources.h"

enum attach_as {
	ATTACH_SOCKET, /* nothing but the NBD server's Unix socket TARGET; NULL: one is made */
	ATTACH_FILE,  /* TARGET/NAME, or TARGET itself where that is a file; by FUSE */
	ATTACH_MOUNT, /* its filesystem at TARGET; root alone */
	ATTACH_NBD,   /* TARGET, which is /dev/nbdN; root alone */
};

/* A disk that becomes what the image holds, as the plugin's parameters say (nbdkit-ndz-plugin(1)).
 * Strings may be NULL. */
struct attach_stream {
	const char *disk; /* NULL: the image is attached, and nothing is written */
	const char *table, *status, *order, *record;
	uint64_t rate_bits; /* a second; 0: no limit */
	uint64_t idle_ms, timeout_ms;
	bool anew, fit, zero, discard, no_fill;
	/* HOST, HOST:PORT or [IPV6]:PORT, where other machines can read the image by NBD; NULL:
	 * nowhere. */
	const char *export;
	/* The file of keys (psktool) of those who may; NULL: anybody, and `export` is an address
	 * of this machine alone, such as 127.0.0.1. */
	const char *export_key;
};

/* All strings belong to the caller, and must stay valid until attach_end(). */
struct attach_config {
	struct sources_config sources;
	struct opener_config keys;
	uint64_t size_bytes, cache_bytes; /* 0: the plugin's default */
	struct attach_stream stream; /* not for ATTACH_MOUNT, and without `part` */
	struct range part;                /* in sectors; length 0: the whole disk */
	enum attach_as as;
	const char *target;
	const char *name;    /* ATTACH_FILE: name of the file in the folder TARGET */
	const char *options; /* ATTACH_MOUNT: further options of mount(8); NULL: none */
	/* Called with what nbdkit prints while it serves, from another thread. */
	void (*tell)(const char *sentence);
	/* A disk that is streamed to: how many bytes of those that the image stores are on it; called
	 * by attach_wait() until it is complete.  NULL: nobody is told. */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *progress_arg;
};

struct attach;

/* Attach the image.  When this returns 0, the target can be used; the caller ends that with
 * attach_end(), and the configuration is borrowed until then.  ERR_USAGE: stream.export is no
 * address, or a socket's path is too long; ERR_REFUSED: a socket's path is in use; ERR_ABSENT: a
 * program or the plugin is not installed; ERR_IO: one of them failed, and the sentence is its
 * own; ERR_CANCELLED. */
int attach_start(struct attach **, const struct attach_config *, struct err *);
/* The path of the disk, or of its mounted filesystem; valid until attach_end(). */
const char *attach_where(const struct attach *);
/* Wait.  0: the calling thread's work was cancelled, or another program has detached the disk.
 * -1 with ERR_IO: the server has ended. */
int attach_wait(struct attach *, struct err *);
/* Detach the disk and free *t.  -1: it was in use, and programs that use it get errors from now
 * on; or a disk that is streamed to could not be flushed. */
int attach_end(struct attach *, struct err *);

#endif /* STREAM_ATTACH_ATTACH_H */
