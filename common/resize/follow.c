/* follow.c: lets what is in the partitions of a disk reach to their ends, one after the
 * other, and says what became of each.  growfs and installations call this, in the
 * thread that has the disk; the tools have threads of base/child. */
#include "common/resize/follow.h"

#include <stdio.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/number.h"
#include "common/resize/place.h"
#include "common/resize/volume.h"

static struct range
bytes_of(const struct follow_part *p)
{
	return (struct range){ p->sectors.off * SECTOR_BYTES, p->sectors.len * SECTOR_BYTES };
}

static enum follow_became
judge(const struct follow_part *p)
{
	const struct resize *v = &p->volume_fs;

	if (p->fs.left_alone[0] != '\0')
		return FOLLOW_LEFT_ALONE;
	return p->fs.is_bytes > p->fs.was_bytes || v->is_bytes > v->was_bytes ? FOLLOW_GREW
	                                                                      : FOLLOW_FILLS;
}

static int
look_at(const struct follow *f, struct follow_part *p, struct err *e)
{
	struct range bytes = bytes_of(p);

	p->became = FOLLOW_LEFT_ALONE;
	if (p->skip)
		return 0;
	if (resize_look_in(f->disk, bytes, &p->fs, e) != 0) {
		if (!f->installs || e->kind != ERR_FORMAT)
			return -1;
		/* It is as whole as in the image. */
		snprintf(p->fs.left_alone, sizeof p->fs.left_alone, "%.250s", e->text);
	}
	p->fs.is_bytes = resize_grown_bytes(&p->fs, bytes.len);
	p->became = judge(p);
	return 0;
}

int
follow_look(struct follow *f, struct err *e)
{
	for (size_t i = 0; i < f->n; i++)
		if (look_at(f, &f->parts[i], e) != 0)
			return f->parts[i].number == 0 ? -1
			                               : err_ctx(e, "partition %u",
							     f->parts[i].number);
	return 0;
}

int
follow_heed(struct follow_part *p, struct disk *d, struct behind *b, struct err *e)
{
	struct range had = { p->sectors.off, p->was_sectors };
	uint64_t end = (p->fs.was_bytes + SECTOR_BYTES - 1) / SECTOR_BYTES;
	char who[160];

	*b = (struct behind){ .n = 0 };
	if (end == 0 || p->became != FOLLOW_GREW)
		return 0;
	if (behind_find(b, d, had, end, NULL, e) != 0)
		return -1;
	if (b->n == 0)
		return 0;
	p->skip = true;
	p->became = FOLLOW_LEFT_ALONE;
	if (p->fs.left_alone[0] == '\0')
		snprintf(p->fs.left_alone, sizeof p->fs.left_alone,
		    "%s lies behind its filesystem", behind_owned_text(b, who, sizeof who));
	return 0;
}

/* What place_with() calls act_grow() for. */
struct growing {
	const struct follow *f;
	struct follow_part *p;
};

/* A tool that is ended in the middle leaves a damaged filesystem, so no signal does: but an
 * installation begins anew then. */
static int
act_grow(void *arg, const char *path, struct err *e)
{
	const struct growing *g = arg;
	struct cancel *owner = cancel_owner();

	if (cancel_check(e) != 0)
		return -1;
	cancel_work_for(g->f->installs ? owner : NULL);
	int rc = strcmp(g->p->fs.type, VOLUME_TYPE) == 0
	             ? volume_grow(g->f, g->p, path, e)
	             : resize_grow(path, &g->p->fs, e);
	cancel_work_for(owner);
	return rc;
}

/* Is there something to do, also when the partition is filled? */
static bool
has_work(const struct follow *f, const struct follow_part *p)
{
	return p->became == FOLLOW_GREW ||
	       (p->became == FOLLOW_FILLS && strcmp(p->fs.type, VOLUME_TYPE) == 0 &&
	           volume_is_begun(f->disk, bytes_of(p)));
}

static void
tell_begin(const struct follow *f, const struct follow_part *p)
{
	char text[FOLLOW_TEXT_CAP], was[32], is[32], where[40] = "";
	const struct resize *r = &p->fs;

	if (f->begins == NULL)
		return;
	if (p->number != 0)
		snprintf(where, sizeof where, "partition %u: ", p->number);
	if (r->is_bytes > r->was_bytes)
		snprintf(text, sizeof text, "%s%s grows from %s to %s", where, r->type,
		    human_bytes(r->was_bytes, was, sizeof was),
		    human_bytes(r->is_bytes, is, sizeof is));
	else
		snprintf(text, sizeof text, "%sits volume grows", where);
	f->begins(f->arg, text);
}

static void
grow_one(const struct follow *f, struct follow_part *p)
{
	struct growing g = { .f = f, .p = p };

	p->why = (struct err){ .kind = ERR_NONE };
	int rc = look_at(f, p, &p->why);
	bool work = rc == 0 && has_work(f, p);

	if (work)
		tell_begin(f, p);
	p->fs.is_bytes = p->fs.was_bytes; /* what it becomes is read when it was done */
	if (work) {
		rc = place_with(f->disk, p->sectors, f->installs, act_grow, &g, &p->why);
		p->became = judge(p);
	}
	if (rc != 0)
		p->became = FOLLOW_FAILED;
	if (rc != 0 && p->number != 0)
		err_ctx(&p->why, "%s: partition %u", f->disk, p->number);
}

int
follow_grow(struct follow *f, struct err *e)
{
	char text[FOLLOW_TEXT_CAP];
	int rc = 0;

	for (size_t i = 0; i < f->n; i++) {
		struct follow_part *p = &f->parts[i];
		grow_one(f, p);
		if (f->say != NULL && p->became != FOLLOW_FILLS)
			f->say(f->arg, follow_text(p, false, text, sizeof text));
		if (p->became == FOLLOW_FAILED && rc == 0) {
			*e = p->why;
			rc = -1;
		}
	}
	return rc;
}

/* in_bytes: the length of what it is in. */
static int
put_growth(const struct resize *r, const char *in, uint64_t in_bytes, bool would,
    char *buf, size_t cap)
{
	char was[32], is[32], room[32];

	human_bytes(r->was_bytes, was, sizeof was);
	human_bytes(r->is_bytes, is, sizeof is);
	if (r->is_bytes == r->was_bytes)
		return snprintf(buf, cap, "%s of %s fills its %s already", r->type, was, in);
	if (would)
		return snprintf(buf, cap, "%s of %s in a %s of %s can be grown to %s",
		    r->type, was, in, human_bytes(in_bytes, room, sizeof room), is);
	return snprintf(buf, cap, "%s grew from %s to %s%s", r->type, was, is,
	    r->to_be_checked ? ", and is left to be checked" : "");
}

static void
put_volume(const struct follow_part *p, char *buf, size_t cap)
{
	int n = p->volume[0] != '\0' ? snprintf(buf, cap, "; volume %s", p->volume) : 0;

	if (p->volume_note[0] != '\0')
		snprintf(buf + n, cap - (size_t)n, "; %s", p->volume_note);
	else if (n > 0 && (size_t)n + 2 < cap) {
		n += snprintf(buf + n, cap - (size_t)n, ": ");
		put_growth(&p->volume_fs, "volume", 0, false, buf + n, cap - (size_t)n);
	}
}

const char *
follow_text(const struct follow_part *p, bool would, char *buf, size_t cap)
{
	char where[40] = "", what[FOLLOW_TEXT_CAP] = "", volume[700] = "";

	if (p->number != 0)
		snprintf(where, sizeof where, "partition %u: ", p->number);
	if (p->became == FOLLOW_FAILED)
		snprintf(buf, cap, "%s", p->why.text);
	else if (p->became == FOLLOW_LEFT_ALONE)
		snprintf(buf, cap, "%sleft alone: %s", where, p->fs.left_alone);
	else {
		put_growth(&p->fs, "partition", p->was_sectors * SECTOR_BYTES, would, what,
		    sizeof what);
		put_volume(p, volume, sizeof volume);
		snprintf(buf, cap, "%s%.200s%s", where, what, volume);
	}
	return buf;
}

static void
put_volume_json(struct json *j, const struct follow_part *p, bool would)
{
	if (p->volume[0] == '\0' && p->volume_note[0] == '\0')
		return;
	json_string(j, "volume", p->volume);
	json_string(j, "volume_note", p->volume_note);
	json_string(j, "volume_filesystem", p->volume_fs.type);
	json_uint(j, "volume_filesystem_was_bytes", p->volume_fs.was_bytes);
	json_uint(j, "volume_filesystem_is_bytes", p->volume_fs.is_bytes);
	if (!would)
		json_bool(j, "volume_to_be_checked", p->volume_fs.to_be_checked);
}

void
follow_json(struct json *j, const struct follow_part *p, bool would)
{
	static const char *const became[] = { [FOLLOW_FILLS] = "fills",
		[FOLLOW_GREW] = "grew",
		[FOLLOW_LEFT_ALONE] = "left alone",
		[FOLLOW_FAILED] = "failed" };

	json_uint(j, "number", p->number);
	json_string(j, "became", became[p->became]);
	json_string(j, "type", p->fs.type);
	json_uint(j, "was_bytes", p->fs.was_bytes);
	json_uint(j, "is_bytes", p->fs.is_bytes);
	json_string(j, "left_alone", p->became == FOLLOW_LEFT_ALONE ? p->fs.left_alone : "");
	json_string(j, "failed", p->became == FOLLOW_FAILED ? p->why.text : "");
	if (!would)
		json_bool(j, "to_be_checked", p->fs.to_be_checked);
	put_volume_json(j, p, would);
}
