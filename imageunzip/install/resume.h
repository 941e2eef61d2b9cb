/* resume.h: continues an installation where it stopped (--state): the chunks that are on
 * the target are recorded in a file, or on the target itself. */
#ifndef IMAGEUNZIP_INSTALL_RESUME_H
#define IMAGEUNZIP_INSTALL_RESUME_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "imageunzip/install/job.h"
#include "imageunzip/install/state_slot.h"
#include "imageunzip/install/state.h"
#include "imageunzip/install/target.h"

struct resume {
	struct target *target;
	struct state *state;    /* NULL: nothing is recorded */
	bool in_target;         /* --state=target */
	struct state_slot slot; /* used with in_target */
	uint32_t expected, had; /* chunks: of the image; on the target before this run */
	/* Which of the latter have digests that the state kept: a bit for each chunk,
	 * owned, or NULL; and how many. */
	uint8_t *digested;
	uint32_t ndigested;
};

/* Called before the target is opened; sets state and in_target. ERR_FORMAT: the file is
 * no state; ERR_USAGE: --state was combined with keys. */
int resume_open(struct resume *, const struct install_config *, struct err *);
/* Called when the target is open.  ERR_USAGE: an installation to this target cannot be
 * resumed. */
int resume_attach(struct resume *, struct target *, struct err *);
/* Close the state and free the slot. */
void resume_close(struct resume *);
/* Is there an installation that can be continued? */
bool resume_pending(const struct resume *);
/* Is this chunk on the target, by the state? */
bool resume_has(const struct resume *, uint32_t chunk);
/* Called with what chunk 0 says, for an installation of one partition, before resume_has() is
 * asked.  Such an installation need not be fed chunk 0, so a state on the target that belongs to
 * another image is forgotten here; otherwise chunks would be passed that were never installed.
 * ERR_NOMEM. */
int resume_meet(struct resume *, const struct ext *first, struct err *);
/* Called with the first chunk that is fed, before anything is written: continues the
 * installation, or begins one.  ERR_REFUSED: the state file belongs to another
 * installation. */
int resume_settle(struct resume *, const struct job *, struct err *);
/* Called with each chunk that is fed; chunk 0 shows whether the state belongs to this
 * image (ERR_REFUSED). */
int resume_fed(struct resume *, const struct job *, struct err *);
/* After chunk 0 was fed: does the state still need a place on the target? If so,
 * resume_offer() looks for one in any chunk that was not fed yet. */
bool resume_lacks_place(struct resume *);
int resume_offer(struct resume *, const void *bytes, uint32_t number, struct err *);
/* resume_claim() is called before a chunk is written, and may place the state in its free
 * space; resume_note() is called when the chunk was written, and records it. Both may be
 * called from any thread. */
int resume_claim(
    struct resume *, const struct ndz_header *, uint32_t number, struct err *);
int resume_note(struct resume *, const struct job *, struct err *);
/* How many chunks of earlier runs are not in the ledger, with --read-back; and is this
 * one? */
uint32_t resume_undigested(const struct resume *);
bool resume_has_undigested(const struct resume *, uint32_t chunk);
/* Called before what the chunks have written is corrected: their digests are not true
 * after that, and the state forgets them. */
int resume_correct(struct resume *, struct err *);
/* What was written is not there: forget which chunks are installed, so that the next run
 * begins anew. */
void resume_doubt(struct resume *);
/* Called when all is written, before the incomplete marker is removed: a state that
 * outlived the marker would describe a disk that has changed since.  A state on the target
 * becomes free space again. */
int resume_forget(struct resume *, struct err *);
/* Called when the installation is complete: removes the state file. */
int resume_done(struct resume *, struct err *);

#endif /* IMAGEUNZIP_INSTALL_RESUME_H */
