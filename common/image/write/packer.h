/* packer.h: fragments in disk order → chunks.
 *
 * Chunks are filled one at a time; their [firstsect, lastsect) tile the image.  A chunk is
 * closed when a fragment comes that does not fit any more, since only then is it known where
 * the chunk ends; the last chunk is closed at packer_finish().  A fragment does not fit by
 * its bytes, by region entries, by raw data that is not zero (16 MiB), or, in a delta, by the
 * samples of what it replaces: each chunk lists all of these.  A run of zero windows is one
 * entry of the fragment table and costs 1/1000 of its size, or less.  Chunks are emitted two
 * by two, so that their digests are made together.
 */
#ifndef COMMON_IMAGE_WRITE_PACKER_H
#define COMMON_IMAGE_WRITE_PACKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/err.h"
#include "common/image/codec/codec.h"
#include "common/image/format/basis.h"
#include "common/image/format/ext.h"
#include "common/image/format/format.h"
#include "common/image/format/sealer.h"
#include "common/image/read/window.h"

enum {
	PACKER_RAW_MAX = 16 << 20, /* bytes of a chunk that are not zero */
};

/* ERR_FORMAT when a window has more relocations than a header of this version holds. */
int window_check(const struct window *, unsigned version, struct err *);

/* Windows, compressed. */
struct fragment {
	const struct window *windows; /* borrowed for the call */
	unsigned nwindows;            /* 1.., aligned ones 1..CODEC_WINDOWS_MAX */
	bool zero;                    /* all zero: what follows is unused */
	const void *data;             /* borrowed for the call */
	uint32_t bytes;
	uint32_t adler; /* of the raw bytes */
	uint8_t digest[EXT_FRAGMENT_DIGEST_BYTES];
	unsigned nrelocs;               /* whose sectors are among these */
	const struct ndz_reloc *relocs; /* borrowed for the call */
};

struct packer_config {
	unsigned version;                    /* 3 or 5 */
	uint8_t header_uuid[NDZ_UUID_BYTES]; /* V5: into the header; may be zero */
	uint8_t uuid[NDZ_UUID_BYTES];        /* into the extension of every chunk */
	struct codec_choice codec;           /* not deflate: version 5 */
	struct ext_image image;              /* into chunk 0 */
	struct ext_state state, base;        /* NONE, or into every chunk */
	const struct rangeset *freed;              /* of a delta, or NULL; borrowed */
	/* Of a delta, or NULL; borrowed.  It has the samples of what a window replaces before
	 * the window comes. */
	struct basis *basis;
	struct tail tail; /* of a disk; into chunk 0 and chunks that store some of it */
	const struct reach *reach; /* into chunk 0, or NULL */
	bool content; /* windows follow the content: the table tells sectors */
	bool own_magic; /* version 5, refused by programs of the base format */
	size_t reserve; /* bytes at the end of each chunk that stay free */
	/* Takes each finished chunk, in order; -1 stops with its error. */
	int (*emit)(void *arg, const void *chunk, struct err *);
	void *arg;
};

/* Set the members that chunks need so that they can be sealed.  `uuid` must be set before; of
 * images that are sealed it comes from sealer_uuid(). */
void packer_config_seal(struct packer_config *, const struct sealer_config *);

struct packer;

/* Make a packer with an empty first chunk; the config is copied.  ERR_NOMEM. */
int packer_new(struct packer **, const struct packer_config *, struct err *);
void packer_free(struct packer *);
/* Add a fragment.  One of a single window always fits, or is refused as by window_check();
 * for more windows packer_room_for() must be asked before.  The windows' relocations go
 * into the same chunk. */
int packer_add(struct packer *, const struct fragment *, struct err *);
/* The next fragment begins a new chunk, even if it would fit the open one. */
void packer_end_chunk(struct packer *);
/* What the open chunk holds, as far as it matters for what else goes in: a copy,
 * which any thread may ask. */
struct packer_room {
	const struct codec *codec;
	unsigned version;
	bool has_image, has_state;
	unsigned nregions, nrelocs;
	uint64_t regions_end; /* sector behind the last region */
	size_t nfragments, stream_bytes, reserve;
	struct basis *basis;   /* of a delta, or NULL */
	size_t nsamples;       /* of the base, in the chunk */
	uint64_t samples_from; /* those that begin in front of this sector are counted */
	size_t reach_bytes;   /* and for what chunk 0 says of partitions */
	uint64_t zero_bytes;  /* zeros that are not in the stream yet */
	uint64_t nonzero_bytes;
};
struct packer_room packer_room(const struct packer *);
/* The room that the next chunk begins with. */
struct packer_room packer_room_next(const struct packer_room *);
/* Take off the room of this fragment, which must fit. */
void packer_room_add(struct packer_room *, const struct fragment *);
/* How many bytes of a fragment with these windows there is room for, if `bytes` is left out of
 * account; -1: there is none, however short it is. */
ssize_t packer_room_most(const struct packer_room *, const struct fragment *);
/* Is there room for this fragment?  (Its data and digest are not looked at.) */
bool packer_room_for(const struct packer_room *, const struct fragment *);
/* Attach one more relocation to the fragment that was added last.  There is always room for
 * one behind a fragment without relocations; ERR_FORMAT: there is no room for more. */
int packer_add_reloc(struct packer *, const struct ndz_reloc *, struct err *);
/* List in the last chunk the sectors of the image that are zeros because they could not be
 * read.  To be called before packer_finish().  ERR_NOMEM. */
int packer_note_lost(struct packer *, struct lostset *, struct err *);
/* Close the image; `total` is the size of the imaged area in sectors.  An
 * image without any fragment is ERR_FORMAT ("nothing to store"). */
int packer_finish(struct packer *, uint64_t total, struct err *);
/* How many chunks were closed so far; the last one may not have been written yet. */
uint32_t packer_chunks(const struct packer *);

#endif /* COMMON_IMAGE_WRITE_PACKER_H */
