/* snapshot.c: the kinds of snapshots, each a table of two functions.  extract.c calls this, in its
 * first thread. */
#include "dsync/extract/snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/child.h"
#include "common/base/log.h"
#include "common/base/number.h"
#include "common/disk/range.h"
#include "dsync/run/cowsnap.h"
#include "dsync/run/thinsnap.h"

enum {
	PATH_BYTES = 4096,
	/* By default the volume for old data has the device's size divided by LVM_PART, but at
	 * least LVM_LEAST bytes. */
	LVM_PART = 10,
	LVM_LEAST = 64 << 20,
};

#define LVM_TAG "dsync_old_data" /* of volumes for old data */

struct snapshot_kind {
	const char *name;
	/* Are these words that take() could use?  ERR_USAGE. */
	int (*check)(const char *args, struct err *);
	/* Set s->path, s->frozen_us and *s->self.  `args` is what follows the colon, or "". */
	int (*take)(struct snapshot *s, const char *args, const char *device, struct err *);
	void (*drop)(struct snapshot *s);
};

static int
set_path(struct snapshot *s, const char *mapped, struct err *e)
{
	if (asprintf(&s->path, "/dev/mapper/%s", mapped) >= 0)
		return 0;
	s->path = NULL;
	return err_nomem(e, mapped);
}

/* Allocate the kind's own data. */
static int
new_self(struct snapshot *s, size_t bytes, struct err *e)
{
	s->self = calloc(1, bytes);
	return s->self != NULL ? 0 : err_nomem(e, "a snapshot");
}

struct thin {
	struct mapped_stack stack;
	char pool[MAPPED_WORD_BYTES];
	struct thinsnap snap;
};

static int
thin_check(const char *args, struct err *e)
{
	return args[0] == '\0' ? 0
	                       : err_set(e, ERR_USAGE, "--snapshot=thin takes no more words");
}

static int
thin_take(struct snapshot *s, const char *args, const char *device, struct err *e)
{
	struct mapped m;

	(void)args;
	if (new_self(s, sizeof(struct thin), e) != 0)
		return -1;
	struct thin *t = s->self;
	if (mapper_stack(&t->stack, device, e) != 0 || mapper_table(&m, t->stack.below, e) != 0)
		return -1;
	if (strcmp(m.target, "thin") != 0)
		return err_set(e, ERR_UNSUPPORTED, "%s: is no thin volume", t->stack.below);
	if (mapper_path(m.args[0], t->pool, e) != 0 ||
	    thinsnap_take(&t->snap, t->stack.below, t->pool, t->stack.top, e) != 0)
		return -1;
	s->frozen_us = t->snap.frozen_us;
	return set_path(s, t->snap.shown_as, e);
}

static void
thin_drop(struct snapshot *s)
{
	struct thin *t = s->self;

	if (t != NULL)
		thinsnap_end(&t->snap, false);
}

static int
dm_check(const char *args, struct err *e)
{
	if (args[0] == '/')
		return 0;
	return err_set(e, ERR_USAGE,
	    "--snapshot=dm: names no device for old data, such as dm:/dev/sdb");
}

static int
dm_take(struct snapshot *s, const char *args, const char *device, struct err *e)
{
	if (new_self(s, sizeof(struct cowsnap), e) != 0)
		return -1;
	struct cowsnap *c = s->self;
	if (cowsnap_take(c, device, args, e) != 0)
		return -1;
	s->frozen_us = c->frozen_us;
	return set_path(s, c->shown_as, e);
}

static void
dm_drop(struct snapshot *s)
{
	if (s->self != NULL)
		cowsnap_end(s->self);
}

struct lvm {
	struct cowsnap snap;
	char group[MAPPED_WORD_BYTES], volume[MAPPED_WORD_BYTES]; /* for old data */
	bool made;
};

/* Ask LVM about a mapped device: its group, its name, its size.  -1: it is no logical volume. */
static int
lvm_ask(struct lvm *l, const char *mapped, uint64_t *bytes, struct err *e)
{
	char path[MAPPED_WORD_BYTES + 20], *answer;
	const char *const argv[] = { "lvs", "--noheadings", "--nosuffix", "--units", "b", "-o",
		"vg_name,lv_name,lv_size", path, NULL };
	char volume[100], size[32];

	snprintf(path, sizeof path, "/dev/mapper/%s", mapped);
	if (child_answer(argv, PATH_BYTES, &answer, e) != 0)
		return -1;
	int n = sscanf(answer, " %127s %99s %31s", l->group, volume, size);
	free(answer);
	if (n != 3 || number_uint(size, 1, INT64_MAX, bytes, e) != 0)
		return err_set(e, ERR_UNSUPPORTED, "%s: is no logical volume", path);
	snprintf(l->volume, sizeof l->volume, "%s-old-data", volume);
	return 0;
}

/* Find the logical volume: the device itself, whose name a tracker may have taken, or what the
 * device beneath its tracker stands on. */
static int
lvm_find(struct lvm *l, const char *device, uint64_t *bytes, struct err *e)
{
	char path[MAPPED_WORD_BYTES], under[MAPPED_WORD_BYTES];
	struct mapped_stack stack;
	struct mapped m;
	struct err ignored;

	if (mapper_stack(&stack, device, e) != 0)
		return -1;
	if (lvm_ask(l, stack.top, bytes, e) == 0)
		return 0;
	if (mapper_table(&m, stack.below, &ignored) != 0 || strcmp(m.target, "linear") != 0 ||
	    m.n < 1 || mapper_path(m.args[0], path, &ignored) != 0 || !mapper_name(path, under))
		return -1;
	return lvm_ask(l, under, bytes, e);
}

static int
lvm_check(const char *args, struct err *e)
{
	uint64_t bytes;

	return args[0] != '\0' ? number_size(args, 1 << 20, INT64_MAX, &bytes, e) : 0;
}

/* Decide how large the volume for old data is. */
static int
lvm_plan(struct lvm *l, const char *args, const char *device, uint64_t *bytes, struct err *e)
{
	if (lvm_find(l, device, bytes, e) != 0)
		return -1;
	*bytes = *bytes / LVM_PART > LVM_LEAST ? *bytes / LVM_PART : LVM_LEAST;
	return args[0] != '\0' ? number_size(args, 1 << 20, INT64_MAX, bytes, e) : 0;
}

/* Remove the volume, if it has our tag: a volume of somebody else may have its name. */
static int
lvm_remove(const struct lvm *l, struct err *e)
{
	char name[2 * MAPPED_WORD_BYTES + 2];
	const char *const argv[] = { "lvremove", "-q", "-q", "-y", "-S", "lv_tags=" LVM_TAG, name,
		NULL };

	snprintf(name, sizeof name, "%s/%s", l->group, l->volume);
	return child_run(argv, e);
}

/* Make the volume for old data.  One that a run which was killed has left is removed before; when
 * another volume has its name, lvcreate says so. */
static int
lvm_make(struct lvm *l, uint64_t bytes, struct err *e)
{
	char size[40];
	const char *const argv[] = { "lvcreate", "-q", "-q", "-y", "-W", "n", "-Z", "n", "-L", size,
		"--addtag", LVM_TAG, "-n", l->volume, l->group, NULL };
	struct err ignored;

	snprintf(size, sizeof size, "%" PRIu64 "b", (bytes + 511) / 512 * 512);
	lvm_remove(l, &ignored);
	if (child_run(argv, e) != 0)
		return -1;
	l->made = true;
	return 0;
}

static int
lvm_take(struct snapshot *s, const char *args, const char *device, struct err *e)
{
	char cow[2 * MAPPED_WORD_BYTES + 10];
	uint64_t bytes;

	if (new_self(s, sizeof(struct lvm), e) != 0)
		return -1;
	struct lvm *l = s->self;
	/* A snapshot that a run which was killed has left uses the volume, and hides what the device
	 * stands on. */
	if (cowsnap_tidy(device, e) != 0 || lvm_plan(l, args, device, &bytes, e) != 0 ||
	    lvm_make(l, bytes, e) != 0)
		return -1;
	snprintf(cow, sizeof cow, "/dev/%s/%s", l->group, l->volume);
	if (cowsnap_take(&l->snap, device, cow, e) != 0)
		return -1;
	s->frozen_us = l->snap.frozen_us;
	return set_path(s, l->snap.shown_as, e);
}

static void
lvm_drop(struct snapshot *s)
{
	struct lvm *l = s->self;
	struct err e;

	if (l == NULL)
		return;
	cowsnap_end(&l->snap);
	if (l->made && lvm_remove(l, &e) != 0)
		log_tell("%s/%s: may still be there: %s", l->group, l->volume, e.text);
}

struct program {
	const char *program, *device; /* borrowed */
};

static int
program_check(const char *program, struct err *e)
{
	return program[0] != '\0' ? 0 : err_set(e, ERR_USAGE, "--snapshot: names nothing");
}

static int
program_take(struct snapshot *s, const char *program, const char *device, struct err *e)
{
	const char *const argv[] = { program, "take", device, NULL };

	if (new_self(s, sizeof(struct program), e) != 0 ||
	    child_answer(argv, PATH_BYTES, &s->path, e) != 0)
		return -1;
	*(struct program *)s->self = (struct program){ program, device };
	s->path[strcspn(s->path, "\n")] = '\0';
	if (s->path[0] == '/')
		return 0;
	return err_set(e, ERR_FORMAT,
	    "%s take %s: must print the path of the snapshot, which begins with /", program,
	    device);
}

static void
program_drop(struct snapshot *s)
{
	const struct program *p = s->self;
	struct err e;

	if (p == NULL || p->program == NULL)
		return;
	const char *const argv[] = { p->program, "drop", p->device, s->path, NULL };
	if (child_run(argv, &e) != 0)
		log_tell("%s: the snapshot may still be there: %s", p->device, e.text);
}

static const struct snapshot_kind kinds[] = {
	{ "thin", thin_check, thin_take, thin_drop },
	{ "lvm", lvm_check, lvm_take, lvm_drop },
	{ "dm", dm_check, dm_take, dm_drop },
};
static const struct snapshot_kind by_program = { "", program_check, program_take, program_drop };

/* Find the kind; *args: the words for it. */
static const struct snapshot_kind *
find_kind(const char *how, const char **args)
{
	size_t n = strcspn(how, ":");

	*args = how[n] == ':' ? how + n + 1 : "";
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strlen(kinds[i].name) == n && memcmp(how, kinds[i].name, n) == 0)
			return &kinds[i];
	*args = how;
	return &by_program;
}

int
snapshot_check(const char *how, struct err *e)
{
	const char *args;
	const struct snapshot_kind *kind = find_kind(how, &args);

	return kind->check(args, e);
}

int
snapshot_take(struct snapshot *s, const char *how, const char *device, struct err *e)
{
	const char *args;

	memset(s, 0, sizeof *s);
	s->kind = find_kind(how, &args);
	return s->kind->take(s, args, device, e);
}

void
snapshot_drop(struct snapshot *s)
{
	if (s->kind != NULL)
		s->kind->drop(s);
	free(s->self);
	free(s->path);
	memset(s, 0, sizeof *s);
}
