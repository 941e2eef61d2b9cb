/* lvm2_impl.h: reads LVM2's label, metadata areas and text; for lvm2*.c only.
 *
 * Layouts: lvm2's headers as described by the libvslvm project ("Logical Volume Manager
 * (LVM) format") and by pvck(8) and vgcfgbackup(5); all numbers are little endian. The
 * text is what vgcfgbackup writes.
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

/* Decode the label of the PV in a partition: 1 it is a PV, 0 it is not, -1 cannot be
 * read. */
int lvm_label(struct disk *, struct range part, struct lvm_pv *, struct err *);

/* A part of the text: what stands between quotes, braces or brackets. The characters are
 * borrowed. */
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

/* Read the newest metadata whose checksum is right. The caller frees *buf (NULL after an
 * error); *vg is the body of the volume group's section in it. Errors: ERR_FORMAT,
 * ERR_UNSUPPORTED (the metadata is on other disks), or those of reading. */
int lvm_metadata(struct disk *, struct range part, const struct lvm_pv *, char **buf,
    struct lvm_text *vg, struct err *);

/* Take the next item of a section's or list's body: 1, 0 at the end, -1 damaged. The
 * functions do not recurse, and *rest shrinks with each call. */
int lvm_next(struct lvm_text *rest, struct lvm_item *, struct err *);
int lvm_list_next(struct lvm_text *rest, struct lvm_item *, struct err *);
/* Get the item of this name and kind: 0, or -1 (ERR_FORMAT) when it is missing or of
 * another kind. */
int lvm_get(struct lvm_text body, const char *name, enum lvm_kind, struct lvm_item *,
    struct err *);
/* Is the text this string, or are two texts equal? */
bool lvm_text_is(struct lvm_text, const char *);
bool lvm_text_same(struct lvm_text, struct lvm_text);
/* Are all members of a list strings of `known` (NULL-terminated)? 1 yes, 0 no, -1
 * damaged. *seen: bit i is set when known[i] is in the list. */
int lvm_list_known(
    struct lvm_text list, const char *const known[], unsigned *seen, struct err *);

#endif /* FSMODS_LVM2_LVM2_IMPL_H */
