/* script.c: runs the scripts of the shell in which the tools of filesystems work, and finds
 * in what these print why they failed.  resize.c and volume.c call this, in their
 * caller's thread. */
#include "common/resize/script.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* How well does a line say why a script has failed?  ntfsresize prints its errors to
 * standard output; all others print progress there, and their errors, with a name in
 * front, to standard error, with their version above and advice below. */
enum worth { NOTHING, PROGRESS, PRINTED_ERROR, ON_STDERR, NAMED_ERROR };

/* The last of the lines that say most, and who hears the output. */
struct said {
	enum worth worth;
	char why[300];
	script_hear_fn *hear;
	void *arg;
};

static enum worth
worth_of(enum child_stream which, const char *line)
{
	size_t name = strcspn(line, ": ");
	bool named = name > 0 && line[name] == ':' && line[name + 1] == ' ';

	if (which == CHILD_OUTPUT)
		return strncmp(line, "ERROR", 5) == 0 ? PRINTED_ERROR : PROGRESS;
	return named ? NAMED_ERROR : ON_STDERR;
}

static void
note_line(void *arg, enum child_stream which, const char *line)
{
	struct said *s = arg;
	enum worth worth = worth_of(which, line);

	if (which == CHILD_OUTPUT && s->hear != NULL)
		s->hear(s->arg, line);
	if (worth < s->worth)
		return;
	s->worth = worth;
	snprintf(s->why, sizeof s->why, "%.299s", line);
	size_t n = strlen(s->why);
	if (n > 0 && s->why[n - 1] == '.') /* something may follow it */
		s->why[n - 1] = '\0';
}

void
script_begin(struct args *a, const char *script, const char *path)
{
	args_add(a, "unshare"); /* a mount ends with the script, however that ends */
	if (geteuid() == 0)
		args_add(a, "-m");
	args_add(a, "sh");
	args_add(a, "-ec");
	args_add(a, script);
	args_add(a, "resize");
	args_add(a, path);
}

int
script_run(struct args *a, const char *path, script_hear_fn *hear, void *arg, struct err *e)
{
	struct said said = { .worth = NOTHING, .hear = hear, .arg = arg };

	if (args_run_telling(a, note_line, &said, e) == 0)
		return 0;
	if (e->kind == ERR_CANCELLED) /* what the tool said last is not why it ended */
		return -1;
	return said.worth == NOTHING ? -1 : err_set(e, ERR_IO, "%s: %s", path, said.why);
}

static void
note_tool(void *arg, const char *line)
{
	snprintf(arg, SCRIPT_TOOL_CAP, "%s", line);
}

bool
script_lacks(const char *programs, char absent[SCRIPT_TOOL_CAP])
{
	struct args a = { 0 };
	struct err ignored;

	absent[0] = '\0';
	script_begin(&a,
	    "for p in $1; do\n"
	    "	command -v \"$p\" > /dev/null || { echo \"$p\"; exit; }\n"
	    "done\n",
	    programs);
	return script_run(&a, programs, note_tool, absent, &ignored) == 0 &&
	       absent[0] != '\0';
}
