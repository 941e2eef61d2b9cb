/* recognise.h: names the content of a partition that no module understands. The name is
 * for messages only: it does not decide what is stored. */
#ifndef FSMODS_RECOGNISE_H
#define FSMODS_RECOGNISE_H

#include <stdbool.h>

#include "common/disk/disk.h"
#include "common/disk/range.h"

struct recognised {
	bool known; /* something is recognised */
	char text[128];
};

/* Returns "a JFS filesystem, which is not looked into", for example; "no known
 * filesystem" when nothing is recognised, when libblkid recognises more than one thing,
 * or when the partition cannot be read. */
struct recognised recognise_content(struct disk *, struct range part);

/* Something that libblkid finds by a magic in a range of sectors. */
struct recognised_magic {
	char name[100];    /* "a filesystem of type jfs" */
	uint64_t at_bytes; /* where the magic is, from the beginning of the range */
};
enum { RECOGNISED_MAGICS = 16 };

/* Find everything that libblkid recognises in the range; returns how many there are in
 * v. */
size_t recognise_magics(
    struct disk *, struct range, struct recognised_magic v[RECOGNISED_MAGICS]);

#endif /* FSMODS_RECOGNISE_H */
