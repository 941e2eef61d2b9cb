/* lvm2_map.h: opens a logical volume (LV) that lies wholly on one PV as a disk. */
#ifndef FSMODS_LVM2_LVM2_MAP_H
#define FSMODS_LVM2_LVM2_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/range.h"

/* A segment: LV sectors dealt out in stripes to areas; linear: one area. */
struct lvm_segment {
	struct range lv;           /* sectors of the LV */
	uint64_t stripe;           /* sectors */
	size_t first_area, nareas; /* of lvm_map.areas */
};

struct lvm_map {
	struct disk *disk;
	uint64_t base;                /* sector of the disk where the PV starts */
	struct lvm_segment *segments; /* in order, without gaps; owned */
	size_t nsegments, segments_cap;
	uint64_t *areas; /* where each starts, sectors of the PV; owned */
	size_t nareas, areas_cap;
	uint64_t sectors; /* of the LV */
};

/* Free the arrays; the map is empty afterwards. */
void lvm_map_free(struct lvm_map *);
/* Append a segment of the LV; sectors: its length; stripe: the length of a stripe, in
 * sectors. lvm_map_area() then appends each of its areas; start: the area's first sector
 * on the PV. ERR_NOMEM. */
int lvm_map_segment(struct lvm_map *, uint64_t sectors, uint64_t stripe, struct err *);
int lvm_map_area(struct lvm_map *, uint64_t start, struct err *);
/* Open the LV as a disk, which the caller closes. It reads through the map, which must
 * outlive it. */
int lvm_map_open(struct lvm_map *, const char *name, struct disk **, struct err *);
/* Call fn with the sectors of the PV that hold a range of the LV, once for each area of a
 * segment. Returns -1 as soon as fn does. */
int lvm_map_each(const struct lvm_map *, struct range lv,
    int (*fn)(void *arg, struct range pv, struct err *), void *arg, struct err *);

#endif /* FSMODS_LVM2_LVM2_MAP_H */
