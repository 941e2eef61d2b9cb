/* install_impl.h: what the parts of an installation share. */
#ifndef IMAGEUNZIP_INSTALL_INSTALL_IMPL_H
#define IMAGEUNZIP_INSTALL_INSTALL_IMPL_H

#include "common/image/format/tiling.h"
#include "common/image/read/image.h"
#include "imageunzip/install/free_space.h"
#include "imageunzip/install/gate.h"
#include "imageunzip/install/install.h"
#include "imageunzip/install/job.h"
#include "imageunzip/install/resume.h"
#include "imageunzip/install/target.h"

struct disk_hold;
struct fit;
struct guess;
struct imgtable;
struct ordered;
struct part_search;
struct pipeline;
struct pool;
struct rehearsal;

enum { WARNING_BYTES = 600 }; /* a sentence for the user */

/* The chunks with sectors of target.only that came, to find out whether one is missing. */
struct seen {
	uint32_t count, low, high; /* number of these chunks; their smallest and largest number */
	uint64_t from;             /* sector where chunk `low` begins */
	uint64_t stored;           /* wanted sectors that these chunks store */
};

/* What is installed to: the whole target, or one partition of it.  Each has its maps, its
 * first 4 KiB, its marker and its state, and is completed by itself. */
struct place {
	struct install *in;   /* borrowed */
	unsigned number;      /* --only: of the image's partition; 0: all of the image */
	bool known;           /* where that partition is */
	struct target target;
	struct gate gate;
	struct resume resume;
	struct free_space free_space;   /* what was fed, and which free space is the image's */
	struct tiling tiling; /* of the chunks that were fed */
	struct seen seen;     /* with --only */
	uint32_t fed, passed; /* chunks */
	bool reach_checked; /* how far the image reaches was compared with the target */
};

struct install {
	struct install_config cfg;
	struct disk *disk;
	bool is_stream; /* the disk is a pipe */
	struct rehearsal *rehearsal; /* nothing is written; the disk's; or NULL */
	struct disk_hold *hold; /* of the partitions that are installed to, or NULL */
	unsigned n;          /* places: one, or one for each partition of --only */
	struct place *place; /* owned */
	char *unlink_path;       /* a new file, removed when it is not completed */
	bool holds_data;         /* the file that will be replaced by a new one holds data */
	uint64_t held_bytes;     /* that file's length */
	_Atomic bool must_empty; /* the file is to be emptied with the first good chunk */
	struct pipeline *pipe;
	struct ordered *work;
	struct pool *raws;
	size_t raw_bytes; /* of each */
	struct decoder *writer_decoder;
	/* Chunks that are decoded before they are proved (install_decode.c). */
	struct proof *proofs; /* [nproofs] */
	size_t nproofs;
	struct queue *to_decode; /* of struct proof */
	struct image_identity id;
	bool ours; /* made by this suite: chunks have an extension area (feeder's thread) */
	bool delta;
	uint32_t promised;
	struct lost lost;       /* lost sectors, known from the last chunk */
	struct tail tail;       /* of the image; n is 0 until a chunk described it */
	uint64_t tail_sectors[TAIL_PIECES_MAX]; /* sectors of each piece that were fed */
	unsigned sector_bytes;  /* logical, of the image's source; 0: not known */
	unsigned stale_wiped;
	bool warned_type;
	struct install_again again;
	bool of_disk; /* the image has a partition table, as far as it is known */
	bool foreign; /* it is of a program that lets it be installed anywhere */
	struct guess *guess; /* how far an image reaches that does not say it, or NULL */
	_Atomic uint64_t chunks;
	/* --only: */
	struct imgtable *table;
	bool known;          /* where all partitions are */
	bool has_first;
	struct ext first;    /* what chunk 0 says; owned */
	uint64_t passed_end; /* end of the chunks that went by, sectors */
	/* Chunks are asked for one by one; NULL: all come, or those of install_choose(). */
	struct part_search *search;
	struct fit *fit; /* --fit, or NULL */
};

/* install.c: */
/* Check a chunk before it goes to the threads, and note what it stores; the first chunk
 * also settles what the installation is. The job is freed on failure. */
int install_admit(struct job *, struct err *);
/* Say that the file, if it holds anything, is replaced by a new one of so many bytes (0: it is
 * not known). */
void install_tell_replaced(const struct install *, uint64_t bytes);

/* install_open.c: */
/* Is the target, if it is a regular file or does not exist, made as a new file? */
bool install_makes_file(const struct install_config *, const char *path);
/* Close all places and the disk, when the threads are gone; checks that nothing was lost. */
int install_close(struct install *, struct err *);
/* Free the installation, when the target is closed. */
void install_free(struct install *);

/* install_end.c: */
/* What is left of the target when the installation does not end well; removed: the new file
 * is gone.  Also while the threads go on. */
enum sink_left install_left(const struct install *, bool removed);

/* install_threads.c: */
/* Make the buffers and start the writer and the decoders. ERR_NOMEM, or errors of
 * starting threads. */
int install_threads_start(struct install *, struct err *);
/* Wait for the threads, and free what a failure left in the pipeline. Returns their first
 * error. */
int install_threads_stop(struct install *, struct err *);
/* Hand a job to the threads; it is taken over, also on failure. Blocks while all buffers
 * are in use. */
int install_submit(struct job *, struct err *);
/* Lower the priority of the thread that calls it, if that was chosen. */
void install_give_way(const struct install *);
/* Give the job's buffer back, and free the job. */
void install_retire(struct job *);

/* install_decode.c: */
/* Make what is needed, when the pipeline and the pool, of `buffers`, are there.  False: there
 * is no memory. */
bool install_decode_prepare(struct install *, size_t buffers);
/* The thread, of which there are several. */
int install_proving_stage(void *install, struct err *);
/* Called when the threads are gone: what was decoded is forgotten. */
void install_decode_stop(struct install *);
/* Give the job what was decoded of its chunk, if that fits a buffer. */
void install_take_decoded(struct job *);
void install_decode_free(struct install *);

/* install_only.c, for --only: */
/* Find the partitions, if the table is known far enough. ERR_ABSENT: the image does not have
 * one of them. ERR_REFUSED: a partition does not fit. */
int only_settle(struct install *, struct err *);
/* Does data that ends at this sector, counted from the partition's first, fit?
 * ERR_REFUSED. */
int only_fits(const struct place *, uint64_t stored_end, struct err *);
/* Set ERR_REFUSED: the image stores nothing of the partition. Returns -1. */
int only_nothing(const struct place *, struct err *);
/* Note a chunk that was fed or passed and has wanted sectors; at: the header cut to them. */
void only_note_seen(struct place *, uint32_t number, const struct ndz_header *,
    const struct ndz_header *at);
/* Called at the end: ERR_FORMAT when a chunk of the partition did not come; ERR_USAGE when the
 * image does not have it. */
int only_all_came(const struct place *, struct err *);
/* Cut the list of lost sectors to the partitions. */
int only_cut_lost(struct install *, struct err *);

/* install_choose.c: */
/* Is a chunk with this sector needed to know the table, or how far the image reaches? */
bool install_lacks(struct install *, uint64_t *sector);
/* No chunk has this sector.  Errors of install_choose(). */
int install_cannot(struct install *, uint64_t sector, struct err *);

/* part_search.c: */
/* Learn from the header of a chunk that came, and add the chunks to ask for now to those of
 * install_wants(). ERR_FORMAT, ERR_REFUSED (what is stored does not fit), ERR_NOMEM. */
int part_search_learn(
    struct install *, uint32_t number, const struct ndz_header *, struct err *);
/* Does the place take the chunk that was learned from last? */
bool part_takes(const struct place *);
void part_search_free(struct install *);

/* install_check.c: */
/* The UUID by which the incomplete marker names the image of this chunk. */
const uint8_t *install_uuid(const struct chunk *);
/* Does the target's marker, or a state, say that an installation was interrupted there? */
bool install_begun(const struct place *);
/* Refuse a delta where its base cannot be, or would be lost.  ERR_REFUSED. */
int install_check_delta(const struct place *, const struct chunk *, struct err *);
/* Check everything that can be known of a chunk before its data is decoded. */
int install_check_job(struct job *, struct err *);
/* Check what the header alone tells. */
int install_check_header(struct place *, const struct ndz_header *, struct err *);
/* Note what the chunk with this header stores, at the place where it is written. */
int install_note_stored(struct place *, const struct ndz_header *, struct err *);
/* Take a chunk's record of the image's tail: all records must be equal (ERR_FORMAT), and
 * --tail must be possible (ERR_REFUSED). */
int install_learn_tail(struct place *, const struct tail *, struct err *);

/* install_recheck.c: */
/* Called when all data is written, before anything is corrected: look again at what was
 * written, and mend it if that can be done. ERR_IO: the disk does not hold it; the marker
 * stays, and a state names no chunk any more. */
int install_recheck_data(struct place *, struct err *);
/* Called before the incomplete marker goes: the same without mending, if anything was
 * written since. */
int install_recheck_again(struct place *, struct err *);

/* install_reach.c: */
/* Compare with the target, once, how far the image reaches, as its chunk 0 says; if it
 * does not say it, nothing is refused here. ERR_REFUSED. */
int install_check_reach(struct place *, const struct ext *first, struct err *);
/* Is this the first chunk of an image that does not say how far it reaches, so that all
 * of it is needed? */
bool install_guesses(const struct place *, const struct chunk *);
/* Find out from a chunk of such an image how far it reaches; chunk 0 comes first. A chunk
 * may come again. ERR_REFUSED, ERR_FORMAT, ERR_NOMEM. */
int install_guess(struct place *, uint32_t number, const struct chunk *,
    const void *bytes, struct err *);
int install_guess_job(const struct job *, struct err *);
/* Compare what was found of the image with the target. ERR_REFUSED. */
int install_compare_reach(struct place *, const struct reach *, struct err *);

/* install_written.c: */
/* Look at the target, when all is written, for what was not looked at in chunks of an
 * image that does not say how far it reaches. ERR_REFUSED, ERR_NOMEM. */
int install_check_written(struct place *, struct err *);

#endif /* IMAGEUNZIP_INSTALL_INSTALL_IMPL_H */
