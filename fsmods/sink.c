/* sink.c: receives what a filesystem module reports, in the thread that scans. It checks
 * the bounds of each range and collects it; in a confined child it sends the range to the
 * parent, whose sink checks it again. */
#include "fsmods/sink.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "common/base/grow.h"
#include "fsmods/relay.h"

static int
check(const struct skip_sink *s, struct range r, struct err *e)
{
	if (range_within(r, s->part_sectors))
		return 0;
	return err_set(e, ERR_FORMAT,
	    "a range from sector %" PRIu64 " on lies outside the partition", r.off);
}

int
skip_add(struct skip_sink *s, struct range r, struct err *e)
{
	if (check(s, r, e) != 0)
		return -1;
	return s->relay != NULL ? relay_range(s->relay, RELAY_SKIP, r, e)
	                        : rangeset_add(&s->scan->skip, r, e);
}

int
skip_zero(struct skip_sink *s, struct range r, struct err *e)
{
	if (check(s, r, e) != 0)
		return -1;
	return s->relay != NULL ? relay_range(s->relay, RELAY_ZERO, r, e)
	                        : rangeset_add(&s->scan->zero, r, e);
}

int
skip_zone(struct skip_sink *s, struct range r, struct err *e)
{
	struct fs_scan *f = s->scan;

	if (check(s, r, e) != 0)
		return -1;
	if (s->relay != NULL)
		return relay_range(s->relay, RELAY_ZONE, r, e);
	if (grow_array(&f->zones, &f->zones_cap, f->nzones, sizeof *f->zones, "zones", e) != 0)
		return -1;
	f->zones[f->nzones++] = r;
	return 0;
}

/* Those of a container are of several filesystems, whose own scans had limits. */
static uint64_t
hot_room(const struct skip_sink *s)
{
	if (s->scan->mod != NULL && s->scan->mod->container)
		return s->part_sectors;
	return FS_HOT_SECTORS - s->hot_sectors;
}

int
skip_hot(struct skip_sink *s, struct range r, struct err *e)
{
	if (check(s, r, e) != 0)
		return -1;
	if (s->relay != NULL)
		return relay_range(s->relay, RELAY_HOT, r, e);
	r.len = r.len < hot_room(s) ? r.len : hot_room(s);
	s->hot_sectors += r.len;
	return rangeset_add(&s->scan->hot, r, e);
}

void
skip_warn(struct skip_sink *s, const char *fmt, ...)
{
	char text[sizeof s->scan->warning];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (s->relay != NULL)
		relay_warn(s->relay, text);
	else
		snprintf(s->scan->warning, sizeof s->scan->warning, "%s", text);
}

void
skip_suspended(struct skip_sink *s)
{
	if (s->relay != NULL)
		relay_suspended(s->relay);
	else
		s->scan->suspended = true;
}

void
skip_fs_end(struct skip_sink *s, uint64_t sectors)
{
	if (s->relay != NULL)
		relay_fs_end(s->relay, sectors);
	else if (sectors < s->scan->fs_end)
		s->scan->fs_end = sectors;
}
