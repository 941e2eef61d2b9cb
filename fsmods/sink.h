/* sink.h: the members of a skip_sink, for sink.c, fsmods.c and relay.c. Modules include
 * fsmod.h only. */
#ifndef FSMODS_SINK_H
#define FSMODS_SINK_H

#include "fsmods/fsmod.h"

struct relay;

struct skip_sink {
	struct fs_scan *scan; /* where ranges are collected */
	struct relay *relay;  /* in a child: sends them to the parent instead; NULL otherwise */
	uint64_t part_sectors;
	uint64_t hot_sectors; /* that were added, with those that were added twice */
};

#endif /* FSMODS_SINK_H */
