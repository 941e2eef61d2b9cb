/* only.c: the option --only of imageunzip, frisbee and imagedump, and how chunks are
 * cut to one partition.  No state: called from any thread. */
#include "common/image/read/only.h"

#include <string.h>

#include "common/base/number.h"
#include "common/disk/ptable.h"

enum { NUMBER_CAP = 12 };

static int
refuse_name(const char *arg, struct err *e)
{
	return err_set(e, ERR_USAGE,
	    "--only takes partition numbers such as 2 or 1,5, not \"%.80s\"; a logical "
	    "volume cannot be installed alone, but --only can install the whole "
	    "partition that its volume group is on",
	    arg);
}

static int
add_number(struct only_list *l, const char *text, size_t n, struct err *e)
{
	char number[NUMBER_CAP] = "";
	struct err why;
	uint64_t v;

	if (n == 0 || n >= sizeof number)
		return -1;
	memcpy(number, text, n);
	if (number_uint(number, 1, PTABLE_PARTS_MAX, &v, &why) != 0)
		return -1;
	for (unsigned i = 0; i < l->n; i++)
		if (l->number[i] == v)
			return err_set(
			    e, ERR_USAGE, "--only names partition %s twice", number);
	if (l->n == ONLY_MAX)
		return err_set(e, ERR_USAGE,
		    "--only takes at most %d partitions at a time", ONLY_MAX);
	l->number[l->n++] = (unsigned)v;
	return 0;
}

int
only_list_set(void *at, const char *arg, struct err *e)
{
	struct only_list *l = at;
	const char *p = arg;

	*l = (struct only_list){ .n = 0 };
	for (size_t n;; p += n + 1) {
		n = strcspn(p, ",");
		struct err why = { .kind = ERR_NONE };
		if (add_number(l, p, n, &why) != 0) {
			*e = why;
			return why.kind != ERR_NONE ? -1 : refuse_name(arg, e);
		}
		if (p[n] == '\0')
			return 0;
	}
}

bool
only_touches(const struct ndz_header *h, struct range sectors)
{
	return h->firstsect < range_end(sectors) && sectors.off < h->lastsect;
}

void
only_header(const struct ndz_header *h, struct range sectors, struct ndz_header *out)
{
	uint64_t end = range_end(sectors);

	*out = *h;
	out->nregions = out->nrelocs = 0;
	out->firstsect = out->lastsect = 0;
	if (!only_touches(h, sectors))
		return;
	out->firstsect = h->firstsect > sectors.off ? h->firstsect - sectors.off : 0;
	out->lastsect = (h->lastsect < end ? h->lastsect : end) - sectors.off;
	for (unsigned i = 0; i < h->nregions; i++) {
		struct range r = range_clip(h->regions[i], sectors.off, end);
		if (r.len != 0)
			out->regions[out->nregions++] = (struct range){
				r.off - sectors.off, r.len
			};
	}
}

uint64_t
only_stored_end(const struct ndz_header *h, struct range sectors)
{
	uint64_t end = 0;

	for (unsigned i = 0; i < h->nregions; i++) {
		struct range r = range_clip(
		    h->regions[i], sectors.off, range_end(sectors));
		if (r.len != 0)
			end = range_end(r) - sectors.off;
	}
	return end;
}
