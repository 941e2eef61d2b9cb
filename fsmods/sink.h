/* sink.h: what a skip_sink is; for fsmods.c and relay.c.  Modules know fsmod.h alone. */
#ifndef FSMODS_SINK_H
#define FSMODS_SINK_H

#include "fsmods/fsmod.h"

struct relay;

struct skip_sink {
	struct fs_scan *scan; /* collects here ... */
	struct relay *relay;  /* ... or, when there is one, in the parent process */
	uint64_t part_sectors;
};

#endif /* FSMODS_SINK_H */
