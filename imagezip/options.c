/* options.c: the table of imagezip's options, and what they mean together.  cli_main()
 * reads the table, and main.c calls imagezip_settle(), in the first thread. */
#include "imagezip/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/number.h"
#include "common/cli/cli_rows.h"
#include "common/cli/codec_opts.h"
#include "common/cli/image_opts.h"
#include "common/disk/bsdlabel.h"
#include "common/disk/output.h"
#include "common/resize/resize.h"
#include "imagezip/into_store.h"

/* Add a partition to a choice: "2", or "1e", partition e of the disklabel in partition 1. */
static int
add_partition(struct part_choice *set, const char *arg, struct err *e)
{
	char number[8];
	uint64_t n;
	size_t digits = strspn(arg, "0123456789");
	unsigned letter = (unsigned)arg[digits] - 'a';

	if (digits == 0 || digits >= sizeof number || letter >= BSDLABEL_PARTS_MAX ||
	    arg[digits + 1] != '\0') {
		if (number_uint(arg, 1, PTABLE_PARTS_MAX, &n, e) != 0)
			return -1;
		set->whole[n] = true;
		return 0;
	}
	snprintf(number, sizeof number, "%.*s", (int)digits, arg);
	if (number_uint(number, 1, PTABLE_PARTS_MAX, &n, e) != 0)
		return -1;
	set->letters[n] |= UINT32_C(1) << letter;
	return 0;
}

static int
add_ignore(void *at, const char *arg, struct err *e)
{
	return add_partition(&((struct options *)at)->what.ignore, arg, e);
}

static int
add_raw(void *at, const char *arg, struct err *e)
{
	return add_partition(&((struct options *)at)->what.force_raw, arg, e);
}

static int
set_type(void *at, const char *arg, struct err *e)
{
	struct options *o = at;

	o->what.has_type = true;
	return number_uint(arg, 1, 255, &o->what.type, e);
}

static int
set_bsd(void *at, const char *arg, struct err *e)
{
	(void)arg;
	return set_type(at, "165", e);
}

static int
set_ntfs(void *at, const char *arg, struct err *e)
{
	(void)arg;
	return set_type(at, "7", e);
}

/* Parse "store" or "skip". */
static int
stores(const char *arg, bool *store, struct err *e)
{
	*store = strcmp(arg, "store") == 0;
	if (*store || strcmp(arg, "skip") == 0)
		return 0;
	return err_set(e, ERR_USAGE, "\"%s\": must be store or skip", arg);
}

static int
set_outside(void *at, const char *arg, struct err *e)
{
	struct options *o = at;

	o->what.store_outside = strcmp(arg, "store") == 0;
	o->what.skip_outside = strcmp(arg, "skip") == 0;
	if (o->what.store_outside || o->what.skip_outside || strcmp(arg, "tail") == 0)
		return 0;
	return err_set(e, ERR_USAGE, "\"%s\": must be tail, store or skip", arg);
}

static int
set_gaps(void *at, const char *arg, struct err *e)
{
	struct options *o = at;
	bool store = true;
	int rc = stores(arg, &store, e);

	o->what.skip_gaps = !store;
	o->what.store_gaps = store;
	return rc;
}

static int
set_any_length(void *at, const char *arg, struct err *e)
{
	struct options *o = at;

	(void)arg, (void)e;
	o->what.raw = o->what.any_length = true;
	return 0;
}

static int
set_uuid(void *at, const char *arg, struct err *e)
{
	struct options *o = at;

	o->what.how.has_uuid = true;
	return number_uuid(arg, o->what.how.uuid, e);
}

enum {
	OPT_DISK = 300,
	OPT_FORCE,
	OPT_LIVE,
	OPT_PROGRESS,
	OPT_JSON,
	OPT_RETRIES,
	OPT_OUTSIDE,
	OPT_GAPS,
	OPT_SKIP_UNKNOWN,
	OPT_TO,
	OPT_TOKEN,
	OPT_STORE,
	OPT_CHANGED,
	OPT_SINCE,
	OPT_SHRINK,
	OPT_MARGIN,
	OPT_VERIFY,
};

#define AT(field) offsetof(struct options, field)

static const struct cli_opt what_opts[] = {
	{ 's', "slice", "N", "store only partition N of the disk", CLI_UINT,
	    AT(what.slice), 1, PTABLE_PARTS_MAX, NULL },
	FLAG('l', "linux", "the source is one ext2/3/4 partition, not a disk",
	    what.linux_partition),
	{ 'b', "bsd", NULL, "the source is one FreeBSD partition (-S 165)", CLI_CALL, 0,
	    0, 0, set_bsd },
	{ 'n', "ntfs", NULL, "the source is one NTFS partition (-S 7)", CLI_CALL, 0, 0,
	    0, set_ntfs },
	{ 'S', "type", "T", "the source is one partition of this MBR type (decimal)",
	    CLI_CALL, 0, 0, 0, set_type },
	FLAG(OPT_DISK, "disk",
	    "the source is a disk, even if it looks like a filesystem",
	    what.whole_disk),
	FLAG('r', "raw", "store every sector, free or not", what.raw),
	{ 'f', "file", NULL, "store any file, of any length", CLI_CALL, 0, 0, 0,
	    set_any_length },
	{ 'c', "count", "N",
	    "store only the first N sectors of the disk, file or pipe", CLI_UINT,
	    AT(what.count), 1, UINT64_MAX >> 9, NULL },
	{ 'I', "ignore", "P",
	    "leave out partition P (2; 1e: e of BSD slice 1); repeatable", CLI_CALL, 0,
	    0, 0, add_ignore },
	{ 'R', "raw-part", "P", "store every sector of partition P; repeatable",
	    CLI_CALL, 0, 0, 0, add_raw },
	{ 'F', "min-free", "N", "store free ranges shorter than N sectors (64)",
	    CLI_UINT, AT(what.min_free), 0, UINT32_MAX, NULL },
	FLAG('Z', "zero-small", "store free ranges that are shorter than -F as zeros",
	    what.zero_small),
	FLAG('M', "blank-inodes",
	    "store free inodes of UFS as zeros, except their generation",
	    what.blank_inodes),
	FLAG('x', "exclude-slack", "leave out the space behind the end of a filesystem",
	    what.exclude_slack),
	{ OPT_OUTSIDE, "outside", "POLICY",
	    "the space before the first and behind the last partition: store, skip, or "
	    "tail, which keeps the disk's end (tail)",
	    CLI_CALL, 0, 0, 0, set_outside },
	{ OPT_GAPS, "gaps", "POLICY",
	    "the space between partitions: store or skip (store)", CLI_CALL, 0, 0, 0,
	    set_gaps },
	FLAG(OPT_SKIP_UNKNOWN, "skip-unknown",
	    "leave out partitions in which nothing is recognised", what.skip_unknown),
	{ 'A', "limit", "MB",
	    "fail if more than MB MiB of data would be stored", CLI_UINT,
	    AT(what.limit_mb), 1, UINT32_MAX, NULL },
	{ 'B', "boot", "N", "make a boot image: partition N and what boots it",
	    CLI_UINT, AT(what.boot_root), 1, PTABLE_PARTS_MAX, NULL },
	FLAG('X', "bad-as-zeros",
	    "store unreadable sectors as zeros, and list them (exit status 4)",
	    what.bad_as_zeros),
	FLAG('N', "no-relocations",
	    "store the sector numbers in disklabels and LILO unchanged",
	    what.no_relocs),
	FLAG('L', "relocations",
	    "make disklabels and LILO relocatable even if the source begins at sector 0",
	    what.force_relocs),
	FLAG(OPT_SHRINK, "shrink",
	    "make the image of the smallest disk that has the files; the source stays "
	    "as it is",
	    shrink),
	{ OPT_MARGIN, "margin", "SIZE",
	    "with --shrink: leave SIZE free in each filesystem (256M; btrfs, NTFS: 1G)",
	    CLI_SIZE,
	    AT(margin_bytes), 0, UINT64_C(1) << 50, NULL },
	FLAG(OPT_LIVE, "live", "capture a source that is in use; the image says so",
	    what.live),
	{ OPT_RETRIES, "retries", "N", "read a bad sector up to N times more (3)",
	    CLI_UINT, AT(what.retries), 0, 1000, NULL },
	{ 0 },
};

static const struct cli_opt how_opts[] = {
	{ 'j', "jobs", "N", "compress with N threads (default: one for each processor)",
	    CLI_UINT, AT(what.how.jobs), 1, 256, NULL },
	{ 'u', "uuid", "HEX32", "set the UUID of the image; makes version 5", CLI_CALL,
	    0, 0, 0, set_uuid },
	FLAG('3', "v3",
	    "write version 3; fail if the image needs version 5", what.how.v3),
	FLAG('5', "v5", "write version 5", what.how.v5),
	{ 'H', "delta", "SIG",
	    "store only what differs from the image with this signature", CLI_STR,
	    AT(what.sig_old), 0, 0, NULL },
	{ OPT_CHANGED, "changed-since", "STATE",
	    "store only what has changed since the last image with this STATE, and do not "
	    "read the rest",
	    CLI_STR, AT(changed_since), 0, 0, NULL },
	{ OPT_SINCE, "since", "KIND:ARGS",
	    "with --changed-since: the source of change, as in dmextract", CLI_STR,
	    AT(since), 0, 0, NULL },
	{ 'U', "signature", "SIG",
	    "write a signature to SIG (\"\": the name of the image with .sig)", CLI_STR,
	    AT(sig_new), 0, 0, NULL },
	{ 'P', "delta-max", "PCT",
	    "make a full image if a delta would store over PCT % of it (100)", CLI_UINT,
	    AT(what.delta_percent), 0, 100, NULL },
	{ OPT_TO, "to", "frisbee://HOST/NAME|store:NAME",
	    "send the image to a master server, or put it into a store, under NAME; the "
	    "image operand is then left out",
	    CLI_STR, AT(to), 0, 0, NULL },
	{ OPT_TOKEN, "token", "FILE",
	    "with --to: show the master server that you have this token", CLI_STR,
	    AT(token), 0, 0, NULL },
	{ OPT_STORE, "store", "DIR|URL",
	    "the store of --to=store:NAME (default: EMUSTORE of the environment)",
	    CLI_STR, AT(store), 0, 0, NULL },
	FLAG('D', "no-sync", "do not wait until the image has reached the disk",
	    no_sync),
	FLAG(OPT_VERIFY, "verify",
	    "read the image back from its medium, and compare it with what was stored",
	    verify),
	FLAG(OPT_FORCE, "force",
	    "capture even an image, or half an installation; write even to a terminal, a disk, "
	    "or over any file, and ask nothing",
	    what.force),
	FLAG('i', "info", "report what would be stored, and store nothing",
	    what.look_only),
	FLAG('d', "debug", "print more about what is found", debug),
	FLAG('o', "dots", "print a dot for each chunk", dots),
	FLAG('q', "quiet", "print neither progress nor a summary", quiet),
	FLAG(OPT_JSON, "json", "print the summary, or the report of -i, as JSON", json),
	{ OPT_PROGRESS, "progress", "FD",
	    "write progress to descriptor FD, as lines \"DONE TOTAL\"", CLI_UINT,
	    AT(progress_fd), 0, 1 << 20, NULL },
	{ 'v', NULL, NULL, "the same as --version", CLI_VERSION, 0, 0, 0, NULL },
	REFUSED('a', "SHA1", "not supported: Emulab's signed images; see --sign"),
	REFUSED(
	    'e', "CIPHER", "not supported: Emulab's encrypted images; see --encrypt"),
	REFUSED('k', "FILE", "not supported: Emulab's encrypted images; see --encrypt"),
	REFUSED('1', NULL, "version 1 images are no longer written"),
	{ 0 },
};

/* The stream for reports. With -i the last operand is the source, not an image. */
static FILE *
report_to(const void *opts, char **operands, int n)
{
	const struct options *o = opts;

	if (o->to != NULL && into_store_name(o->to) == NULL)
		return stderr;
	if (o->to != NULL)
		return stdout;
	return o->what.look_only ? stdout : output_report_last(opts, operands, n);
}

static const char *
left(const void *opts, char **operands, int n)
{
	const struct options *o = opts;

	if (o->what.look_only)
		return NULL;
	return o->to != NULL ? "no image was made" : output_image_left(opts, operands, n);
}

const struct cli_program imagezip_program = {
	.report_to = report_to,
	.left = left,
	.name = "imagezip",
	.synopsis = "[options] source image|-",
	.about = "Store the used part of a disk, a partition or a file in an image.",
	.examples = "  imagezip /dev/sda sda.ndz            a whole disk\n"
		    "  imagezip -s 2 /dev/sda root.ndz      partition 2 of it\n"
		    "  imagezip --codec=zstd /dev/sda sda.ndz   smaller and faster, "
		    "not for Emulab's programs\n"
		    "  imagezip root.ext4 - | ssh host 'cat > root.ndz'\n"
		    "  imagezip nbd://host/disk disk.ndz    what an NBD server exports\n"
		    "  imagezip --to=frisbee://boss/web /dev/sda   to a master server\n"
		    "  imagezip --to=store:web --store /srv/store /dev/sda   into a store\n"
		    "  imagezip --changed-since=mydev.state /dev/mapper/mydev tuesday.ndz   "
		    "what has changed since Monday\n"
		    "  imagezip --shrink /dev/sda small.ndz   also for smaller disks\n"
		    "  imagezip -i /dev/sda                 what is on it, and how "
		    "much would be stored\n",
	.tables = { { what_opts, 0, "What to store" }, { how_opts, 0, "How to store it" },
	    { codec_opts, AT(what.how), "Compression" },
	    { sealer_opts, AT(what.how.sealer), "Signature and encryption" } },
};

/* The sectors of the image must be those of the source, and what is stored of a block must depend
 * on this block alone. */
static int
check_since(const struct options *o, struct err *e)
{
	const struct capture_what *w = &o->what;

	if (o->changed_since == NULL)
		return o->since == NULL ? 0 : err_misuse(e, "--since is for --changed-since");
	if (w->slice != 0 || w->count != 0 || w->boot_root != 0 || w->zero_small ||
	    w->blank_inodes || w->bad_as_zeros || w->live || w->look_only ||
	    w->sig_old != NULL || strcmp(w->source, "-") == 0)
		return err_set(e, ERR_USAGE,
		    "--changed-since cannot be combined with -s, -c, -B, -Z, -M, -X, -H, -i, "
		    "--live or a pipe");
	return 0;
}

/* The tools work on the filesystems of a whole disk, which nobody may change meanwhile. */
static int
check_shrink(const struct options *o, struct err *e)
{
	const struct capture_what *w = &o->what;

	if (!o->shrink)
		return o->margin_bytes == RESIZE_SPARE_DEFAULT
		           ? 0
		           : err_misuse(e, "--margin is for --shrink");
	if (w->slice != 0 || w->count != 0 || w->boot_root != 0 || w->live ||
	    o->changed_since != NULL || strcmp(w->source, "-") == 0)
		return err_set(e, ERR_USAGE,
		    "--shrink cannot be combined with -s, -c, -B, --changed-since, --live or a "
		    "pipe");
	return 0;
}

/* Whether the output is a file, or will be one: a pipe cannot be read back, and a disk has more behind
 * the image. */
static bool
is_file(const char *output)
{
	struct stat st;

	return stat(output, &st) != 0 || S_ISREG(st.st_mode);
}

/* The whole image has to be in a file that can be read back. */
static int
check_verify(const struct options *o, struct err *e)
{
	if (!o->verify)
		return 0;
	if (o->what.look_only || o->to != NULL || o->no_sync || o->what.sig_old != NULL ||
	    o->changed_since != NULL || o->what.how.sealer.encrypt != NULL || strcmp(o->output, "-") == 0)
		return err_set(e, ERR_USAGE,
		    "--verify cannot be combined with -i, --to, -D, -H, --changed-since, --encrypt or "
		    "standard output");
	if (!is_file(o->output))
		return err_set(e, ERR_USAGE, "--verify needs a file, and %s is none", o->output);
	return 0;
}

static int
check(const struct options *o, struct err *e)
{
	int modes = (o->what.slice != 0) + (o->what.linux_partition || o->what.has_type) +
	            o->what.whole_disk + o->what.raw;

	if (check_since(o, e) != 0 || check_shrink(o, e) != 0 || check_verify(o, e) != 0)
		return -1;
	if (modes > 1)
		return err_set(e, ERR_USAGE,
		    "only one of these can be given: -s, -l or -S, --disk, -r or -f");
	if (o->what.count != 0 &&
	    (o->what.slice != 0 || o->what.linux_partition || o->what.has_type))
		return err_set(e, ERR_USAGE, "-c cannot be combined with -s, -l or -S");
	if (o->what.boot_root != 0 && (modes > o->what.whole_disk || o->what.count != 0))
		return err_set(
		    e, ERR_USAGE, "-B cannot be combined with -s, -l, -S, -r, -f or -c");
	if (o->what.skip_unknown && modes > o->what.whole_disk)
		return err_set(e, ERR_USAGE,
		    "--skip-unknown cannot be combined with -s, -l, -S, -r or -f");
	if (o->what.no_relocs && o->what.force_relocs)
		return err_set(e, ERR_USAGE, "-N and -L cannot be combined");
	if (maker_check(&o->what.how, e) != 0)
		return -1;
	if (o->json && o->output != NULL && output_report(o->output) != stdout)
		return err_set(e, ERR_USAGE,
		    o->to != NULL ? "--json cannot be combined with --to=frisbee://HOST/NAME"
				  : "--json and the image cannot both go to standard output");
	if (o->sig_new != NULL && o->sig_new[0] == '\0' && !o->what.look_only &&
	    (o->output == NULL || strcmp(o->output, "-") == 0))
		return err_set(e, ERR_USAGE,
		    "-U \"\": %s has no name to append .sig to",
		    o->output == NULL ? "an image in a store"
		    : o->to != NULL   ? "an image on a master server"
				      : "standard output");
	return 0;
}

int
options_signature(const struct options *o, char **path, struct err *e)
{
	const char *name = o->sig_new;

	*path = NULL;
	if (name == NULL)
		return 0;
	if (asprintf(path, "%s%s", name[0] != '\0' ? name : o->output,
		name[0] != '\0' ? "" : ".sig") >= 0)
		return 0;
	*path = NULL;
	return err_nomem(e, "a name");
}

/* Find the store of --to=store:NAME, and the name of the image in it. */
static int
settle_store(struct options *o, struct err *e)
{
	o->name = into_store_name(o->to);
	if (o->name == NULL)
		return o->store == NULL
		           ? 0
		           : err_set(e, ERR_USAGE,
				 "--store can only be used with --to=store:NAME");
	if (o->what.how.windows == MAKER_USUAL)
		o->what.how.windows = MAKER_STORE;
	if (o->store == NULL)
		o->store = getenv("EMUSTORE");
	if (o->store != NULL && o->store[0] != '\0')
		return 0;
	return err_set(e, ERR_USAGE,
	    "--to=%s: no store is named: use --store or the environment variable "
	    "EMUSTORE",
	    o->to);
}

int
imagezip_settle(struct options *o, char **operands, int n, struct err *e)
{
	int want = o->what.look_only || o->to != NULL ? 1 : 2;
	const char *needed = o->what.look_only ? "-i needs one operand, the source"
	                     : o->to != NULL   ? "--to needs one operand, the source"
	                                       : "a source and an image are needed";
	if (cli_operands(operands, n, want, want, needed, e) != 0)
		return -1;
	if (o->token != NULL && (o->to == NULL || into_store_name(o->to) != NULL))
		return err_misuse(
		    e, "--token can only be used with --to=frisbee://HOST/NAME");
	o->what.source = operands[0];
	o->what.make_sig = o->sig_new != NULL || o->verify;
	if (settle_store(o, e) != 0)
		return -1;
	o->output = o->what.look_only || o->name != NULL ? NULL
	            : o->to != NULL                      ? "-"
	                                                 : operands[1];
	return check(o, e);
}
