/* resize.c: filesystems are made larger and smaller by their own tools.  tools/growfs and
 * imagezip/shrink call this, in one thread.  The tools run one after the other, in scripts of
 * the shell, which need nothing that busybox does not have. */
#include "common/resize/resize.h"

#include <blkid/blkid.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/args.h"
#include "common/base/tmpfolder.h"
#include "common/disk/disk.h"
#include "common/resize/super.h"

/* Each script gets $1, the partition; $2, an empty folder to mount it on; $3, the bytes to
 * spare; $4, the bytes of the filesystem; $5, those of a block.  It ends at the first failure,
 * and what was printed to standard error is the reason. */
#define MOUNTED(type, options, work) \
	"options=" options "; [ -b \"$1\" ] || options=loop,$options\n" \
	"mount -t " type " -o \"$options\" \"$1\" \"$2\"\n" \
	"trap 'umount \"$2\"' EXIT\n" work "umount \"$2\"; trap - EXIT\n"

#define CHECK_EXT "e2fsck -f -p \"$1\" || [ $? = 1 ]\n"
static const char grow_ext[] = CHECK_EXT "resize2fs \"$1\"\n" CHECK_EXT;
static const char grow_xfs[] = MOUNTED("xfs", "nouuid", "xfs_growfs \"$2\"\n");
static const char grow_btrfs[] =
    MOUNTED("btrfs", "rw", "btrfs filesystem resize max \"$2\"\n");
/* Without -f, a volume that is not clean is refused; -c does not refuse one that is
 * marked. */
static const char grow_ntfs[] = "ntfsresize -n \"$1\"\n"
				"ntfsresize -f \"$1\"\n";

static const char shrink_ext[] =
    CHECK_EXT
    "blocks=$(resize2fs -P \"$1\" 2> /dev/null | sed -n 's/.*: \\([0-9]*\\)$/\\1/p')\n"
    "kib=$(((blocks * $5 + $3 + 1023) / 1024))\n"
    "[ $((kib * 1024)) -lt $4 ] || exit 0\n"
    "resize2fs \"$1\" ${kib}K\n"
    "e2fsck -f -n \"$1\"\n";
/* A volume that is not clean is refused here: ntfsresize looks at the log only when it has
 * something to do, and ntfsfix, which runs afterwards, empties the log. */
static const char shrink_ntfs[] =
    "ntfs-3g.probe --readwrite \"$1\"\n"
    "ntfsresize -i \"$1\" > \"$2/said\" || {\n"
    "	cat \"$2/said\"\n"
    "	grep -q 'Volume is full' \"$2/said\" || exit 1\n"
    "}\n"
    "least=$(sed -n 's/^You might resize at \\([0-9]*\\) bytes.*/\\1/p' \"$2/said\")\n"
    "rm \"$2/said\"\n"
    "[ -n \"$least\" ] && [ $((least + $3)) -lt $4 ] || exit 0\n"
    "ntfsresize -f -s $((least + $3)) \"$1\"\n";
/* The copy of the boot sector belongs in the last sector of the partition.  ntfsresize has
 * checked the volume, and marked it as not clean, so that Windows checks it, too.  The mark is
 * removed, because imagezip leaves out the free space of clean volumes alone. */
static const char settle_ntfs[] = "ntfsfix -d \"$1\"\n"
				  "ntfsresize -c \"$1\"\n";
/* The least size that btrfs reports may be too small.  Then a size half of the way to the present
 * one is tried, and so on, as long as that takes away two MiB at least.  The sizes that are tried
 * are whole MiB, which the present one need not be. */
static const char shrink_btrfs[] =
    MOUNTED("btrfs", "rw",
	"least=$(btrfs inspect-internal min-dev-size \"$2\" | sed 's/ .*//')\n"
	"size=$(((least + $3 + 1048575) / 1048576 * 1048576))\n"
	"until [ $size -gt $(($4 - 2097152)) ] || btrfs filesystem resize $size \"$2\"; do\n"
	"	size=$(((size + $4) / 2 / 1048576 * 1048576))\n"
	"done\n")
    "btrfs check --readonly \"$1\"\n";

/* These succeed when the filesystem is not marked to be checked. */
static const char clean_ext[] =
    "tune2fs -l \"$1\" | grep -q '^Filesystem state: *clean$'\n";
static const char clean_ntfs[] = "ntfsresize -n \"$1\"\n";

struct kind {
	const char *type; /* as blkid calls it */
	const char *grow, *shrink; /* the scripts; NULL: why_not */
	const char *settle; /* the script behind a cut; NULL: nothing is to be done */
	/* Whether it need not be checked, and what checks it; NULL: its journal or its
	 * trees make it whole when it is mounted. */
	const char *clean, *checker;
	const char *why_not;
};

#define EXT grow_ext, shrink_ext, NULL, clean_ext, "e2fsck -f -y"

static const struct kind kinds[] = {
	{ "ext2", EXT, NULL },
	{ "ext3", EXT, NULL },
	{ "ext4", EXT, NULL },
	{ "ntfs", grow_ntfs, shrink_ntfs, settle_ntfs, clean_ntfs, "chkdsk", NULL },
	{ "btrfs", grow_btrfs, shrink_btrfs, NULL, NULL, NULL, NULL },
	{ "xfs", grow_xfs, .why_not = "XFS cannot be made smaller" },
	{ "swap",
	    .why_not = "it is swap space, and the filesystem before it cannot use the "
		       "space behind it" },
	{ "LVM2_member",
	    .why_not = "it belongs to LVM, of which pvresize, lvextend and lvreduce "
		       "change the size" },
	{ "crypto_LUKS",
	    .why_not = "it is encrypted (LUKS), so the filesystem in it cannot be "
		       "reached without its key" },
	{ "BitLocker",
	    .why_not = "it is encrypted (BitLocker), so only Windows can change its "
		       "size" },
	{ "linux_raid_member",
	    .why_not = "it belongs to an array, of which mdadm changes the size" },
};

static const struct kind *
find_kind(const char *type)
{
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (strcmp(kinds[i].type, type) == 0)
			return &kinds[i];
	return NULL;
}

/* Put the type into `type`; "" when nothing is recognised. */
static int
find_type(const char *path, char *type, size_t cap, struct err *e)
{
	const char *value = "";
	blkid_probe p = blkid_new_probe_from_filename(path);

	if (p == NULL)
		return err_os(e, "%s", path);
	blkid_probe_enable_superblocks(p, 1);
	blkid_probe_set_superblocks_flags(p, BLKID_SUBLKS_TYPE);
	int rc = blkid_do_safeprobe(p);
	if (rc == 0 && blkid_probe_lookup_value(p, "TYPE", &value, NULL) != 0)
		value = "";
	snprintf(type, cap, "%s", value);
	blkid_free_probe(p);
	if (rc == -2)
		return err_set(e, ERR_FORMAT,
		    "%s: looks like more than one filesystem at once: wipefs shows which",
		    path);
	return rc >= 0 ? 0 : err_set(e, ERR_IO, "%s: cannot be read", path);
}

/* Read the superblock, and the length of the partition. */
static int
read_super(const char *path, const char *type, struct super *s, uint64_t *part_bytes,
    struct err *e)
{
	struct disk *d;
	struct err closing;
	uint8_t *head = malloc(SUPER_BYTES);

	*s = (struct super){ 0 };
	if (head == NULL)
		return err_nomem(e, "a superblock");
	int rc = disk_open(&d, path, DISK_READ, e);
	if (rc == 0) {
		ssize_t n = disk_read_upto(d, head, SUPER_BYTES, 0, e);
		rc = n < 0 ? -1 : 0;
		if (n >= 0 && !super_get(type, head, (size_t)n, s))
			s->bytes = 0;
		*part_bytes = disk_size_bytes(d);
		disk_close(d, &closing); /* only read: nothing to lose */
	}
	free(head);
	return rc;
}

static void
leave_alone(struct resize *r, const struct kind *k, const struct super *s, bool grow)
{
	r->left_alone[0] = '\0';
	if (k == NULL && r->type[0] == '\0')
		snprintf(r->left_alone, sizeof r->left_alone,
		    "no filesystem was recognised in it");
	else if (k == NULL)
		snprintf(r->left_alone, sizeof r->left_alone,
		    "no tool is known here that changes the size of %s", r->type);
	else if ((grow ? k->grow : k->shrink) == NULL)
		snprintf(r->left_alone, sizeof r->left_alone, "%s", k->why_not);
	else if (s->devices != 1)
		snprintf(r->left_alone, sizeof r->left_alone,
		    "it is one of %" PRIu64 " partitions of a btrfs", s->devices);
}

/* How well does a line say why a script has failed?  ntfsresize prints its errors to
 * standard output; all others print progress there, and their errors, with a name in
 * front, to standard error, with their version above and advice below. */
enum worth { NOTHING, PROGRESS, PRINTED_ERROR, ON_STDERR, NAMED_ERROR };

/* The last of the lines that say most. */
struct said {
	enum worth worth;
	char why[300];
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

	if (worth < s->worth)
		return;
	s->worth = worth;
	snprintf(s->why, sizeof s->why, "%.299s", line);
	size_t n = strlen(s->why);
	if (n > 0 && s->why[n - 1] == '.') /* something may follow it */
		s->why[n - 1] = '\0';
}

static int
run_script(const char *script, const char *path, const char *folder, uint64_t spare_bytes,
    const struct super *s, struct err *e)
{
	struct args a = { 0 };
	struct said said = { .worth = NOTHING };

	args_add(&a, "unshare"); /* a mount ends with the script, however that ends */
	if (geteuid() == 0)
		args_add(&a, "-m");
	args_add(&a, "sh");
	args_add(&a, "-ec");
	args_add(&a, script);
	args_add(&a, "resize");
	args_add(&a, path);
	args_add(&a, folder);
	args_addf(&a, "%" PRIu64, spare_bytes);
	args_addf(&a, "%" PRIu64, s->bytes);
	args_addf(&a, "%" PRIu32, s->block_bytes);
	if (args_run_telling(&a, note_line, &said, e) == 0)
		return 0;
	if (e->kind == ERR_CANCELLED) /* what the tool said last is not why it ended */
		return -1;
	return said.worth == NOTHING ? -1 : err_set(e, ERR_IO, "%s: %s", path, said.why);
}

/* Remove the folder of a script, with the file that a script leaves there which ends early. */
static void
remove_folder(const char *folder)
{
	char said[TMPFOLDER_CAP + sizeof "/said"];

	snprintf(said, sizeof said, "%s/said", folder);
	unlink(said);
	rmdir(folder);
}

/* Run the script with an empty folder, and look at the filesystem again. */
static int
apply(const char *script, const char *path, uint64_t spare_bytes, struct super *s,
    struct resize *r, struct err *e)
{
	char folder[TMPFOLDER_CAP];
	uint64_t part_bytes;

	if (tmpfolder_make(folder, "resize", e) != 0)
		return -1;
	int rc = run_script(script, path, folder, spare_bytes, s, e);
	remove_folder(folder);
	if (rc == 0)
		rc = read_super(path, r->type, s, &part_bytes, e);
	r->is_bytes = s->bytes;
	return rc;
}

/* Which lengths can the tool give it?  resize2fs counts in pages of the machine. */
static uint32_t
unit_bytes(const struct super *s, const char *type)
{
	enum { PAGE_BYTES = 4096 };

	if (s->cluster_bytes != 0)
		return s->cluster_bytes;
	bool pages = strncmp(type, "ext", 3) == 0 && s->block_bytes < PAGE_BYTES;
	return pages ? PAGE_BYTES : s->block_bytes;
}

/* What is there; *k is NULL, or what may be done with it. */
static int
look(const char *path, bool grow, struct resize *r, const struct kind **k,
    struct super *s, uint64_t *part_bytes, struct err *e)
{
	*r = (struct resize){ .was_bytes = 0 };
	if (find_type(path, r->type, sizeof r->type, e) != 0 ||
	    read_super(path, r->type, s, part_bytes, e) != 0)
		return -1;
	r->was_bytes = r->is_bytes = s->bytes;
	r->unit_bytes = unit_bytes(s, r->type);
	*k = find_kind(r->type);
	leave_alone(r, *k, s, grow);
	if (r->left_alone[0] != '\0')
		return 0;
	return s->bytes != 0 ? 0
	                     : err_set(e, ERR_FORMAT,
				   "%s: the superblock of its %s says no length", path,
				   r->type);
}

int
resize_look(const char *path, struct resize *r, struct err *e)
{
	const struct kind *k;
	struct super s;
	uint64_t part_bytes;

	return look(path, true, r, &k, &s, &part_bytes, e);
}

uint64_t
resize_grown_bytes(const struct resize *r, uint64_t part_bytes)
{
	enum { NOTHING_BYTES = 64 * 1024 }; /* less is no block for any of them */
	/* The copy of NTFS's boot sector is in no cluster. */
	uint64_t more = strcmp(r->type, "ntfs") == 0 ? SECTOR_BYTES : 0;

	if (r->left_alone[0] != '\0' || part_bytes < r->was_bytes + NOTHING_BYTES)
		return r->was_bytes;
	uint64_t bytes = (part_bytes - more) / r->unit_bytes * r->unit_bytes + more;
	return bytes > r->was_bytes ? bytes : r->was_bytes;
}

/* Is the filesystem marked to be checked, when a tool has worked on it? */
static bool
is_to_be_checked(const struct kind *k, const char *path, const struct super *s)
{
	struct err why;

	return k->clean != NULL && run_script(k->clean, path, "", 0, s, &why) != 0;
}

static void
say_unchecked(const struct kind *k, struct err *e)
{
	size_t said = strlen(e->text);

	snprintf(e->text + said, sizeof e->text - said,
	    "; the filesystem is left to be checked: %s", k->checker);
}

int
resize_grow(const char *path, struct resize *r, struct err *e)
{
	const struct kind *k;
	struct super s;
	uint64_t part_bytes;

	if (look(path, true, r, &k, &s, &part_bytes, e) != 0)
		return -1;
	if (resize_grown_bytes(r, part_bytes) == r->was_bytes)
		return 0;
	int rc = apply(k->grow, path, 0, &s, r, e);
	r->to_be_checked = is_to_be_checked(k, path, &s);
	if (rc != 0 && r->to_be_checked)
		say_unchecked(k, e);
	return rc;
}

int
resize_shrink(const char *path, uint64_t spare_bytes, struct resize *r, struct err *e)
{
	const struct kind *k;
	struct super s;
	uint64_t part_bytes;

	if (look(path, false, r, &k, &s, &part_bytes, e) != 0)
		return -1;
	return r->left_alone[0] != '\0' ? 0 : apply(k->shrink, path, spare_bytes, &s, r, e);
}

int
resize_settle(const char *path, struct resize *r, struct err *e)
{
	const struct kind *k = find_kind(r->type);
	struct super s = { 0 };

	if (r->left_alone[0] != '\0' || k == NULL || k->settle == NULL)
		return 0;
	return apply(k->settle, path, 0, &s, r, e);
}
