/* states.h: what is remembered of a device for one target, found by what the user has named: the
 * source of change, the file of its states, and these. */
#ifndef DSYNC_EXTRACT_STATES_H
#define DSYNC_EXTRACT_STATES_H

#include <stdbool.h>

#include "common/base/err.h"
#include "dsync/change/bases.h"
#include "dsync/change/change.h"
#include "dsync/extract/extract.h"

struct states {
	const struct extract_config *cfg; /* borrowed */
	const struct change_kind *kind;
	struct change_job job;
	char *path; /* the file of the states; NULL: the kind remembers nothing */
	struct bases bases;
	bool look_only; /* nothing of what is remembered may change */
};

/* Find the source of change and its file, and open nothing.  states_end() is called in any case.
 * ERR_USAGE: there is no such source, or it needs the name of a file; ERR_NOMEM. */
int states_find(struct states *, const struct extract_config *, struct err *);
/* Open the file, `how` of enum bases_how; without one, this is no error.  Errors of bases_open(). */
int states_open(struct states *, unsigned how, struct err *);
/* Find and open the states of a source that has some, without making a file.  ERR_USAGE: the source
 * has none; errors of both. */
int states_look(struct states *, const struct extract_config *, struct err *);
/* Forget all states, but not the lineage.  With look_only, what the source keeps of them stays. */
void states_forget(struct states *);
/* A state is not needed any more: for the functions of bases.h, with the struct states. */
void states_dropped(void *states, const struct base *);
/* A struct of zeros is not allowed: states_find() comes first. */
void states_end(struct states *);

#endif /* DSYNC_EXTRACT_STATES_H */
