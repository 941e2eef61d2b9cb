/* recognise.h: names the content of a partition that no module understands. The name is
 * for messages only: it does not decide what is stored. */
#ifndef FSMODS_RECOGNISE_H
#define FSMODS_RECOGNISE_H

#include "common/disk/disk.h"
#include "common/disk/range.h"

struct recognised {
	char text[128];
};

/* Returns "a JFS filesystem, which is not looked into", for example; "no known
 * filesystem" when nothing is recognised, when libblkid recognises more than one thing,
 * or when the partition cannot be read. */
struct recognised recognise(struct disk *, struct range part);

#endif /* FSMODS_RECOGNISE_H */
