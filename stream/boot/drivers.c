/* drivers.c: chooses modules.  boot.c calls this, in the first thread. */
#include "stream/boot/drivers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
