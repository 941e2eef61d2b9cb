/* cli.c: options are read from tables.  cli_main() calls this in the program's first thread,
 * before any other thread is started. */
#include "common/cli/cli.h"

#include "common/base/number.h"
#include "common/cli/cli_help.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	OPTS_MAX = 96,
	KEY_HELP = 1000, /* --help; -h may be the program's own option */
	KEY_VERSION,
	WORD_MAX = 40,	 /* longer than the name of any option */
	TYPOS_MAX = 2,	 /* letters wrong in a name that is still recognized */
};

/* The options of all tables in one list, and the arguments of getopt_long() made of them. */
struct parser {
	const struct cli_program *prog;
	size_t n;
	const struct cli_opt *opt[OPTS_MAX];
	size_t base[OPTS_MAX]; /* bytes: where the structure that opt[i] fills begins */
	struct option longs[OPTS_MAX + 3];
	char shorts[2 * OPTS_MAX + 4];
};

static bool
has_key(const struct parser *p, int key)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->opt[i]->key == key)
			return true;
	return false;
}

static void
parser_init(struct parser *p, const struct cli_program *prog)
{
	size_t nlong = 0, nshort = 0;

	memset(p, 0, sizeof *p);
	p->prog = prog;
	p->shorts[nshort++] = ':'; /* a missing argument makes getopt_long() return ':' */
	for (size_t t = 0; t < CLI_TABLES_MAX && prog->tables[t].opts != NULL; t++) {
		const struct cli_opt *o = prog->tables[t].opts;
		for (; o->help != NULL && p->n < OPTS_MAX; o++) {
			p->base[p->n] = prog->tables[t].base;
			p->opt[p->n++] = o;
			if (o->key < 256) {
				p->shorts[nshort++] = (char)o->key;
				if (o->arg != NULL && !cli_may_lack(o))
					p->shorts[nshort++] = ':';
			}
			if (o->name != NULL)
				p->longs[nlong++] = (struct option){ o->name,
					cli_may_lack(o) ? optional_argument : o->arg != NULL, NULL,
					o->key };
		}
	}
	if (!has_key(p, 'h'))
		p->shorts[nshort++] = 'h';
	p->longs[nlong++] = (struct option){ "help", 0, NULL, KEY_HELP };
	p->longs[nlong++] = (struct option){ "version", 0, NULL, KEY_VERSION };
}

static bool
is_help(const struct parser *p, int key)
{
	return key == KEY_HELP || (key == 'h' && !has_key(p, 'h'));
}

static bool
is_version(const struct parser *p, int key)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->opt[i]->key == key && p->opt[i]->kind == CLI_VERSION)
			return true;
	return key == KEY_VERSION;
}

static const char *
option_name(const struct cli_opt *o, char *buf, size_t cap)
{
	if (o->key < 256)
		snprintf(buf, cap, "-%c", o->key);
	else
		snprintf(buf, cap, "--%s", o->name);
	return buf;
}

/* Of a number with a unit, say that it has none. */
static int
take_number(const struct cli_opt *o, void *at, const char *arg, struct err *e)
{
	size_t digits = strspn(arg, "0123456789");

	if (number_uint(arg, o->min, o->max, at, e) == 0)
		return 0;
	if (digits > 0 && isalpha((unsigned char)arg[digits]))
		err_add(e, "it is written without a unit, and --help says what it counts");
	return -1;
}

static int
set_option(const struct cli_opt *o, void *at, const char *arg, struct err *e)
{
	switch (o->kind) {
	case CLI_FLAG:
		*(bool *)at = true;
		return 0;
	case CLI_UINT:
		return take_number(o, at, arg, e);
	case CLI_INT:
		return number_int(arg, (int64_t)o->min, (int64_t)o->max, at, e);
	case CLI_SIZE:
		return number_size(arg, o->min, o->max, at, e);
	case CLI_STR:
		*(const char **)at = arg;
		return 0;
	case CLI_CALL:
		return o->call(at, arg, e);
	case CLI_VERSION: /* cli_parse() prints the version and returns */
	case CLI_REFUSED:
		break;
	}
	return err_set(e, ERR_USAGE, "%s", o->help);
}

static enum cli_rc
apply(const struct parser *p, int key, void *opts, struct err *e)
{
	char name[64];

	for (size_t i = 0; i < p->n; i++) {
		const struct cli_opt *o = p->opt[i];
		if (o->key != key)
			continue;
		void *at = (char *)opts + p->base[i] + o->off;
		if (set_option(o, at, optarg == NULL && cli_may_lack(o) ? "" : optarg, e) == 0)
			return CLI_GO;
		err_ctx(e, "%s", option_name(o, name, sizeof name));
		return CLI_ERROR;
	}
	err_set(e, ERR_USAGE, "unknown option");
	return CLI_ERROR;
}

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* How many letters must be added, removed or replaced to make b of a's first n letters. */
static size_t
edit_distance(const char *a, size_t n, const char *b)
{
	size_t row[WORD_MAX + 1], m = strlen(b);

	if (m > WORD_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= m; j++)
		row[j] = j;
	for (size_t i = 0; i < n; i++) {
		size_t corner = row[0];
		row[0] = i + 1;
		for (size_t j = 0; j < m; j++) {
			size_t replaced = corner + (a[i] != b[j]);
			corner = row[j + 1];
			row[j + 1] = least(replaced, least(row[j], row[j + 1]) + 1);
		}
	}
	return row[m];
}

/* Two letters are a guess: nobody mistakes the first one, too, and a short name with two other
 * letters is another word. */
static bool
is_likely(const char *name, const char *typed, size_t n)
{
	return strncasecmp(name, typed, 1) == 0 &&
	       (strlen(name) > 4 || strspn(typed, name) >= n);
}

/* The option whose name is nearest to what was typed after "--", or NULL: one that begins
 * with it, or has few other letters and at least one of its own. */
static const char *
nearest_option(const struct parser *p, const char *typed)
{
	size_t n = strcspn(typed, "="), best = least(TYPOS_MAX + 1, n);
	const char *name = NULL;

	for (const struct option *o = p->longs; o->name != NULL; o++) {
		bool begins = n != 0 && strncmp(o->name, typed, n) == 0;
		size_t d = begins ? 0 : edit_distance(typed, n, o->name);
		if (d < best && (d <= 1 || is_likely(o->name, typed, n))) {
			best = d;
			name = o->name;
		}
	}
	return name;
}

static enum cli_rc
misuse(const struct parser *p, int c, char **argv, struct err *e)
{
	const char *what = c == ':' ? "needs an argument" : "is not an option";
	const char *typed = argv[optind - 1], *nearest;

	/* An option that is known is wrong only because of its argument. */
	if (c == '?' && (optopt >= 256 || has_key(p, optopt)))
		err_set(e, ERR_USAGE, "%.*s takes no argument", (int)strcspn(typed, "="),
		    typed);
	else if (optopt != 0 && optopt < 256)
		err_set(e, ERR_USAGE, "-%c %s", optopt, what);
	else if (c == '?' && (nearest = nearest_option(p, typed + 2)) != NULL)
		err_set(e, ERR_USAGE, "%s %s: did you mean --%s?", typed, what, nearest);
	else
		err_set(e, ERR_USAGE, "%s %s", typed, what);
	return CLI_ERROR;
}

enum cli_rc
cli_parse(const struct cli_program *prog, int argc, char **argv, void *opts,
    int *operand, struct err *e)
{
	struct parser p;
	struct err later, *to = e; /* only the first mistake is reported */
	enum cli_rc rc = CLI_GO, one;
	int c;

	parser_init(&p, prog);
	opterr = 0;
	optind =
	    0; /* glibc: 0 restarts the parser, which tests that parse twice need */
	while ((c = getopt_long(argc, argv, p.shorts, p.longs, NULL)) != -1) {
		if (c == ':' || c == '?')
			one = misuse(&p, c, argv, to);
		else if (is_version(&p, c) || is_help(&p, c))
			one = CLI_EXIT;
		else
			one = apply(&p, c, opts, to);
		if (one == CLI_EXIT && rc == CLI_GO) {
			if (is_version(&p, c))
				printf("%s %s\n", prog->name, SUITE_VERSION);
			else
				cli_help_print(prog, argv + 1, optind - 1);
			return CLI_EXIT;
		}
		if (one == CLI_ERROR) {
			to->misuse = true;
			rc = CLI_ERROR;
			to = &later;
		}
	}
	*operand = optind;
	return rc;
}

int
cli_operands(
    char **operands, int n, int least, int most, const char *needed, struct err *e)
{
	if (n > most)
		return err_misuse(e, "%s: is one operand too many: %s", operands[most], needed);
	return n < least ? err_misuse(e, "%s", needed) : 0;
}

int
cli_close_stdout(struct err *e)
{
	if (ferror(stdout) || fflush(stdout) != 0 || fclose(stdout) != 0)
		return err_os(e, "standard output");
	return 0;
}
