/* inuse.c: whether a disk is mounted or used as swap, and the sentence that says who uses
 * it.
 *
 * Called by hold.c for what is to be written, and by imagezip for its source, in the
 * caller's thread.  Nothing is changed, and no lock is kept.
 */
#include "common/disk/inuse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "common/disk/inuse_impl.h"

struct search {
	const struct inuse_query *q;
	struct inuse_places places;
};

static int
in_use(const struct search *s, const char *why, struct err *e)
{
	return err_set(e, ERR_REFUSED, "%s is in use: %s", s->q->path, why);
}

/* Undo the kernel's \040 for blanks, in place. */
static void
unescape(char *s)
{
	char *out = s;

	for (; *s != '\0'; s++) {
		unsigned c;
		int n = 0;
		if (sscanf(s, "\\%3o%n", &c, &n) == 1) {
			*out++ = (char)c;
			s += n - 1;
		} else {
			*out++ = *s;
		}
	}
	*out = '\0';
}

/* One line of mountinfo. */
struct mount {
	unsigned maj, min;
	char on[INUSE_PATH_BYTES], type[64], source[INUSE_PATH_BYTES];
	bool writable; /* the filesystem, whatever this mount of it is */
};

static bool
parse_mount(struct mount *m, const char *line)
{
	char options[16] = "";

	*m = (struct mount){ .writable = true };
	if (sscanf(line, "%*u %*u %u:%u %*s %4095s", &m->maj, &m->min, m->on) != 3)
		return false;
	const char *tail = strstr(line, " - ");
	if (tail != NULL)
		sscanf(tail, " - %63s %4095s %15[^, \n]", m->type, m->source, options);
	m->writable = strcmp(options, "ro") != 0;
	unescape(m->on);
	unescape(m->source);
	return true;
}

/* btrfs, and FUSE on a file, have a device number of their own; there the source of the
 * mount tells which place it is. */
static struct inuse_place *
mounted_place(struct search *s, const struct mount *m)
{
	const char *root = s->q->root;
	struct inuse_place *p =
	    inuse_place_of_device(&s->places, makedev(m->maj, m->min));

	if (p == NULL && m->maj == 0)
		p = inuse_place_of_path(&s->places, root, m->source);
	if (p == NULL && strcmp(m->type, "btrfs") == 0)
		p = inuse_place_of_btrfs(&s->places, root, m->source);
	return p;
}

static int
check_mount_line(struct search *s, char *line, struct err *e)
{
	char why[INUSE_NAME_BYTES + 1100];
	struct mount m;

	if (!parse_mount(&m, line))
		return 0;
	struct inuse_place *p = mounted_place(s, &m);
	if (p == NULL)
		return 0;
	if (s->q->purpose == INUSE_TO_READ && !m.writable) {
		p->seen = true;
		return 0;
	}
	snprintf(why, sizeof why, "%s is mounted %son %.1000s", p->name,
	    s->q->purpose == INUSE_TO_READ ? "read-write " : "", m.on);
	return in_use(s, why, e);
}

static int
check_swap_line(struct search *s, char *line, struct err *e)
{
	char path[INUSE_PATH_BYTES], why[INUSE_NAME_BYTES + 32];

	if (sscanf(line, "%4095s", path) != 1)
		return 0;
	unescape(path);
	const struct inuse_place *p =
	    inuse_place_of_path(&s->places, s->q->root, path);
	if (p == NULL)
		return 0;
	snprintf(why, sizeof why, "%s is used as swap", p->name);
	return in_use(s, why, e);
}

static int
check_lines(struct search *s, const char *file,
    int (*check_line)(struct search *, char *, struct err *), struct err *e)
{
	char path[INUSE_PATH_BYTES], *line = NULL;
	size_t cap = 0;
	int rc = 0;

	snprintf(path, sizeof path, "%.2000s/%s", s->q->root, file);
	FILE *f = fopen(path, "re");
	if (f == NULL)
		return 0;
	while (rc == 0 && getline(&line, &cap, f) > 0)
		rc = check_line(s, line, e);
	free(line);
	fclose(f);
	return rc;
}

/* Check for processes that write. */
static int
check_writers(struct search *s, struct err *e)
{
	char why[3 * INUSE_NAME_BYTES];
	bool unseen = false;

	inuse_find_writer(&s->places, s->q, &unseen, why, sizeof why);
	if (s->q->found != NULL)
		*s->q->found = (struct inuse_found){ why[0] != '\0', unseen };
	return why[0] != '\0' ? in_use(s, why, e) : 0;
}

/* Check for what changes the bytes while they are read, besides mounts and swap: arrays,
 * processes, claims. */
static int
check_changes(struct search *s, struct err *e)
{
	char why[3 * INUSE_NAME_BYTES];

	if (s->places.rebuilt[0] != '\0')
		return in_use(s, s->places.rebuilt, e);
	if (check_writers(s, e) != 0)
		return -1;
	inuse_find_claim(&s->places, s->q->root, why, sizeof why);
	return why[0] != '\0' ? in_use(s, why, e) : 0;
}

static int
check(struct search *s, struct err *e)
{
	if (check_lines(s, "proc/self/mountinfo", check_mount_line, e) != 0 ||
	    check_lines(s, "proc/swaps", check_swap_line, e) != 0)
		return -1;
	if (s->q->purpose == INUSE_TO_READ)
		return check_changes(s, e);
	if (s->places.held[0] != '\0')
		return in_use(s, s->places.held, e);
	return s->q->no_writers ? 0 : check_writers(s, e);
}

const char *
inuse_unseen_text(const char *path, char text[INUSE_UNSEEN_BYTES])
{
	snprintf(text, INUSE_UNSEEN_BYTES,
	    "%.400s: it is not known whether a process of another user has it open for "
	    "writing",
	    path);
	return text;
}

int
inuse_check(const struct inuse_query *q, struct err *e)
{
	struct search s = { .q = q };
	int rc = inuse_places_find(&s.places, q, e);

	if (rc == 0 && s.places.n > 0) /* a pipe has no places */
		rc = check(&s, e);
	inuse_places_free(&s.places);
	return rc;
}
