/* mapper.c: asks dmsetup(8) about devices and runs its commands.  Sources of change call this,
 * in one thread. */
#include "dsync/change/mapper.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/base/number.h"
#include "dsync/run/command.h"

enum { ANSWER_BYTES = 64 << 10 };

bool
mapper_is_name(const char *device)
{
	return strncmp(device, "/dev/mapper/", 12) == 0 || strchr(device, '/') == NULL;
}

static int
run(const char *const argv[], struct err *e)
{
	char *answer;

	if (command_answer(argv, ANSWER_BYTES, &answer, e) != 0)
		return -1;
	free(answer);
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

	if (command_answer(argv, ANSWER_BYTES, &answer, e) != 0)
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
mapper_message(const char *device, const char *message, struct err *e)
{
	const char *const argv[] = { "dmsetup", "message", device, "0", message, NULL };

	return run(argv, e);
}

int
mapper_suspend(const char *device, struct err *e)
{
	const char *const argv[] = { "dmsetup", "suspend", device, NULL };

	return run(argv, e);
}

int
mapper_resume(const char *device, struct err *e)
{
	const char *const argv[] = { "dmsetup", "resume", device, NULL };

	return run(argv, e);
}

int
mapper_create(const char *name, const char *table, bool read_only, struct err *e)
{
	const char *const argv[] = { "dmsetup", "create", name, "--table", table,
		read_only ? "--readonly" : NULL, NULL };

	return run(argv, e);
}

int
mapper_remove(const char *name, struct err *e)
{
	const char *const argv[] = { "dmsetup", "remove", "--retry", name, NULL };

	return run(argv, e);
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
