/* install.h: chunks → disk: the last two stages, for imageunzip and frisbee.
 *
 * Chunks come in any order.  Each is checked whole before its first byte is
 * written: header, extension, identity with the other chunks, that its regions
 * fit the target, the stream and its Adler-32.
 *
 *	feed → [decoders] → writer → disk
 *
 * Decoders run in parallel; one writer takes the chunks in the order in which
 * they were fed (with no_writer the decoders write).  A fixed set of buffers
 * circulates, so memory is bounded by write_bytes; a chunk that does not fit a
 * buffer is decoded as a stream, twice: to check it, then to write it.
 */
#ifndef IMAGEUNZIP_INSTALL_INSTALL_H
#define IMAGEUNZIP_INSTALL_INSTALL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/image/format/lost.h"
#include "common/image/format/proof.h"
#include "common/image/read/chunk.h"
#include "common/image/read/only.h"

enum { INSTALL_STATE_S = 2 }; /* a struct install_config begins with this state_s */

/* --tail: what becomes of the end of the image's disk. */
enum install_tail {
	INSTALL_TAIL_SAME, /* written to a disk of the same size, left out elsewhere */
	/* as SAME, but moved to the end of a larger disk, if that is possible */
	INSTALL_TAIL_MOVE,
	INSTALL_TAIL_SKIP, /* left out */
};

/* What imageunzip and frisbee let the user choose. */
struct install_config {
	uint64_t slice;     /* -s: partition number, 0: the whole target */
	/* --only: these partitions of an image of a disk, into those of the same
	 * numbers, or one of them into `slice`. */
	struct only_list only;
	uint64_t part_type; /* -D: MBR type or GPT code, 0: leave it */
	bool zero;          /* -z: zero the free space */
	bool discard;       /* --discard it */
	bool skip_same;     /* --skip-same: write only what differs */
	bool read_back;     /* --read-back: compare what was written */
	bool has_pattern;   /* -p: fill it with this instead */
	uint32_t pattern;
	bool keep_stale;   /* --keep-stale: do not wipe stale signatures */
	bool convert;      /* --convert: a table for other sectors */
	bool fix_gpt;      /* --fix-gpt: the backup to the disk's end */
	bool grow;         /* --grow: the last partition, too */
	enum install_tail tail; /* --tail */
	bool direct;       /* -f: direct writes, also to a file */
	bool no_writer;    /* -n */
	bool in_place;     /* --in-place: treat a regular file as a device */
	bool force;        /* --force: write to a disk in use, too, and without gate.h */
	const char *state; /* --state: a file that survives a crash, or "target" */
	uint64_t state_s;  /* --state-interval: seconds; INSTALL_STATE_S */
	uint64_t write_mb; /* -W: MiB of raw data in flight; 0: the default */
	uint64_t jobs;     /* -j: decoders; 0: one a processor */
	/* The caller must prove chunks before it feeds them. */
	struct proof_config proof;
	/* Not an option: the rest of the disk may be in use.  With slice. */
	bool shares_disk;
	/* Not an option: a delta onto a regular file, which becomes as long as the
	 * image says.  With in_place. */
	bool resize;
	/* Not an option: the installation's threads run at a lower priority, because the
	 * program has a network that must not be kept waiting. */
	bool gentle;
	/* Not an option; set by install_trust_digests(). */
	bool digests_checked;
	/* Told what else was done to the target; NULL: not called. */
	void (*say)(const char *sentence);
	/* Told a warning that does not stop the run; NULL: not called. */
	void (*warn)(const char *sentence);
	/* Told a function that removes the target when the program has to end at once,
	 * while all threads go on, and NULL when there is nothing to remove any more.
	 * NULL: not called. */
	void (*guard)(void (*tidy)(void *arg), void *arg);
	/* Called from another thread when something has failed while nobody was feeding.
	 * Or NULL. */
	void (*failed)(void *arg);
	void *failed_arg;
};

/* ERR_USAGE when something was chosen that means nothing to bytes that are only
 * copied (-N). */
int install_check_raw(const struct install_config *, struct err *);

/* Does it help to feed chunk 0 first?  The image's partition table is in it: without it
 * there is no place for --state=target, and filling free space waits for the end. */
bool install_wants_table(const struct install_config *);

/* The sectors of partition `slice` of a disk (-s), or len 0 for 0, the whole. */
int install_area(struct disk *, uint64_t slice, struct range *, struct err *);

struct install_stats {
	uint64_t chunks;
	uint64_t bytes_written; /* allocated data */
	uint64_t bytes_same; /* the part of it that was there already (--skip-same) */
	uint64_t bytes_filled;  /* -z, -p */
	uint64_t bytes_covered; /* with what was skipped */
	unsigned stale_wiped;   /* signatures */
	uint64_t tail_left_out; /* bytes of the image's tail */
	uint64_t tail_moved;    /* the bytes of it that were moved, with --tail=move */
	struct lost lost;       /* as the image says; lost_free() */
};

struct install;

/* Open the target and start the threads.  Nothing is written yet. */
int install_open(
    struct install **, const struct install_config *, const char *target, struct err *);
/* install_open() for a disk that is open; it is taken over, also on failure.  With `fresh`
 * it is an empty file, which gets its length at the end. */
int install_open_disk(struct install **, const struct install_config *, struct disk *,
    bool fresh, struct err *);
/* Refuse now (ERR_REFUSED) an image that needs `sectors` sectors when the target has fewer. */
int install_check_fit(struct install *, uint64_t sectors, struct err *);
/* Refuse now (ERR_REFUSED) an image of which chunk 0 says this when it was surely not
 * meant for this target; feeding chunk 0 does so, too. */
int install_check_meant(struct install *, const struct ext *, struct err *);
/* Must chunk 0 be fed before any other chunk of an image of this suite?  It says
 * whether the image is meant for this target, or is a delta of what it holds. */
bool install_waits(const struct install *);
/* Before the first chunk: how many there will be.  --state needs it. */
void install_expect(struct install *, uint32_t nchunks);
/* The caller has checked the digests of all chunks that it feeds whole, so they are not
 * checked again.  Called before the first chunk. */
void install_trust_digests(struct install *);
/* Is this chunk on the disk already, by --state?  Then it need not be fed; what
 * is fed first shows whether that is true (ERR_REFUSED).  Never chunk 0. */
bool install_has(const struct install *, uint32_t chunk);
/* Optional: hand in a chunk that install_has() reports.  It is not written, and only its
 * header is checked and recorded, so that stale signatures can be wiped at the end. */
int install_pass(struct install *, uint32_t number, const void *chunk, struct err *);
/* --state=target, when chunk 0 was fed: is there no place for the state yet?  Then
 * chunks that have free space can be offered before it is their turn, so that there
 * is one early. */
bool install_lacks_place(struct install *);
int install_offer(struct install *, uint32_t number, const void *chunk, struct err *);
/* Does install_has() report any chunk? */
bool install_resumes(const struct install *);
/* Must chunks be fed in order, since the target is a pipe? */
bool install_in_order(const struct install *);
/* Give a chunk of NDZ_CHUNK_BYTES.  Blocks while all buffers are in use.
 * released(arg, chunk) is called exactly once, from any thread, when the bytes
 * are no longer needed; also when install_feed() itself fails. */
int install_feed(struct install *, uint32_t number, const void *chunk,
    void (*released)(void *arg, const void *chunk), void *arg, struct err *);
/* Which fragments of a chunk are on the disk already, in (*same)[nfragments], the
 * caller's to free?  1; 0: the chunk must be fed whole; -1.  From any thread. */
int install_compare(struct install *, const struct chunk *, bool **same, struct err *);
/* install_feed() for a chunk that was compared; same is taken over.  partial: only the
 * fragments that differ are there, and the header has a digest of its own. */
int install_feed_compared(struct install *, uint32_t number, const void *chunk,
    bool *same, bool partial, void (*released)(void *arg, const void *chunk), void *arg,
    struct err *);

/* --only (install_config.only).  What may be fed is any chunk: what does not belong to
 * a partition that is wanted is looked at, and left.  How whoever feeds comes by
 * chunks: */
enum install_source {
	INSTALL_STREAM, /* one after the other, each once; if nothing else is said */
	INSTALL_FILE, /* each is at hand: install_lacks() is asked for, then headers */
	INSTALL_SEARCH, /* each can be asked for: install_wants() says which */
};
/* Are only some partitions installed? */
bool install_is_only(const struct install *);
/* Before the first chunk; nchunks: of the image. */
int install_only_source(
    struct install *, enum install_source, uint32_t nchunks, struct err *);
/* A chunk, proved and decrypted, that is fed next or not at all: where the partitions
 * are.  ERR_USAGE: the image has not got one of them.  ERR_REFUSED: it does not fit. */
int install_learn(struct install *, uint32_t number, const void *chunk, struct err *);
/* INSTALL_FILE: true when install_learn() needs the chunk with this sector, to find the
 * partitions.  install_cannot() says that there is no such chunk.  false: the partitions
 * are known. */
bool install_lacks(struct install *, uint64_t *sector);
int install_cannot(struct install *, uint64_t sector, struct err *);
/* INSTALL_FILE, then, for each chunk: ERR_REFUSED when what it stores does not fit;
 * *wanted: it is to be fed. */
int install_consider(
    struct install *, const struct ndz_header *, bool *wanted, struct err *);
/* INSTALL_FILE, behind all of these: ERR_REFUSED when the image stores nothing of one
 * of them. */
int install_considered(struct install *, struct err *);
/* How many sectors of the image are installed, once the partitions are known. */
uint64_t install_only_sectors(const struct install *);
/* INSTALL_SEARCH, behind each install_learn(): the next chunk to ask for, each once
 * until it was learned from; false: there is nothing to ask for now. */
bool install_wants(struct install *, uint32_t *chunk);

/* All chunks were fed: wait, fill the rest, set the partition type, size a new
 * file, sync, close.  0 only when every byte is where it belongs.  Frees. */
int install_finish(struct install *, struct install_stats *, struct err *);
/* Give up: stop the threads, close, free.  A regular file is removed when it was
 * new, or emptied for the first chunk. */
void install_abort(struct install *);
/* Has a thread failed?  Then install_finish() will tell why. */
bool install_failed(struct install *);
/* For progress lines, from any thread. */
uint64_t install_bytes_covered(struct install *);

#endif /* IMAGEUNZIP_INSTALL_INSTALL_H */
