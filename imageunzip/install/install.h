/* install.h: installs chunks on a target: the last two stages of imageunzip and frisbee.
 *
 * Chunks come in any order. Each chunk is checked whole before its first byte is written:
 * its header, its extension area, that it belongs to the same image as the other chunks,
 * that its regions fit the target, and its stream with the Adler-32.
 *
 *	feed → [decoders] → writer → disk
 *
 * Decoders run in parallel; one writer takes the chunks in the order in which they were
 * fed (with no_writer the decoders write). A fixed set of buffers circulates, so memory
 * is bounded by write_bytes; a chunk that does not fit a buffer is decoded as a stream,
 * twice: to check it, then to write it.
 */
#ifndef IMAGEUNZIP_INSTALL_INSTALL_H
#define IMAGEUNZIP_INSTALL_INSTALL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/behind/behind.h"
#include "common/disk/disk.h"
#include "common/image/format/lost.h"
#include "common/image/format/opener.h"
#include "common/image/read/chunk.h"
#include "common/image/read/only.h"
#include "common/image/read/sink.h"

enum { INSTALL_STATE_S = 2 }; /* seconds; what state_s is without --state-interval */

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
	bool zero_all;      /* --zero-all: zero what was left out, too; with zero */
	bool discard;       /* --discard: discard the free space */
	bool skip_same;     /* --skip-same: write only what differs */
	bool read_back;     /* --read-back: compare what was written */
	bool has_pattern;   /* -p: fill the free space with `pattern` */
	uint32_t pattern;
	bool keep_stale;   /* --keep-stale: do not wipe stale signatures */
	bool convert;      /* --convert: rewrite the table for other sectors */
	bool fix_gpt;      /* --fix-gpt: move the GPT's backup to the disk's end */
	bool grow;         /* --grow: as fix_gpt, and enlarge the last partition */
	/* --fit: move and enlarge partitions by a plan: that of the file with this name;
	 * "": one that is computed; NULL: they stay. */
	const char *fit;
	bool no_follow; /* --no-follow: filesystems do not grow with their partitions */
	const char *fit_lv; /* --fit-lv: the volume of LVM that grows; NULL: see follow.h */
	enum install_tail tail; /* --tail */
	bool direct;       /* -f: direct writes, also to a file */
	bool no_writer;    /* -n */
	bool in_place;     /* --in-place: treat a regular file as a device */
	bool force;        /* --force: write also to a disk in use; skip the checks of gate.h */
	const char *state; /* --state: a file that survives a crash, or "target" */
	/* --check-base: the image or the signature of a delta's base; NULL: what the delta
	 * says of it is compared, and no more. */
	const char *check_base;
	uint64_t state_s;  /* --state-interval: seconds; INSTALL_STATE_S */
	uint64_t write_mb; /* -W: MiB of raw data in flight; 0: the default */
	uint64_t jobs;     /* -j: decoders; 0: one for each processor */
	struct opener_config opener; /* what whoever proves the chunks demands of them */
	/* Not an option: a delta onto a regular file, which becomes as long as the image
	 * says. Only with in_place. */
	bool resize;
	/* Not an option: the installation's threads run at a lower priority, because the
	 * program has a network that must not be kept waiting. */
	bool gentle;
	/* Not an option: it is rehearsed (rehearsal.h). */
	bool dry;
	/* Called when a plan changes partitions, before anything is written: is a system suspended
	 * on the image's disk?  where: as behind_suspended() has it.  NULL: it shows when all is
	 * written. */
	bool (*suspended)(void *arg, char where[BEHIND_WHERE_CAP]);
	void *suspended_arg;
	/* Called with a sentence about what else was done to the target; NULL: not
	 * called. */
	void (*say)(const char *sentence);
	/* Called with a warning that does not stop the run; NULL: not called. */
	void (*warn)(const char *sentence);
	/* Called with a function that removes a new target, and says what is left, when the
	 * program has to end at once, while all threads go on; called with NULL when the
	 * target is closed. NULL: not called. */
	void (*guard)(const char *(*tidy)(void *arg), void *arg);
	/* Called from another thread when the installation has failed; NULL: not called. */
	void (*failed)(void *arg);
	void *failed_arg;
	/* Called while the first chunk is fed: install_has() reported this chunk by a state on
	 * the target that belongs to another installation, so the chunk must be fed, too.
	 * NULL: not called. */
	void (*forgotten)(void *arg, uint32_t chunk);
	void *forgotten_arg;
};

/* ERR_USAGE when an option was chosen that has no meaning when an image is only copied
 * (-N). */
int install_check_raw(const struct install_config *, struct err *);

/* Does it help to feed chunk 0 first? It has the image's partition table; until it is
 * known, there is no place for --state=target, and free space is not filled. */
bool install_wants_table(const struct install_config *);

/* Get the sectors of partition `slice` of a disk (-s); len 0 when slice is 0, the whole
 * disk. ERR_ABSENT: there is no such partition; also errors of reading the table. */
int install_area(struct disk *, uint64_t slice, struct range *, struct err *);

struct install_stats {
	uint64_t chunks;
	uint64_t bytes_written; /* allocated data */
	uint64_t bytes_same; /* bytes not written, as they were there (--skip-same) */
	uint64_t bytes_filled;  /* -z, -p */
	uint64_t bytes_covered; /* of the disk, including skipped space */
	unsigned stale_wiped;   /* signatures */
	uint64_t tail_left_out; /* bytes of the image's tail */
	uint64_t tail_moved;    /* bytes of the tail that were moved, with --tail=move */
	struct lost lost;       /* as the image says; lost_free() */
};

struct install;
struct fitplan;

/* Open the target and start the threads. Nothing is written yet. Strings in the
 * configuration, and the name, stay the caller's until the end. Errors: ERR_USAGE
 * (options that exclude one another), ERR_REFUSED (in use), and those of opening the
 * target. */
int install_open(
    struct install **, const struct install_config *, const char *target, struct err *);
/* install_open() for a disk that is open; the disk is taken over, also on failure. fresh:
 * the disk is an empty file, which gets its length at the end. */
int install_open_disk(struct install **, const struct install_config *, struct disk *,
    bool fresh, struct err *);
/* Refuse now (ERR_REFUSED) an image that needs `sectors` sectors when the target has fewer. */
int install_check_fit(struct install *, uint64_t sectors, struct err *);
/* Refuse now (ERR_REFUSED) an image whose chunk 0 has this extension area when it was
 * surely not meant for this target; feeding chunk 0 does so, too. */
int install_check_meant(struct install *, const struct ext *, struct err *);
/* Must chunk 0 be fed before any other chunk of an image of this suite? Chunk 0 says
 * whether the image is meant for this target, or is a delta of what the target holds. */
bool install_waits(const struct install *);
/* Called before the first chunk with the number of chunks; --state needs it. */
void install_expect(struct install *, uint32_t nchunks);
/* Is this chunk on the disk already, by --state? Such a chunk need not be fed. The first
 * chunk that is fed shows whether the state belongs to this image (ERR_REFUSED; for a state
 * on the target forgotten() of the configuration is called instead). False for chunk 0. */
bool install_has(const struct install *, uint32_t chunk);
/* With --state=target, after chunk 0 was fed: is there no place for the state yet? If so,
 * chunks that have free space can be offered before it is their turn, with
 * install_offer(), so that the state has a place early. */
bool install_lacks_place(struct install *);
int install_offer(struct install *, uint32_t number, const void *chunk, struct err *);
/* How chunks can be read in any order, before any is fed, and once more at the end. */
struct install_again {
	uint32_t nchunks; /* 0: they cannot be */
	int (*header)(void *arg, uint32_t chunk, struct ndz_header *, struct err *);
	int (*read)(void *arg, uint32_t chunk, void *bytes, struct err *);
	void *arg; /* stays the caller's until the end, and so does the name */
	const char *name; /* of the image, for errors */
};
/* Called before the first chunk. With --read-back, what differs in the end is then
 * written once more, and what an earlier run has written is compared. */
void install_set_again(struct install *, const struct install_again *);
/* Does install_has() report any chunk? */
bool install_resumes(const struct install *);
/* Must chunks be fed in order, since the target is a pipe? */
bool install_in_order(const struct install *);
/* An image whose chunks can be read before any is fed: is it to be compared with the target what
 * a delta replaces?  If so, install_compare_base() is called with each chunk that has something
 * for the target, after the partitions of --only are known, and then, when all were right,
 * install_base_compared().  Chunks are not compared again when they are fed.  ERR_REFUSED: the
 * target does not hold what the chunk replaces. */
bool install_compares_base(const struct install *);
int install_compare_base(
    struct install *, uint32_t number, const void *chunk, struct err *);
void install_base_compared(struct install *);
/* Can install_decode() be called? */
bool install_decodes(const struct install *);
/* sink_decode(): threads of the installation decode a chunk that nothing else proves, before
 * anything is believed that it says; install_feed() does not decode it again, unless it was
 * too large for a buffer. */
bool install_decode(struct install *, struct proved *, sink_decoded_fn *, void *arg);
/* Give a proved chunk, which is taken over, also on failure.  Blocks while all buffers are in
 * use.  A chunk that install_has() reports is not written: only its header is checked and
 * recorded, so that stale signatures can be wiped at the end.  Where it was compared
 * (sink_compare()), the array of its part is taken over. */
int install_feed(struct install *, struct proved *, struct err *);
/* Find which fragments of a chunk are on the disk already, in (*same)[nfragments], which
 * the caller frees. Returns 1; 0: the chunk must be fed whole; -1. From any thread. */
int install_compare(struct install *, const struct chunk *, bool **same, struct err *);
/* Are only some partitions installed (--only)?  Then any chunk may be fed; one that has
 * nothing of the wanted partitions is only checked. */
bool install_is_only(const struct install *);
/* Do the partitions go where a plan says (--fit)?  Then install_choose() is called where the
 * image can be read in any order. */
bool install_fits(const struct install *);
/* The plan, as soon as the image's table is known; NULL: it is not, or there is none. */
const struct fitplan *install_plan(const struct install *);
/* Optional, after install_set_again() and before the first chunk: look into the image.
 * With --only, *wanted becomes a list of the chunks to feed, which the caller frees, and
 * *sectors how many are installed; otherwise it is found out how far an image reaches that
 * does not say it, and *wanted becomes NULL.  ERR_ABSENT: the image does not have one of the
 * partitions.  ERR_REFUSED: a partition does not fit, or the image stores nothing of it; the
 * target would cut a partition or filesystem. */
int install_choose(struct install *, bool **wanted, uint64_t *sectors, struct err *);
/* --only, and --fit until there is a plan, when each chunk of the image, of nchunks, can be
 * asked for: after this, install_learn() is called with each chunk that comes, before it is
 * fed, and then install_wants() until it is false.  ERR_NOMEM. */
int install_search(struct install *, uint32_t nchunks, struct err *);
/* Learn where the partitions are, or how far the image reaches, from a chunk that was proved
 * and decrypted.  Errors are those of install_choose(). */
int install_learn(struct install *, uint32_t number, const void *chunk, struct err *);
/* Get the next chunk to ask for. A chunk is not given out again before it was learned from.
 * false: there is nothing to ask for now. */
bool install_wants(struct install *, uint32_t *chunk);

/* Called when all chunks were fed: wait for the threads, fill the rest of the free space,
 * set the partition type, size a new file, sync, close. Returns 0 only when every byte is
 * where it belongs. Frees the installation, also on failure; s->lost is the caller's
 * after a success, and after a failure *left says what is left of the target. */
int install_finish(
    struct install *, struct install_stats *, enum sink_left *left, struct err *);
/* Give up: stop the threads, close, free. A regular file is removed when it was new, or
 * was emptied for the first chunk. Returns what is left of the target. NULL is fine. */
enum sink_left install_abort(struct install *);
/* Has a thread failed? If so, install_finish() returns its error. */
bool install_failed(struct install *);
/* Bytes of the disk that are done, for progress lines; from any thread. */
uint64_t install_bytes_covered(struct install *);

#endif /* IMAGEUNZIP_INSTALL_INSTALL_H */
