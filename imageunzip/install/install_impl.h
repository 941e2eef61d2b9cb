/* install_impl.h: what the parts of an installation share. */
#ifndef IMAGEUNZIP_INSTALL_INSTALL_IMPL_H
#define IMAGEUNZIP_INSTALL_INSTALL_IMPL_H

#include "common/image/format/tiling.h"
#include "common/image/read/image.h"
#include "imageunzip/install/cover.h"
#include "imageunzip/install/gate.h"
#include "imageunzip/install/install.h"
#include "imageunzip/install/job.h"
#include "imageunzip/install/resume.h"
#include "imageunzip/install/target.h"

struct ordered;
struct parts;
struct pipeline;
struct pool;

enum { WARNING_BYTES = 600 }; /* a sentence for the user */

/* The chunks with sectors of target.only that came: is one missing? */
struct seen {
	uint32_t count, low, high; /* of them, and their smallest and largest number */
	uint64_t from;             /* where that of the smallest number begins */
	uint64_t stored;           /* sectors, of those wanted */
};

struct install {
	/* --only: an installation for each partition, and nothing but cfg is used of
	 * this one; else NULL. */
	struct parts *parts;
	struct seen seen; /* of such an installation */
	unsigned only_number;
	struct install_config cfg;
	struct target target;
	char *unlink_path;       /* a new file, removed when it does not get whole */
	bool holds_data;         /* the file that is to become a new one, */
	uint64_t held_bytes;     /* and its length, until the user knows that it is cut */
	_Atomic bool must_empty; /* of something else, until the first good chunk */
	struct pipeline *pipe;
	struct ordered *work;
	struct pool *raws;
	size_t raw_bytes; /* of each */
	struct decoder *writer_decoder;
	struct image_identity id;
	bool ours; /* chunks say how many they are: of the feeder's thread */
	bool delta;
	uint32_t fed, passed, promised;
	struct gate gate;
	struct resume resume;
	struct cover cover;     /* what was fed, and whose the free space is */
	struct lost lost;       /* of them, when the last one was */
	struct tail tail;       /* of the image, when a chunk told of it */
	uint64_t tail_sectors[TAIL_PIECES_MAX]; /* of each piece, that were fed */
	struct tiling tiling;   /* of the chunks that were fed */
	unsigned sector_bytes;  /* logical, of the image's source; 0: not known */
	unsigned stale_wiped;
	bool warned_type;
	_Atomic uint64_t chunks;
};

/* install.c: */
/* What comes before a chunk's own way to the target: it is checked, and if it is the
 * first one, settled what the installation is; then it is noted.  When that fails, the job
 * is freed. */
int install_admit(struct install *, struct job *, struct err *);
/* The user may not want the file that is there to become so short; said once, as soon as
 * it is known. */
void install_tell_cut(struct install *, uint64_t bytes);

/* install_open.c: */
/* Is an existing regular file of that name replaced by a new one? */
bool install_makes_file(const struct install_config *, const char *path);
/* When the threads are gone and the target is closed. */
void install_free(struct install *);

/* install_threads.c: */
int install_threads_start(struct install *, struct err *);
/* Wait for them, and free what a failure left in the pipeline. */
int install_threads_stop(struct install *, struct err *);
/* A job on its way; taken over, also on failure. */
int install_submit(struct install *, struct job *, struct err *);
/* Give a job's buffer back, and what else it has. */
void install_retire(struct install *, struct job *);

/* install_only.c, for parts.c: */
/* Before the first chunk: only this partition of the image.  filesystems: the image's
 * description of its partitions, or NULL. */
int install_set_only(struct install *, const struct partition *, const char *filesystems,
    struct err *);
/* Then, what chunk 0 says, before any other chunk: ERR_REFUSED when the partition does not
 * hold the base of a delta. */
int install_only_open(struct install *, const struct ext *first, struct err *);
/* A chunk that has none of them: is it of this image, and what does it say of it? */
int install_look(struct install *, uint32_t number, const void *chunk, struct err *);
/* Does what ends there, counted from the first of them, fit? */
int install_only_fits(const struct install *, uint64_t stored_end, struct err *);
/* ERR_REFUSED: the image stores nothing of them. */
int install_only_nothing(const struct install *, struct err *);
/* The list of lost sectors of a chunk, as far as it is of the sectors that are wanted.
 */
int install_note_lost(struct install *, struct ext *, struct err *);
/* With each chunk that has some of them, fed or passed. */
void install_note_seen(struct install *, uint32_t number, const struct ndz_header *,
    const struct ndz_header *at);
/* When all came: ERR_FORMAT when one did not. */
int install_only_all_came(const struct install *, struct err *);

/* install_check.c: */
/* Everything that can be known of a chunk before its data is. */
int install_check_job(struct install *, struct job *, struct err *);
/* The part of it that the header alone tells. */
int install_check_header(struct install *, const struct ndz_header *, struct err *);
/* What the chunk with this header stores, noted where it is written. */
int install_note_stored(struct install *, const struct ndz_header *, struct err *);
/* What a chunk's record says of the image's tail: all say the same, and what is wanted
 * can be done. */
int install_learn_tail(struct install *, const struct tail *, struct err *);

#endif /* IMAGEUNZIP_INSTALL_INSTALL_IMPL_H */
