/* drivers.c: chooses modules.  boot.c calls this, in the first thread. */
#include "stream/boot/drivers.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/rd.h"

enum { LINE_CAP = 512 };

/* The list of the memory-root environment: netboot/modules, as it is in the source. */
__asm__(".section .rodata\n"
	"drivers_text: .incbin \"netboot/modules\"\n"
	".byte 0\n"
	".previous\n");
extern const char drivers_text[] __attribute__((visibility("hidden")));

int
drivers_need(struct modules *m, const char *filesystem, struct err *e)
{
	const char *const needed[] = { "nbd", "dm_mod", filesystem };

	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		if (!modules_choose(m, needed[i]))
			return err_set(e, ERR_UNSUPPORTED, "has no module %s", needed[i]);
	/* ext4 asks for a checksum by its name, which modules.dep does not say. */
	modules_choose(m, "crc32c_generic");
	return 0;
}

/* Is path, behind "kernel/", what this line says, or below it? */
static bool
is_below(const char *path, const char *line, size_t n)
{
	static const char top[] = "kernel/";
	const char *own = strncmp(path, top, strlen(top)) == 0 ? path + strlen(top) : path;

	if (strncmp(own, line, n) != 0)
		return false;
	/* "nvme.ko" also stands for "nvme.ko.xz" */
	return own[n] == '\0' || own[n] == '/' || (own[n] == '.' && strncmp(line + n - 3, ".ko", 3) == 0);
}

static bool
is_listed(const char *path, bool excluded)
{
	bool found = false;

	for (const char *line = drivers_text; *line != '\0' && !found;) {
		size_t n = strcspn(line, "\n");
		const char *begin = line + (*line == '!');
		if (n > 3 && *line != '#' && (*line == '!') == excluded)
			found = is_below(path, begin, n - (size_t)(begin - line));
		line += n + (line[n] == '\n');
	}
	return found;
}

void
drivers_all(struct modules *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (is_listed(m->list[i].path, false) && !is_listed(m->list[i].path, true))
			modules_choose_at(m, i);
}

int
drivers_listed(struct modules *m, const char *names, struct err *e)
{
	char *copy = strdup(names), *rest = NULL;

	if (copy == NULL)
		return err_nomem(e, "the list of drivers");
	for (char *name = strtok_r(copy, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest))
		modules_choose(m, name);
	free(copy);
	return 0;
}

int
device_parse(struct device *d, const char *text, struct err *e)
{
	int n = 0;

	if (sscanf(text, "%63[^,],%63[^,]%n", d->name, d->driver, &n) != 2 ||
	    (text[n] != ',' && text[n] != '\0'))
		return err_set(e, ERR_USAGE, "%s: is not NAME,DRIVER,MODALIAS of a device", text);
	d->modalias = text + n + (text[n] == ',');
	return 0;
}

/* Read up to this byte, or to the end.  What is longer than any line that counts is passed over.
 * Returns whether there was anything. */
static bool
read_line(struct rd *r, char end, char line[LINE_CAP])
{
	size_t left = rd_left(r), n = left;
	const char *p = rd_bytes(r, 0), *stop = left > 0 ? memchr(p, end, left) : NULL;

	if (stop != NULL)
		n = (size_t)(stop - p);
	rd_skip(r, n + (stop != NULL));
	line[0] = '\0';
	if (n < LINE_CAP) {
		memcpy(line, p, n);
		line[n] = '\0';
	}
	return left > 0;
}

/* Choose all modules that drive a device of this name.  Is there one? */
static bool
choose_by_alias(struct modules *m, const struct buf *alias, const char *modalias)
{
	char line[LINE_CAP], pattern[LINE_CAP], name[LINE_CAP];
	struct rd r = rd_from(alias->base, alias->len);
	bool found = false;

	while (read_line(&r, '\n', line))
		if (sscanf(line, "alias %511s %511s", pattern, name) == 2 &&
		    fnmatch(pattern, modalias, 0) == 0)
			found |= modules_choose(m, name);
	return found;
}

/* Does the kernel itself drive a device of this name, by what is said there? */
static bool
is_inside(const struct buf *inside, const char *modalias)
{
	static const char word[] = ".alias=";
	struct rd r = rd_from(inside->base, inside->len);
	char line[LINE_CAP];

	while (read_line(&r, '\0', line)) {
		const char *pattern = strstr(line, word);
		if (pattern != NULL && fnmatch(pattern + strlen(word), modalias, 0) == 0)
			return true;
	}
	return false;
}

int
drivers_for(struct modules *m, const struct device *d, const struct buf *alias,
    const struct buf *inside, struct err *e)
{
	bool named = d->modalias[0] != '\0' && alias->len > 0;

	if (named ? choose_by_alias(m, alias, d->modalias) : modules_choose(m, d->driver))
		return 0;
	if (modules_builtin(m, d->driver) || (named && is_inside(inside, d->modalias)))
		return 0;
	return err_set(e, ERR_UNSUPPORTED, "has no driver for %s, which %s drives here%s%s", d->name,
	    d->driver, named ? ": " : "", d->modalias);
}
