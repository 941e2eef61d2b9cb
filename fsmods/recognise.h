/* recognise.h: what is this that no module looks into?  For messages alone: nothing is
 * left out because of the answer. */
#ifndef FSMODS_RECOGNISE_H
#define FSMODS_RECOGNISE_H

#include "common/disk/disk.h"
#include "common/disk/range.h"

struct recognised {
	char text[128];
};

/* "a JFS filesystem, which is not looked into"; "no known filesystem" when nothing is
 * recognised, more than one thing is, or it cannot be read. */
struct recognised recognise(struct disk *, struct range part);

#endif /* FSMODS_RECOGNISE_H */
