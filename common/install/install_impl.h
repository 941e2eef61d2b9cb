/* install_impl.h: what the parts of an installation share. */
#ifndef COMMON_INSTALL_INSTALL_IMPL_H
#define COMMON_INSTALL_INSTALL_IMPL_H

#include "common/disk/rangeset.h"
#include "common/install/install.h"
#include "common/install/job.h"
#include "common/install/resume.h"
#include "common/install/target.h"
#include "common/ndz/image.h"
#include "common/ndz/tiling.h"

struct ordered;
struct pipeline;
struct pool;

enum { WARNING_BYTES = 600 }; /* a sentence for the user */

struct install {
	struct install_config cfg;
	struct target target;
	char *unlink_path;       /* a new file, removed when it does not get whole */
	bool holds_data;         /* the file that is to become a new one */
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
	struct resume resume;
	struct rangeset stored; /* sectors of the image that were fed */
	struct lost lost;       /* of them, when the last one was */
	struct tiling tiling;   /* of the chunks that were fed */
	unsigned sector_bytes;  /* logical, of the image's source; 0: not known */
	unsigned stale_wiped;
	bool warned_type;
	_Atomic uint64_t chunks;
};

/* install_open.c: */
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

/* install_check.c: */
/* Everything that can be known of a chunk before its data is. */
int install_check_job(struct install *, struct job *, struct err *);

#endif /* COMMON_INSTALL_INSTALL_IMPL_H */
