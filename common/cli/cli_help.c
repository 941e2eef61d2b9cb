/* cli_help.c: --help is made of the tables of options.  cli.c calls this in the program's first
 * thread. */
#include "common/cli/cli_help.h"

#include <string.h>

enum { HELP_COLUMN = 30, TEXT_BYTES = 500 };

bool
cli_may_lack(const struct cli_opt *o)
{
	return o->arg != NULL && o->arg[0] == '[';
}

/* The line of `about` that describes the command, behind the spaces that it begins with; NULL:
 * the word is no command. */
static const char *
command_line(const struct cli_program *prog, const char *word, size_t n)
{
	const char *line = prog->about;

	while (n > 0 && (line = strstr(line, "\n  ")) != NULL) {
		line += 3;
		if (strncmp(line, word, n) == 0 && line[n] == ' ')
			return line;
	}
	return NULL;
}

/* How many bytes a list of commands has, such as "put, import: ", that the text begins with. */
static size_t
list_bytes(const struct cli_program *prog, const char *text, size_t n)
{
	const char *colon = memmem(text, n, ": ", 2);

	return colon != NULL && command_line(prog, text, strcspn(text, ",: ")) != NULL
	           ? (size_t)(colon - text) + 2
	           : 0;
}

static bool
list_has(const char *list, size_t n, const char *command)
{
	size_t word;

	for (size_t at = 0; at < n; at += word + 1) {
		word = strcspn(list + at, ",: ");
		if (word == strlen(command) && memcmp(list + at, command, word) == 0)
			return true;
	}
	return false;
}

/* Leave of an option's help what is about the command; "" if the command does not take the
 * option.  "rm, copy: take all; gc: replace all" has a part for rm and copy, and one for gc. */
static void
help_of(const struct cli_program *prog, const char *help, const char *command,
    char out[TEXT_BYTES])
{
	bool about_it = true;
	size_t len;

	out[0] = '\0';
	for (; *help != '\0'; help += len + (help[len] != '\0' ? 2 : 0)) {
		const char *end = strstr(help, "; ");
		len = end != NULL ? (size_t)(end - help) : strlen(help);
		size_t list = list_bytes(prog, help, len), n = strlen(out);
		if (list > 0)
			about_it = list_has(help, list, command);
		if (about_it)
			snprintf(out + n, TEXT_BYTES - n, "%s%.*s", n > 0 ? "; " : "",
			    (int)(len - list), help + list);
	}
}

static void
print_option(const struct cli_opt *o, const char *help)
{
	char left[80];
	int n = 0;

	if (o->key < 256)
		n = snprintf(left, sizeof left, "  -%c", o->key);
	else
		n = snprintf(left, sizeof left, "    ");
	if (o->name != NULL)
		n += snprintf(left + n, sizeof left - (size_t)n, "%s --%s",
		    o->key < 256 ? "," : " ", o->name);
	if (o->arg != NULL)
		snprintf(left + n, sizeof left - (size_t)n,
		    cli_may_lack(o) ? "[%s%.*s]" : "%s%.*s", o->name != NULL ? "=" : " ",
		    (int)strlen(o->arg) - (cli_may_lack(o) ? 2 : 0),
		    o->arg + (cli_may_lack(o) ? 1 : 0));
	if (strlen(left) >= HELP_COLUMN)
		printf("%s\n%*s%s\n", left, HELP_COLUMN, "", help);
	else
		printf("%-*s%s\n", HELP_COLUMN, left, help);
}

/* Print the options that the command takes; NULL: all. */
static void
print_options(const struct cli_program *prog, const char *command)
{
	char text[TEXT_BYTES];

	for (size_t t = 0; t < CLI_TABLES_MAX && prog->tables[t].opts != NULL; t++) {
		const char *heading = prog->tables[t].heading;
		printf("\n%s:\n", heading != NULL ? heading : "Options");
		const struct cli_opt *o = prog->tables[t].opts;
		for (; o->help != NULL; o++) {
			if (o->kind == CLI_REFUSED)
				continue;
			if (command != NULL)
				help_of(prog, o->help, command, text);
			if (command == NULL || text[0] != '\0')
				print_option(o, command == NULL ? o->help : text);
		}
	}
	printf("%-*sprint this text and exit\n%-*sprint the version and exit\n", HELP_COLUMN,
	    "  -h, --help", HELP_COLUMN, "      --version");
}

/* Print what the program and its commands do. */
static void
print_program(const struct cli_program *prog)
{
	printf("usage: %s %s\n\n%s\n", prog->name, prog->synopsis, prog->about);
	print_options(prog, NULL);
	if (prog->examples != NULL)
		printf("\nExamples:\n%s", prog->examples);
}

/* The line has the command, its operands, and behind more than one space what it does. */
static void
print_command(const struct cli_program *prog, const char *command, const char *line)
{
	const char *gap = strstr(line, "  ");
	const char *text = gap + strspn(gap, " ");

	printf("usage: %s [options] %.*s\n\n%s: %.*s\n", prog->name, (int)(gap - line), line,
	    command, (int)strcspn(text, "\n"), text);
	print_options(prog, command);
}

void
cli_help_print(const struct cli_program *prog, char **words, int n)
{
	const char *line = NULL;
	int i = 0;

	while (i < n && (line = command_line(prog, words[i], strlen(words[i]))) == NULL)
		i++;
	if (line != NULL)
		print_command(prog, words[i], line);
	else
		print_program(prog);
	printf("\nThe manual: man %s\n", prog->name);
}
