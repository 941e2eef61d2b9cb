/* modules.c: reads the lists of a kernel's modules, and follows what they need.  boot.c and
 * drivers.c call this, in the first thread. */
#include "stream/boot/modules.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/grow.h"

enum { NAME_CAP = 128 };

/* A copy of the text with a NUL behind it.  NULL: no memory. */
static char *
text_of(const struct buf *b)
{
	char *text = malloc(b->len + 1);

	if (text != NULL) {
		if (b->len > 0)
			memcpy(text, b->base, b->len);
		text[b->len] = '\0';
	}
	return text;
}

/* Take "PATH: PATH PATH...", which ends here. */
static int
add_line(struct modules *m, char *line, struct err *e)
{
	char *colon = strchr(line, ':');

	if (colon == NULL || colon == line)
		return err_set(e, ERR_FORMAT, "modules.dep: \"%.60s\" is no line of it", line);
	if (grow_array(&m->list, &m->cap, m->n, sizeof *m->list, "modules.dep", e) != 0)
		return -1;
	*colon = '\0';
	m->list[m->n++] = (struct module){ .path = line, .needs = colon + 1 };
	return 0;
}

static int
read_lines(struct modules *m, struct err *e)
{
	char *rest, *line = strtok_r(m->dep, "\n", &rest);

	for (; line != NULL; line = strtok_r(NULL, "\n", &rest))
		if (add_line(m, line, e) != 0)
			return -1;
	return 0;
}

int
modules_read(struct modules *m, const struct buf *dep, const struct buf *builtin, struct err *e)
{
	*m = (struct modules){ .dep = text_of(dep), .builtin = text_of(builtin) };
	int rc = m->dep != NULL && m->builtin != NULL ? read_lines(m, e)
	                                              : err_nomem(e, "modules.dep");
	if (rc != 0)
		modules_free(m);
	return rc;
}

void
modules_free(struct modules *m)
{
	free(m->list);
	free(m->dep);
	free(m->builtin);
	*m = (struct modules){ .n = 0 };
}

const char *
module_name(const char *path, char *buf, size_t cap)
{
	const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
	const char *end = strstr(name, ".ko");
	size_t n = end != NULL ? (size_t)(end - name) : strlen(name);

	if (n >= cap)
		n = cap - 1;
	for (size_t i = 0; i < n; i++)
		buf[i] = name[i] == '-' ? '_' : name[i];
	buf[n] = '\0';
	return buf;
}

/* How long is the ending of a compressed file at p[n], behind which a path ends?  0: there is none. */
static size_t
packed_ending(const char *p, size_t n)
{
	static const char *const endings[] = { ".gz", ".xz", ".zst" };

	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		size_t own = strlen(endings[i]);
		if (n >= own && memcmp(p, endings[i], own) == 0 && (n == own || memchr(": \n", p[own], 3)))
			return own;
	}
	return 0;
}

size_t
modules_plain(char *list, size_t len)
{
	size_t out = 0;

	for (size_t i = 0; i < len; i++) {
		if (out >= 3 && memcmp(list + out - 3, ".ko", 3) == 0)
			i += packed_ending(list + i, len - i);
		if (i < len)
			list[out++] = list[i];
	}
	return out;
}

/* Is `path` the `n` bytes at `of`? */
static bool
is_path(const char *path, const char *of, size_t n)
{
	return strlen(path) == n && strncmp(path, of, n) == 0;
}

void
modules_choose_at(struct modules *m, size_t i)
{
	const char *p = m->list[i].needs;

	m->list[i].chosen = true;
	while (*(p += strspn(p, " ")) != '\0') {
		size_t n = strcspn(p, " ");
		for (size_t k = 0; k < m->n; k++)
			if (is_path(m->list[k].path, p, n))
				m->list[k].chosen = true;
		p += n;
	}
}

bool
modules_builtin(const struct modules *m, const char *name)
{
	char wanted[NAME_CAP], own[NAME_CAP], path[512];
	const char *line = m->builtin;

	module_name(name, wanted, sizeof wanted);
	for (; *line != '\0'; line += strcspn(line, "\n"), line += *line == '\n') {
		size_t n = strcspn(line, "\n");
		if (n >= sizeof path)
			continue;
		memcpy(path, line, n);
		path[n] = '\0';
		if (strcmp(module_name(path, own, sizeof own), wanted) == 0)
			return true;
	}
	return false;
}

bool
modules_choose(struct modules *m, const char *name)
{
	char wanted[NAME_CAP], own[NAME_CAP];

	module_name(name, wanted, sizeof wanted);
	for (size_t i = 0; i < m->n; i++)
		if (strcmp(module_name(m->list[i].path, own, sizeof own), wanted) == 0) {
			modules_choose_at(m, i);
			return true;
		}
	return modules_builtin(m, name);
}

size_t
modules_chosen(const struct modules *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++)
		n += m->list[i].chosen;
	return n;
}
