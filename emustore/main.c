/* main.c: emustore keeps many images in a store that holds each piece of data once.
 * This file has the options and the table of commands. main() runs in the first
 * thread. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cli/cli.h"
#include "common/disk/output.h"
#include "emustore/emustore.h"

enum { PACK_BYTES_MIN = 4096 };

/* Which options a command takes; --store, --json and --quiet all do. */
enum takes {
	TAKES_WAIT = 1,
	TAKES_DATA = 2,
	TAKES_INDEX = 4,
	TAKES_ALL = 8,
	TAKES_CHUNK = 16,
	TAKES_PACK = 32,
	TAKES_ABOUT = 64,
	TAKES_EXACT = 128,
	TAKES_JOBS = 256,
	TAKES_GRACE = 512,
	TAKES_FORCE = 1024,
	TAKES_TO = 2048,
	TAKES_KEEP = 4096,
	TAKES_DRY_RUN = 8192,
	TAKES_CODEC = 16384,
	TAKES_USAGE = 32768,
};

static int
add_label(void *at, const char *arg, struct err *e)
{
	struct options *o = at;
	const char *equals = strchr(arg, '=');
	struct recipe_label *l = &o->labels[o->nlabels];

	if (o->nlabels == RECIPE_LABELS_MAX)
		return err_set(e, ERR_USAGE, "more than %d labels", RECIPE_LABELS_MAX);
	size_t key = equals != NULL ? (size_t)(equals - arg) : strlen(arg);
	const char *value = equals != NULL ? equals + 1 : "";
	if (key == 0 || key > RECIPE_TEXT_MAX || strlen(value) > RECIPE_TEXT_MAX)
		return err_set(e, ERR_USAGE,
		    "\"%.40s\" is not KEY=VALUE of at most %d bytes each", arg,
		    RECIPE_TEXT_MAX);
	for (const char *p = arg; *p != '\0'; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return err_set(
			    e, ERR_USAGE, "a label must not have a control character");
	memcpy(l->key, arg, key);
	l->key[key] = '\0';
	strcpy(l->value, value);
	o->nlabels++;
	return 0;
}

static int
set_codec(void *at, const char *arg, struct err *e)
{
	return codec_parse(&((struct options *)at)->how.codec, arg, e);
}

#define AT(field) offsetof(struct options, field)
#define KEEP(key, name, help, field) \
	{ \
		key, name, "N", help, CLI_UINT, AT(keep.field), 1, UINT32_MAX, NULL \
	}

static const struct cli_opt opts[] = {
	{ 315, "store", "DIR|URL",
	    "the store: a folder, or s3://BUCKET/PREFIX (default: the environment "
	    "variable EMUSTORE)",
	    CLI_STR, AT(store), 0, 0, NULL },
	{ 300, "json", NULL, "print JSON", CLI_FLAG, AT(json), 0, 0, NULL },
	{ 'q', "quiet", NULL, "print neither progress nor a summary", CLI_FLAG,
	    AT(quiet), 0, 0, NULL },
	{ 'w', "wait", NULL, "wait while another program writes to the store", CLI_FLAG,
	    AT(wait), 0, 0, NULL },
	{ 316, "label", "KEY=VALUE", "put, import: give the image a label; repeatable",
	    CLI_CALL, 0, 0, 0, add_label },
	{ 317, "parent", "NAME", "put, import: the image that this one derives from",
	    CLI_STR, AT(parent), 0, 0, NULL },
	{ 'e', "exact", NULL,
	    "put, import: keep the compressed data of other programs as it is",
	    CLI_FLAG, AT(exact), 0, 0, NULL },
	{ 314, "codec", "CODEC[:LEVEL]",
	    "put, import: encode the image again with this codec: deflate, igzip or zstd",
	    CLI_CALL, 0, 0, 0, set_codec },
	{ 'j', "jobs", "N",
	    "put, import, get, verify: use N threads (default: one for each processor)",
	    CLI_UINT, AT(jobs), 1, 256, NULL },
	{ 318, "force", NULL,
	    "get: write even to a disk, or over any file, and ask nothing",
	    CLI_FLAG, AT(force), 0, 0, NULL },
	{ 319, "chunk", "N", "get: write only this chunk", CLI_UINT, AT(chunk), 0,
	    INT32_MAX, NULL },
	{ 301, "data", NULL, "verify: read all data, and check every digest", CLI_FLAG,
	    AT(data), 0, 0, NULL },
	{ 302, "index", NULL, "repair: only rebuild the index", CLI_FLAG, AT(index), 0,
	    0, NULL },
	{ 'a', "all", NULL,
	    "rm, copy: take every version; gc: replace packs with little to gain, too",
	    CLI_FLAG, AT(all), 0, 0, NULL },
	{ 303, "pack-size", "BYTES", "init: the size of a pack (32M)", CLI_SIZE,
	    AT(pack_bytes), PACK_BYTES_MIN, 1ull << 40, NULL },
	{ 304, "grace", "SECONDS",
	    "init, in a bucket: keep data that no image needs for SECONDS (86400)",
	    CLI_UINT,
	    AT(grace), 2, 1u << 30, NULL },
	{ 305, "cache", "DIR",
	    "the folder for the index, and for data from a bucket (~/.cache/emustore)",
	    CLI_STR, AT(cache), 0, 0, NULL },
	{ 306, "cache-size", "BYTES",
	    "the cache keeps at most this much data of packs (10G)", CLI_SIZE,
	    AT(cache_bytes), 1, INT64_MAX, NULL },
	{ 307, "to", "DIR|URL", "copy: the store that the images go to", CLI_STR,
	    AT(to), 0, 0, NULL },
	KEEP(308, "keep-last", "forget: keep the N newest versions of each image", last),
	KEEP(309, "keep-hourly",
	    "forget: keep the newest version of each of the N latest hours", hourly),
	KEEP(310, "keep-daily",
	    "forget: keep the newest version of each of the N latest days", daily),
	KEEP(311, "keep-weekly",
	    "forget: keep the newest version of each of the N latest weeks", weekly),
	KEEP(312, "keep-monthly",
	    "forget: keep the newest version of each of the N latest months",
	    monthly),
	KEEP(313, "keep-yearly",
	    "forget: keep the newest version of each of the N latest years", yearly),
	{ 320, "dry-run", NULL, "forget: only print what would be removed", CLI_FLAG,
	    AT(dry_run), 0, 0, NULL },
	{ 321, "usage", NULL,
	    "list, info, stats: say what each version uses alone, however long that takes",
	    CLI_FLAG, AT(usage), 0, 0, NULL },
	{ 0 },
};

/* get writes to its last operand: reports go to standard error if that is standard output. */
static FILE *
report_to(const void *options, char **operands, int n)
{
	if (n > 0 && strcmp(operands[0], "get") == 0)
		return output_report_last(options, operands, n);
	return stdout;
}

static const char *
left(const void *options, char **operands, int n)
{
	static const struct {
		const char *command, *left;
	} all[] = { { "put", "the image is not in the store" },
		{ "import", "this image is not in the store" },
		{ "copy", "the same command copies the rest" },
		{ "rm", "the same command removes the rest" },
		{ "forget", "the same command does the rest" },
		{ "gc", "the store is whole: the same command goes on" },
		{ "repair", "the store is not worse: the same command goes on" },
		{ "verify", "not all was looked at" } };

	if (n > 0 && strcmp(operands[0], "get") == 0)
		return output_image_left(options, operands, n);
	for (size_t i = 0; n > 0 && i < sizeof all / sizeof all[0]; i++)
		if (strcmp(operands[0], all[i].command) == 0)
			return all[i].left;
	return NULL;
}

static const struct cli_program prog = {
	.report_to = report_to,
	.left = left,
	.name = "emustore",
	.synopsis = "[options] command [operands]",
	.about =
	    "Keep many images in one store, which holds each piece of data once.\n"
	    "\n"
	    "  init                  make a new store\n"
	    "  put NAME IMAGE|-      check an image, and put it into the store\n"
	    "  get NAME IMAGE|-      write an image, with the same bytes that were "
	    "put\n"
	    "  list                  list all images, and what only each one uses\n"
	    "  info NAME             describe an image\n"
	    "  stats                 print how much room the store saves\n"
	    "  rm NAME               remove an image; gc then frees its room\n"
	    "  gc                    remove data that no image needs\n"
	    "  verify                check that all data is there and undamaged\n"
	    "  repair                find damaged data, so that a put can replace it\n"
	    "  import FOLDER         put all images of a folder, named like their "
	    "files\n"
	    "  copy NAME...          copy images into another store (--to)\n"
	    "  forget [NAME...]      remove versions that no rule keeps "
	    "(--keep-daily=7); gc then frees their room\n"
	    "\n"
	    "NAME is like ubuntu24, lab/web:3 or web:latest.",
	.examples = "  emustore --store /srv/store init\n"
		    "  imagezip /dev/sda - | emustore --store /srv/store put ubuntu24 -\n"
		    "  emustore --store /srv/store get ubuntu24:1 old.ndz\n"
		    "  imageunzip --store /srv/store ubuntu24 /dev/sdb\n"
		    "  emustore --store s3://images/lab put ubuntu24 u.ndz\n"
		    "  emustore --store /srv/store copy ubuntu24 --to s3://images/lab\n"
		    "  emustore --store /srv/store forget --keep-last 3 --keep-monthly 12\n",
	.tables = { { opts, 0, NULL } },
};

static const struct command {
	const char *name;
	int min, max; /* operands */
	unsigned takes;
	int (*run)(const struct options *, char **, int, struct err *);
} commands[] = {
	{ "init", 0, 0, TAKES_WAIT | TAKES_PACK | TAKES_GRACE, command_init },
	{ "put", 2, 2, TAKES_WAIT | TAKES_ABOUT | TAKES_EXACT | TAKES_JOBS | TAKES_CODEC,
	    command_put },
	{ "import", 1, 1, TAKES_WAIT | TAKES_ABOUT | TAKES_EXACT | TAKES_JOBS | TAKES_CODEC,
	    command_import },
	{ "get", 2, 2, TAKES_WAIT | TAKES_CHUNK | TAKES_JOBS | TAKES_FORCE, command_get },
	{ "list", 0, 0, TAKES_WAIT | TAKES_USAGE, command_list },
	{ "info", 1, 1, TAKES_WAIT | TAKES_USAGE, command_info },
	{ "stats", 0, 0, TAKES_WAIT | TAKES_USAGE, command_stats },
	{ "rm", 1, 1, TAKES_WAIT | TAKES_ALL, command_rm },
	{ "copy", 1, INT_MAX, TAKES_WAIT | TAKES_ALL | TAKES_TO, command_copy },
	{ "forget", 0, INT_MAX, TAKES_WAIT | TAKES_KEEP | TAKES_DRY_RUN, command_forget },
	{ "gc", 0, 0, TAKES_WAIT | TAKES_ALL, command_gc },
	{ "verify", 0, 0, TAKES_WAIT | TAKES_DATA | TAKES_JOBS, command_verify },
	{ "repair", 0, 0, TAKES_WAIT | TAKES_INDEX, command_repair },
};

struct store_place
place_of(const struct options *o)
{
	return (struct store_place){ o->store, o->cache, o->cache_bytes };
}

int
emustore_open_for(struct store *s, const struct options *o, unsigned access, struct err *e)
{
	struct store_place p = place_of(o);
	int rc = store_open_at(s, &p, access, e);
	size_t n = strlen(e->text);

	if (rc != 0 && e->os == EWOULDBLOCK)
		snprintf(e->text + n, sizeof e->text - n, " (--wait waits for it)");
	return rc;
}

int
emustore_open(struct store *s, const struct options *o, bool writing, struct err *e)
{
	return emustore_open_for(
	    s, o, writing ? STORE_WRITE | (o->wait ? STORE_WAIT : 0u) : STORE_READ, e);
}

void
emustore_time_text(uint64_t seconds, char out[32])
{
	time_t t = (time_t)seconds;
	struct tm tm;

	if (gmtime_r(&t, &tm) == NULL || strftime(out, 32, "%F %T UTC", &tm) == 0)
		strcpy(out, "?");
}

void
json_image(struct json *j, const struct recipe_image *i)
{
	json_string(j, "name", i->name.name);
	json_uint(j, "version", i->name.version);
	json_uint(j, "chunks", i->chunks);
	json_uint(j, "image_bytes", (uint64_t)i->chunks * NDZ_CHUNK_BYTES);
	json_uint(j, "data_bytes", i->data_bytes);
	json_hex(j, "sha256", i->sha256, sizeof i->sha256);
	json_uint(j, "put_at", i->put_at);
	if (i->parent[0] != '\0')
		json_string(j, "parent", i->parent);
}

static unsigned
given(const struct options *o)
{
	return (o->wait ? TAKES_WAIT : 0u) | (o->data ? TAKES_DATA : 0u) |
	       (o->index ? TAKES_INDEX : 0u) | (o->all ? TAKES_ALL : 0u) |
	       (o->chunk != UINT64_MAX ? TAKES_CHUNK : 0u) |
	       (o->pack_bytes != 0 ? TAKES_PACK : 0u) |
	       (o->grace != 0 ? TAKES_GRACE : 0u) | (o->exact ? TAKES_EXACT : 0u) |
	       (o->jobs != 0 ? TAKES_JOBS : 0u) | (o->force ? TAKES_FORCE : 0u) |
	       (o->to != NULL ? TAKES_TO : 0u) | (keep_any(&o->keep) ? TAKES_KEEP : 0u) |
	       (o->dry_run ? TAKES_DRY_RUN : 0u) | (o->usage ? TAKES_USAGE : 0u) |
	       (o->how.codec.codec != NULL ? TAKES_CODEC : 0u) |
	       (o->parent != NULL || o->nlabels > 0 ? TAKES_ABOUT : 0u);
}

/* Names of options, indexed by bit of enum takes. */
static const char *const takes_names[] = { "--wait", "--data", "--index", "--all",
	"--chunk", "--pack-size", "--label or --parent", "--exact", "--jobs",
	"--grace", "--force", "--to", "--keep-...", "--dry-run", "--codec",
	"--usage" };

static int
err_no_command(const char *given, struct err *e)
{
	char list[200] = "";

	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s",
		    i > 0 ? ", " : "", commands[i].name);
	return err_misuse(e,
	    "there is no command \"%.40s\"; there are: %s", given, list);
}

static int
act(void *options, char **operands, int n, struct err *e)
{
	struct options *o = options;
	const struct command *c = commands,
			     *end = c + sizeof commands / sizeof *commands;

	if (n < 1)
		return err_misuse(e, "a command is needed");
	while (c < end && strcmp(c->name, operands[0]) != 0)
		c++;
	if (c == end)
		return err_no_command(operands[0], e);
	if (n - 1 < c->min && c->max == INT_MAX)
		return err_misuse(e, "%s needs a name", c->name);
	if (n - 1 < c->min || n - 1 > c->max)
		return err_misuse(e, "%s takes %d operand%s%s", c->name, c->max,
		    c->max == 1 ? "" : "s",
		    c->max == 0 ? ": --store names the store" : "");
	if ((given(o) & ~c->takes) != 0)
		return err_set(e, ERR_USAGE, "%s does not take %s", c->name,
		    takes_names[__builtin_ctz(given(o) & ~c->takes)]);
	if (o->exact && o->how.codec.codec != NULL)
		return err_set(e, ERR_USAGE,
		    "--exact and --codec contradict each other: an image that is "
		    "encoded again has other bytes");
	if (o->store == NULL)
		o->store = getenv("EMUSTORE");
	if (o->store == NULL || o->store[0] == '\0')
		return err_set(e, ERR_USAGE,
		    "no store is given: use --store, or the environment variable "
		    "EMUSTORE");
	return c->run(o, operands + 1, n - 1, e);
}

int
main(int argc, char **argv)
{
	static struct options o = { .chunk = UINT64_MAX };

	return cli_main(&prog, argc, argv, &o, act);
}
