/* usage.c: what programs refuse as wrong usage, and how they fail when the command line is right,
 * each time in a process that is only forked:
 *
 *	usage PROGRAM TABLE
 *
 * TABLE is tests/usage/PROGRAM.txt (table.h).  The main() of every program is linked into
 * this one as PROGRAM_main() (Makefile).  For each case a child calls it in a folder that has
 * `disk` (64 KiB of zeros), `image` (of that disk), `empty` (a file) and `dir` (a folder).
 * The exit status must be 2, or the one that the table says; standard error must have one sentence,
 * which begins with the program's name, and the words of the table.  Nothing may be on standard output but the
 * document of --json, and the folder must be as it was.  tests/run starts this program once
 * for each table.  All is done in the first thread. */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/t.h"
#include "tests/tmp.h"
#include "tests/usage/table.h"

enum {
	DISK_BYTES = 64 << 10,
	/* A program that does not refuse may wait for ever, as a server does. */
	LIMIT_S = 100,
	TEXT_BYTES = 4000,
};

/* PROGRAMS is the Makefile's list, as P(imagezip) P(imageunzip)... */
#define P(name) int name##_main(int argc, char **argv);
PROGRAMS
#undef P
static const struct program {
	const char *name;
	int (*main)(int argc, char **argv);
} programs[] = {
#define P(name) { #name, name##_main },
	PROGRAMS
};

/* What a child left. */
struct outcome {
	int status; /* of waitpid() */
	char out[TEXT_BYTES], err[TEXT_BYTES];
};

static const struct program *
program_of(const char *name)
{
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
		if (strcmp(programs[i].name, name) == 0)
			return &programs[i];
	return NULL;
}

static const char *const files[] = { "disk", "image", "empty", "dir" };
enum { FILES = sizeof files / sizeof *files };

static void
remove_files(void)
{
	for (int i = 0; i < FILES; i++)
		remove(files[i]);
}

static int
entries_of(const char *folder)
{
	DIR *d = opendir(folder);
	int n = 0;

	while (d != NULL && readdir(d) != NULL)
		n++;
	if (d != NULL)
		closedir(d);
	return n - 2; /* . and .. */
}

/* What the folder is like. */
struct look {
	struct timespec changed[FILES]; /* for the last time; 0: the file is not there */
	int entries, in_dir;            /* in the folder, and in `dir` */
};

static struct look
look_at_folder(void)
{
	struct look l;
	struct stat st;

	memset(&l, 0, sizeof l);
	for (int i = 0; i < FILES; i++)
		if (stat(files[i], &st) == 0)
			l.changed[i] = st.st_ctim;
	l.entries = entries_of(".");
	l.in_dir = entries_of("dir");
	return l;
}

/* Only what a table says is in the environment. */
static void
set_environment(char **env)
{
	char path[TEXT_BYTES];

	snprintf(path, sizeof path, "PATH=%s", getenv("PATH"));
	clearenv();
	putenv(path);
	for (; *env != NULL; env++)
		putenv(*env);
}

/* In the child: never returns. */
static void
become(const struct program *p, char **env, char **words, int out, int err)
{
	char *argv[WORDS_MAX + 1];
	int argc = 1, in = open("/dev/null", O_RDONLY);

	argv[0] = strdup(p->name);
	while (*words != NULL)
		argv[argc++] = *words++;
	argv[argc] = NULL;
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	close(in);
	close(out);
	close(err);
	set_environment(env);
	alarm(LIMIT_S);
	exit(p->main(argc, argv));
}

/* What is in the pipe now: a process that the child has left might keep it open. */
static void
get_text(int fd, char text[TEXT_BYTES])
{
	fcntl(fd, F_SETFL, O_NONBLOCK);
	ssize_t n = read(fd, text, TEXT_BYTES - 1);

	text[n > 0 ? n : 0] = '\0';
	close(fd);
}

static void
try(const struct program *p, char **env, char **words, struct outcome *o)
{
	int out[2], err[2];

	o->status = -1;
	o->out[0] = o->err[0] = '\0';
	if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0)
		return;
	fflush(stdout); /* or the child would print what waits here */
	pid_t child = fork();
	if (child == 0)
		become(p, env, words, out[1], err[1]);
	if (child > 0)
		waitpid(child, &o->status, 0);
	close(out[1]);
	close(err[1]);
	get_text(out[0], o->out);
	get_text(err[0], o->err);
}

static bool
make_files(void)
{
	char quiet[] = "-q", raw[] = "-r", from[] = "disk", to[] = "image";
	char *words[] = { quiet, raw, from, to, NULL }, *no_variable = NULL;
	struct outcome made;
	int disk = open("disk", O_CREAT | O_WRONLY, 0600);
	int empty = open("empty", O_CREAT | O_WRONLY, 0600);
	bool rc = disk >= 0 && ftruncate(disk, DISK_BYTES) == 0 && empty >= 0;

	close(disk);
	close(empty);
	try(program_of("imagezip"), &no_variable, words, &made);
	return rc && made.status == 0 && mkdir("dir", 0700) == 0;
}

/* Every line is "usage: ..." or goes on behind it but one, which is "PROGRAM: ...". */
static bool
is_one_sentence(const char *name, const char *text)
{
	size_t n = strlen(name);
	int sentences = 0;

	for (; *text != '\0'; text += strcspn(text, "\n"), text += *text == '\n') {
		if (strncmp(text, "usage: ", 7) == 0 || strncmp(text, "       ", 7) == 0)
			continue;
		if (strncmp(text, name, n) != 0 || strncmp(text + n, ": ", 2) != 0)
			return false;
		sentences++;
	}
	return sentences == 1;
}

/* How the command line should be is told when it is wrong, and not when something is wrong
 * with what it names. */
static bool
usage_line_is_right(const char *const *parts, const char *text)
{
	bool wanted = false;

	for (; *parts != NULL; parts++)
		wanted |= strncmp(*parts, "usage:", 6) == 0;
	return wanted == (strstr(text, "\nusage: ") != NULL);
}

static bool
stdout_is_right(char *const *words, const char *text)
{
	for (; *words != NULL; words++)
		if (strcmp(*words, "--json") == 0)
			return text[0] == '{';
	return text[0] == '\0';
}

static const char *
wrong(const struct program *p, const struct usage_case *c, const struct outcome *o)
{
	if (!WIFEXITED(o->status) || WEXITSTATUS(o->status) != c->status)
		return "the exit status is another one";
	if (!is_one_sentence(p->name, o->err))
		return "that is not one sentence";
	for (const char *const *part = c->parts; *part != NULL; part++)
		if (strstr(o->err, *part) == NULL)
			return *part;
	if (!usage_line_is_right(c->parts, o->err))
		return "the line \"usage:\" is there or in the table, not both";
	return stdout_is_right(c->words, o->out) ? NULL : "standard output is not right";
}

/* One case, said as a T_CHECK is. */
static void
check(const struct program *p, const char *table, struct usage_case *c)
{
	struct look before = look_at_folder(), after;
	struct outcome o;

	try(p, c->env, c->words, &o);
	after = look_at_folder();
	const char *why = wrong(p, c, &o);
	if (why == NULL && memcmp(&before, &after, sizeof after) != 0)
		why = "the folder is not as it was";
	t_check(why == NULL, c->text, table, c->line);
	if (why != NULL)
		printf("# %s (status %#x):\n%s%s", why, (unsigned)o.status, o.err, o.out);
}

/* What no table has to say: nothing is not enough, and nonsense is not taken. */
static void
check_any_program(const struct program *p)
{
	char word[] = "--nonsense";
	struct usage_case none = { .text = "no argument", .parts = { "usage: " },
		.status = STATUS_USAGE };
	struct usage_case nonsense = { .text = word,
		.status = STATUS_USAGE,
		.words = { word },
		.parts = { "--nonsense is not an option", "usage: " } };

	check(p, p->name, &none);
	check(p, p->name, &nonsense);
}

static bool
check_table(const struct program *p, const char *path, struct table *t)
{
	struct usage_case c = { 0 };
	int n[STATUS_DAMAGED + 1] = { 0 }, rc;

	while ((rc = table_next(t, &c)) == 1) {
		check(p, path, &c);
		n[c.status]++;
	}
	if (rc < 0)
		t_check(false, "this line cannot be understood", path, c.line);
	return t_check(n[STATUS_USAGE] > 0 && n[STATUS_FAILED] > 0,
	    "the table has cases of both exit statuses", path, 1);
}

int
main(int argc, char **argv)
{
	const struct program *p = argc == 3 ? program_of(argv[1]) : NULL;
	struct table *t = p != NULL ? table_read(argv[2]) : NULL;
	char folder[1000];

	if (!T_CHECK(t != NULL) || !T_CHECK(tmp_folder(folder, sizeof folder, "usage")))
		return t_done();
	if (T_CHECK(chdir(folder) == 0 && make_files())) {
		check_any_program(p);
		check_table(p, argv[2], t);
	}
	remove_files();
	table_free(t);
	T_CHECK(rmdir(folder) == 0);
	return t_done();
}
