/* resume.h: going on with an installation where it stopped (--state): what is on the
 * target is remembered in a file, or on the target itself. */
#ifndef IMAGEUNZIP_INSTALL_RESUME_H
#define IMAGEUNZIP_INSTALL_RESUME_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "imageunzip/install/job.h"
#include "imageunzip/install/place.h"
#include "imageunzip/install/state.h"
#include "imageunzip/install/target.h"

struct resume {
	struct target *target;
	struct state *state;    /* NULL: nothing is remembered */
	bool in_target;         /* --state=target */
	struct place place;     /* then */
	uint32_t expected, had; /* chunks: of the image; there already */
};

/* Called before the target is opened; sets state and in_target.  A file that is no state is
 * refused. */
int resume_open(struct resume *, const struct install_config *, struct err *);
/* Called when the target is open.  ERR_USAGE: an installation to this target cannot be
 * resumed. */
int resume_attach(struct resume *, struct target *, struct err *);
void resume_close(struct resume *);
/* Is there an installation that can be continued? */
bool resume_pending(const struct resume *);
bool resume_has(const struct resume *, uint32_t chunk);
/* Called with the first chunk that is fed, before anything is written: continues the
 * installation, or begins one.  ERR_REFUSED: the state file belongs to another
 * installation. */
int resume_settle(struct resume *, const struct job *, struct err *);
/* Called with each chunk that is fed. */
int resume_fed(struct resume *, const struct job *, struct err *);
/* Behind chunk 0: is a place on the target still looked for?  Then any other chunk,
 * which is not fed yet, may have one. */
bool resume_lacks_place(struct resume *);
int resume_offer(struct resume *, const void *bytes, uint32_t number, struct err *);
/* Before a chunk is written, and when it was; from any thread. */
int resume_claim(
    struct resume *, const struct ndz_header *, uint32_t number, struct err *);
int resume_note(struct resume *, const struct job *, struct err *);
/* Called when all is written, before the incomplete marker is removed: a state that
 * outlived the marker would describe a disk that has changed since.  A state on the target
 * becomes free space again. */
int resume_forget(struct resume *, struct err *);
/* The installation is complete. */
int resume_done(struct resume *, struct err *);

#endif /* IMAGEUNZIP_INSTALL_RESUME_H */
