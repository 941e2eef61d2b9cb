/* mapper.c: asks dmsetup(8) about devices and runs its commands.  Sources of change call this,
 * in one thread. */
#include "dsync/run/mapper.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/base/child.h"
#include "common/base/number.h"

enum { ANSWER_BYTES = 64 << 10 };

/* Read the first word of a small file. */
static int
read_word(const char *path, char out[MAPPED_WORD_BYTES], struct err *e)
{
	FILE *f = fopen(path, "re");

	if (f == NULL)
		return err_os(e, "%s", path);
	bool got = fgets(out, MAPPED_WORD_BYTES, f) != NULL;
	fclose(f);
	if (!got)
		return err_set(e, ERR_FORMAT, "%s: is empty", path);
	out[strcspn(out, " \n")] = '\0';
	return 0;
}

/* Parse "0 SECTORS TARGET ARGS...", the line of a device with one target. */
static int
parse(struct mapped *m, char *line, const char *device, struct err *e)
{
	char *rest = NULL, *end = strchr(line, '\n');
	const char *first = strtok_r(line, " \n", &rest), *len = strtok_r(NULL, " \n", &rest);
	const char *target = strtok_r(NULL, " \n", &rest), *word;

	memset(m, 0, sizeof *m);
	if (end != NULL && end[1] != '\0')
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: has more than one line in its table, which is not supported",
		    device);
	if (target == NULL || strcmp(first, "0") != 0 ||
	    number_uint(len, 1, INT64_MAX / 512, &m->sectors, e) != 0)
		return err_set(e, ERR_FORMAT,
		    "%s: the output of dmsetup is not understood", device);
	snprintf(m->target, sizeof m->target, "%s", target);
	while (m->n < MAPPED_ARGS_MAX && (word = strtok_r(NULL, " \n", &rest)) != NULL)
		snprintf(m->args[m->n++], MAPPED_WORD_BYTES, "%s", word);
	return 0;
}

static int
ask(struct mapped *m, const char *what, const char *device, struct err *e)
{
	const char *const argv[] = { "dmsetup", what, device, NULL };
	char *answer;

	if (child_answer(argv, ANSWER_BYTES, &answer, e) != 0)
		return -1;
	int rc = parse(m, answer, device, e);
	free(answer);
	return rc;
}

int
mapper_table(struct mapped *m, const char *device, struct err *e)
{
	return ask(m, "table", device, e);
}

int
mapper_status(struct mapped *m, const char *device, struct err *e)
{
	return ask(m, "status", device, e);
}

int
mapper_text(const char *device, char **table, struct err *e)
{
	const char *const argv[] = { "dmsetup", "table", device, NULL };

	return child_answer(argv, ANSWER_BYTES, table, e);
}

int
mapper_size(const char *device, uint64_t *sectors, struct err *e)
{
	char *table;
	uint64_t first, n;
	int used;

	if (mapper_text(device, &table, e) != 0)
		return -1;
	*sectors = 0;
	for (const char *line = table; line[0] != '\0'; line += strcspn(line, "\n") + (strchr(line, '\n') != NULL))
		if (sscanf(line, "%" SCNu64 " %" SCNu64 "%n", &first, &n, &used) == 2 &&
		    first == *sectors)
			*sectors += n;
	free(table);
	return *sectors > 0 ? 0 : err_set(e, ERR_FORMAT, "%s: dmsetup says nothing of it", device);
}

int
mapper_message(const char *device, const char *message, struct err *e)
{
	const char *const argv[] = { "dmsetup", "message", device, "0", message, NULL };

	return child_run(argv, e);
}

int
mapper_resume(const char *device, struct err *e)
{
	const char *const argv[] = { "dmsetup", "resume", device, NULL };

	return child_run(argv, e);
}

/* Run dmsetup, which reads the table from its standard input. */
static int
run_with(const char *const argv[], const char *table, struct err *e)
{
	struct child *c;
	struct err late;
	size_t n = strlen(table), done = 0;
	int rc = 0;

	if (child_start(&c, argv, CHILD_IN, e) != 0)
		return -1;
	while (rc == 0 && done < n) {
		ssize_t got = write(child_to(c), table + done, n - done);
		if (got > 0)
			done += (size_t)got;
		else if (errno != EINTR)
			rc = err_os(e, "%s", argv[0]);
	}
	if (child_wait(c, &late) == 0)
		return rc;
	*e = late; /* says why the table could not be written */
	return -1;
}

int
mapper_create(const char *name, const char *table, bool read_only, struct err *e)
{
	const char *const argv[] = { "dmsetup", "create", name,
		read_only ? "--readonly" : NULL, NULL };

	return run_with(argv, table, e);
}

int
mapper_remove(const char *name, struct err *e)
{
	const char *const argv[] = { "dmsetup", "remove", "--retry", name, NULL };

	return child_run(argv, e);
}

int
mapper_load(const char *name, const char *table, struct err *e)
{
	const char *const argv[] = { "dmsetup", "load", name, NULL };

	return run_with(argv, table, e);
}

void
mapper_unload(const char *name)
{
	const char *const argv[] = { "dmsetup", "clear", name, NULL };
	struct err ignored;

	child_run(argv, &ignored);
}

/* The table is loaded while the device still works: nothing that is frozen is needed to start
 * a program in between. */
int
mapper_replace(const char *name, const char *table, struct err *e)
{
	if (mapper_load(name, table, e) != 0)
		return -1;
	if (mapper_resume(name, e) == 0)
		return 0;
	mapper_unload(name);
	return -1;
}

bool
mapper_name(const char *device, char name[MAPPED_WORD_BYTES])
{
	char path[300];
	struct err e;
	struct stat st;

	snprintf(path, sizeof path, "%s%.250s",
	    strchr(device, '/') == NULL ? "/dev/mapper/" : "", device);
	if (stat(path, &st) != 0 || !S_ISBLK(st.st_mode))
		return false;
	snprintf(path, sizeof path, "/sys/dev/block/%u:%u/dm/name", major(st.st_rdev),
	    minor(st.st_rdev));
	return read_word(path, name, &e) == 0;
}

int
mapper_beside(const char *device, const char *suffix, char out[MAPPED_WORD_BYTES],
    struct err *e)
{
	char found[MAPPED_WORD_BYTES];
	const char *name = strchr(device, '/') == NULL ? device
	                   : mapper_name(device, found) ? found
	                                                : NULL;

	if (name == NULL)
		return err_set(e, ERR_UNSUPPORTED, "%s: is no device of the device mapper", device);
	int n = snprintf(out, MAPPED_WORD_BYTES, "%s%s", name, suffix);
	if (n >= 0 && n < MAPPED_WORD_BYTES)
		return 0;
	return err_set(e, ERR_UNSUPPORTED,
	    "%s: its name is too long: with %s behind it, it must have less than %d characters",
	    name, suffix, MAPPED_WORD_BYTES);
}

bool
mapper_is_read_only(const char *name)
{
	char path[300], word[MAPPED_WORD_BYTES];
	struct err ignored;
	struct stat st;

	snprintf(path, sizeof path, "/dev/mapper/%.250s", name);
	if (stat(path, &st) != 0 || !S_ISBLK(st.st_mode))
		return false;
	snprintf(path, sizeof path, "/sys/dev/block/%u:%u/ro", major(st.st_rdev),
	    minor(st.st_rdev));
	return read_word(path, word, &ignored) == 0 && strcmp(word, "1") == 0;
}

int
mapper_path(const char *word, char path[MAPPED_WORD_BYTES], struct err *e)
{
	char link[MAPPED_WORD_BYTES + 20], to[300];

	if (word[0] == '/') {
		snprintf(path, MAPPED_WORD_BYTES, "%.120s", word);
		return 0;
	}
	snprintf(link, sizeof link, "/sys/dev/block/%.100s", word);
	ssize_t n = readlink(link, to, sizeof to - 1);
	if (n <= 0)
		return err_os(e, "%s", link);
	to[n] = '\0';
	const char *name = strrchr(to, '/');
	snprintf(path, MAPPED_WORD_BYTES, "/dev/%.100s", name != NULL ? name + 1 : to);
	return 0;
}

/* The kernel numbers the disks that it makes (sysfs: diskseq), anew after each boot. */
int
mapper_generation(const char *device, char out[MAPPED_WORD_BYTES], struct err *e)
{
	char path[300], boot[MAPPED_WORD_BYTES], seq[MAPPED_WORD_BYTES];
	bool bare = strchr(device, '/') == NULL;
	struct stat st;

	snprintf(path, sizeof path, "%s%.250s", bare ? "/dev/mapper/" : "", device);
	if (stat(path, &st) != 0)
		return err_os(e, "%s", path);
	snprintf(path, sizeof path, "/sys/dev/block/%u:%u/diskseq", major(st.st_rdev),
	    minor(st.st_rdev));
	if (read_word("/proc/sys/kernel/random/boot_id", boot, e) != 0 ||
	    read_word(path, seq, e) != 0)
		return -1;
	snprintf(out, MAPPED_WORD_BYTES, "%.40s.%.40s", boot, seq);
	return 0;
}

int
mapper_stack(struct mapped_stack *s, const char *device, struct err *e)
{
	char path[MAPPED_WORD_BYTES];
	struct mapped m;

	if (!mapper_name(device, s->top))
		return err_set(e, ERR_UNSUPPORTED, "%s: is no device of the device mapper", device);
	if (mapper_table(&m, s->top, e) != 0 && e->kind != ERR_UNSUPPORTED)
		return -1;
	memcpy(s->below, s->top, sizeof s->below);
	if (strcmp(m.target, "era") != 0 || m.n < 2)
		return 0;
	if (mapper_path(m.args[1], path, e) != 0)
		return -1;
	if (mapper_name(path, s->below))
		return 0;
	return err_set(e, ERR_UNSUPPORTED, "%s stands on %s, which is no device of the device mapper",
	    device, path);
}

bool
mapper_xml_number(const char *text, size_t n, const char *name, uint64_t *value)
{
	size_t len = strlen(name);
	const char *end = text + n;
	uint64_t v = 0;
	bool any = false;

	/* The syntax: a blank, NAME, blanks, =, blanks, a quote, digits, a quote. */
	for (const char *p = text; p + len < end; p++) {
		if (*p != ' ' || memcmp(p + 1, name, len) != 0)
			continue;
		const char *q = p + 1 + len;
		while (q < end && *q == ' ')
			q++;
		if (q == end || *q++ != '=')
			continue;
		while (q < end && (*q == ' ' || *q == '"'))
			q++;
		for (; q < end && *q >= '0' && *q <= '9'; q++, any = true)
			if (__builtin_mul_overflow(v, 10, &v) ||
			    __builtin_add_overflow(v, (uint64_t)(*q - '0'), &v))
				return false;
		*value = v;
		return any && q < end && *q == '"';
	}
	return false;
}
