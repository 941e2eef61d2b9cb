/* lvm2_impl.h: LVM2's label, metadata areas and text, for lvm2*.c.
 *
 * Layouts: lvm2's headers as described by the libvslvm project ("Logical Volume
 * Manager (LVM) format") and by pvck(8) and vgcfgbackup(5); all numbers are
 * little endian.  The text is what vgcfgbackup writes.
 *
 *	label → metadata areas → the newest text → our PV and the LVs in it
 */
#ifndef FSMODS_LVM2_LVM2_IMPL_H
#define FSMODS_LVM2_LVM2_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/range.h"

enum {
	LVM_UUID_CHARS = 32,
	LVM_AREAS_MAX = 15, /* of one kind; a label has no room for more */
};

/* What the label of a PV says.  Offsets and sizes are bytes of the PV. */
struct lvm_pv {
	char uuid[LVM_UUID_CHARS]; /* without its dashes */
	unsigned ndata, nmeta;
	struct range data[LVM_AREAS_MAX], meta[LVM_AREAS_MAX];
};

/* 1 a PV, 0 not, -1 cannot read it. */
int lvm_label(struct disk *, struct range part, struct lvm_pv *, struct err *);

/* A part of the text: what is between quotes, braces or brackets.  Borrowed. */
struct lvm_text {
	const char *p;
	size_t len;
};

enum lvm_kind { LVM_SECTION, LVM_STRING, LVM_NUMBER, LVM_LIST, LVM_OTHER };

struct lvm_item {
	struct lvm_text name; /* empty in a list */
	enum lvm_kind kind;
	struct lvm_text text; /* of sections, strings and lists */
	uint64_t number;
};

/* The newest metadata whose checksum is right: *buf is to be freed, *vg is the
 * body of the volume group's section in it.  ERR_FORMAT when there is none. */
int lvm_metadata(struct disk *, struct range part, const struct lvm_pv *, char **buf,
    struct lvm_text *vg, struct err *);

/* The next item of a section's or list's body: 1, 0 at the end, -1 damaged.
 * Never recurses; *rest shrinks with each call. */
int lvm_next(struct lvm_text *rest, struct lvm_item *, struct err *);
int lvm_list_next(struct lvm_text *rest, struct lvm_item *, struct err *);
/* The item of this name and kind: 0, or -1 when it is missing or another kind. */
int lvm_get(struct lvm_text body, const char *name, enum lvm_kind, struct lvm_item *,
    struct err *);
bool lvm_text_is(struct lvm_text, const char *);
bool lvm_text_same(struct lvm_text, struct lvm_text);
/* Are all strings of a list among `known` (NULL-terminated)?  *seen: a bit for
 * each that is there.  1, 0, -1. */
int lvm_list_known(
    struct lvm_text list, const char *const known[], unsigned *seen, struct err *);

#endif /* FSMODS_LVM2_LVM2_IMPL_H */
