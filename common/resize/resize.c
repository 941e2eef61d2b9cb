/* resize.c: filesystems are made larger and smaller by their own tools.  follow.c and
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
#include "common/resize/script.h"
#include "common/resize/super.h"

/* Each script gets $1, the partition; $2, an empty folder to mount it on; $3, the bytes to
 * spare, or those that the filesystem is to have when it grows; $4, the bytes of the
 * filesystem; $5, those of a block.  It ends at the first failure, and what was printed to
 * standard error is the reason.  It prints "alone" and why, if it has left the filesystem
 * as it was. */
#define MOUNTED(type, options, work) \
	"options=" options "; [ -b \"$1\" ] || options=loop,$options\n" \
	"mount -t " type " -o \"$options\" \"$1\" \"$2\"\n" \
	"trap 'umount \"$2\"' EXIT\n" work "umount \"$2\"; trap - EXIT\n"

#define CHECK_EXT "e2fsck -f -p \"$1\" || [ $? = 1 ]\n"
static const char grow_ext[] = CHECK_EXT "resize2fs \"$1\"\n" CHECK_EXT;
static const char grow_xfs[] = MOUNTED("xfs", "nouuid", "xfs_growfs \"$2\"\n")
    "xfs_repair -n \"$1\"\n";
static const char grow_btrfs[] =
    MOUNTED("btrfs", "rw", "btrfs filesystem resize max \"$2\"\n")
    "btrfs check --readonly \"$1\"\n";
/* Without -f, a volume that is not clean is refused; -c does not refuse one that is
 * marked.  ntfsresize puts the copy of the boot sector into the last sector of the partition,
 * where it belongs, but both count whole clusters alone: then the copy is not where they say,
 * which is behind all that they count. */
static const char grow_ntfs[] =
    "ntfsresize -n \"$1\"\n"
    "ntfsresize -f \"$1\"\n"
    "last=$(($3 / $5 - 1)) rest=$(($3 / $5 - 1)) number=\n"
    "for i in 1 2 3 4 5 6 7 8; do\n"
    "	number=$number$(printf '\\\\%03o' $((rest & 255))) rest=$((rest >> 8))\n"
    "done\n"
    "for sector in $last 0; do\n"
    "	printf \"$number\" | dd bs=1 conv=notrunc seek=$((sector * $5 + 40)) of=\"$1\""
    " 2> /dev/null\n"
    "done\n"
    "ntfsresize -c \"$1\"\n";
/* fatresize leaves out the last MiB, and counts in millions of bytes.  It makes the boot
 * sector anew: what a boot loader, mkfs and the place have put there is put back, as long
 * as it is a FAT of the same kind, and FAT32 has a copy of the sector.  It refuses FAT32 with
 * clusters of less than 4 KiB, and much growth, before it writes anything. */
static const char grow_fat[] =
    "part() { dd bs=1 conv=notrunc of=\"$1\" if=\"$2\" seek=$3 skip=$3 count=$4"
    " 2> /dev/null; }\n"
    "kind() { dd bs=1 skip=82 count=5 if=\"$1\" 2> /dev/null; }\n"
    "dd if=\"$1\" of=\"$2/said\" bs=512 count=1 2> /dev/null\n"
    "fatresize -f -q -n 1 -s $3 \"$1\" < /dev/null || {\n"
    "	is=$(od -v -An -tx1 -N 512 \"$1\")\n"
    "	[ \"$is\" = \"$(od -v -An -tx1 \"$2/said\")\" ] && fsck.fat -n \"$1\" || {\n"
    "		echo 'fatresize: it has failed, and this FAT is not whole' >&2\n"
    "		exit 1\n"
    "	}\n"
    "	echo 'alone fatresize cannot make this FAT larger'\n"
    "	exit 0\n"
    "}\n"
    "part \"$1\" \"$2/said\" 28 4\n"
    "at=36; [ \"$(kind \"$1\")\" != FAT32 ] || at=64\n"
    "if [ \"$(kind \"$1\")\" = \"$(kind \"$2/said\")\" ] || [ $at = 36 ]; then\n"
    "	part \"$1\" \"$2/said\" 0 11\n"
    "	part \"$1\" \"$2/said\" $at $((510 - at))\n"
    "fi\n"
    "copy=$(od -An -tu2 -j 50 -N 2 \"$1\")\n"
    "[ $at = 36 ] || dd bs=512 conv=notrunc count=1 if=\"$1\" of=\"$1\""
    " seek=$((copy)) 2> /dev/null\n"
    "rm \"$2/said\"\n"
    "fsck.fat -n \"$1\"\n";
static const char grow_pv[] = SCRIPT_LVM "l pvresize \"$1\"\n";

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
	const char *needs; /* to grow: its tools, of which none need be installed */
	const char *alias; /* what an image calls it, if that is another name */
};

#define EXT grow_ext, shrink_ext, NULL, clean_ext, "e2fsck -f -y", NULL, "e2fsck resize2fs"

static const struct kind kinds[] = {
	{ "ext2", EXT, NULL },
	{ "ext3", EXT, NULL },
	{ "ext4", EXT, NULL },
	{ "ntfs", grow_ntfs, shrink_ntfs, settle_ntfs, clean_ntfs, "chkdsk", NULL,
	    "ntfsresize", NULL },
	{ "btrfs", grow_btrfs, shrink_btrfs, .needs = "btrfs" },
	{ "xfs", grow_xfs, .needs = "xfs_growfs xfs_repair",
	    .why_not = "XFS cannot be made smaller" },
	{ "swap",
	    .why_not = "it is swap space, and the filesystem before it cannot use the "
		       "space behind it" },
	{ "vfat", grow_fat, .needs = "fatresize fsck.fat", .alias = "fat",
	    .why_not = "no tool is known here that makes vfat smaller" },
	{ "LVM2_member", grow_pv, .needs = "lvm", .alias = "lvm2",
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
		if (strcmp(kinds[i].type, type) == 0 ||
		    (kinds[i].alias != NULL && strcmp(kinds[i].alias, type) == 0))
			return &kinds[i];
	return NULL;
}

/* Which of the tools that make it larger is not installed?  false: none is absent. */
static bool
find_absent(const struct kind *k, char tool[SCRIPT_TOOL_CAP])
{
	return k->needs != NULL && script_lacks(k->needs, tool);
}

bool
resize_absent(const char *type, char tool[SCRIPT_TOOL_CAP])
{
	const struct kind *k = find_kind(type);

	return k != NULL && k->grow != NULL && find_absent(k, tool);
}

/* Put the type of what is there into `type`; "" when nothing is recognised. */
static int
probe_type(int fd, const char *path, struct range part, struct resize *r, struct err *e)
{
	const char *type = "", *version = "";
	blkid_probe p = blkid_new_probe();

	if (p == NULL || blkid_probe_set_device(p, fd, (blkid_loff_t)part.off,
			     (blkid_loff_t)part.len) != 0) {
		blkid_free_probe(p);
		return err_set(e, ERR_IO, "%s: cannot be read", path);
	}
	blkid_probe_enable_superblocks(p, 1);
	blkid_probe_set_superblocks_flags(p, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_VERSION);
	int rc = blkid_do_safeprobe(p);
	if (rc == 0 && blkid_probe_lookup_value(p, "TYPE", &type, NULL) != 0)
		type = "";
	if (rc == 0 && blkid_probe_lookup_value(p, "VERSION", &version, NULL) != 0)
		version = "";
	snprintf(r->type, sizeof r->type, "%s", type);
	snprintf(r->version, sizeof r->version, "%s", version);
	blkid_free_probe(p);
	if (rc == -2)
		return err_set(e, ERR_FORMAT,
		    "%s: looks like more than one filesystem at once: wipefs shows which",
		    path);
	return rc >= 0 ? 0 : err_set(e, ERR_IO, "%s: cannot be read", path);
}

static int
probe_super(struct disk *d, struct range part, const char *type, struct super *s,
    struct err *e)
{
	size_t cap = part.len < SUPER_BYTES ? (size_t)part.len : SUPER_BYTES;
	uint8_t *head = malloc(SUPER_BYTES);

	*s = (struct super){ 0 };
	if (head == NULL)
		return err_nomem(e, "a superblock");
	ssize_t n = disk_read_upto(d, head, cap, part.off, e);
	if (n >= 0 && !super_get(type, head, (size_t)n, s))
		s->bytes = 0;
	free(head);
	return n < 0 ? -1 : 0;
}

/* Read the type, unless it is known, and the superblock of what is in these bytes; *part
 * becomes the whole when its length is 0. */
static int
read_super(const char *path, struct range *part, struct resize *r, struct super *s,
    struct err *e)
{
	struct disk *d;
	struct err closing;

	if (disk_open(&d, path, DISK_READ, e) != 0)
		return -1;
	if (part->len == 0)
		part->len = disk_size_bytes(d);
	int rc = r->type[0] != '\0' ? 0 : probe_type(disk_fd(d), path, *part, r, e);
	if (rc == 0)
		rc = probe_super(d, *part, r->type, s, e);
	disk_close(d, &closing); /* only read: nothing to lose */
	return rc;
}

static void
leave_alone(struct resize *r, const struct kind *k, const struct super *s, bool grow)
{
	char tool[SCRIPT_TOOL_CAP];

	r->left_alone[0] = '\0';
	if (k == NULL && r->type[0] == '\0')
		snprintf(r->left_alone, sizeof r->left_alone,
		    "no filesystem was recognised in it");
	else if (k == NULL)
		snprintf(r->left_alone, sizeof r->left_alone,
		    "no tool is known here that changes the size of %s", r->type);
	else if ((grow ? k->grow : k->shrink) == NULL)
		snprintf(r->left_alone, sizeof r->left_alone, "%s", k->why_not);
	else if (strcmp(r->version, "FAT12") == 0)
		snprintf(r->left_alone, sizeof r->left_alone,
		    "no tool is known here that changes the size of %s", r->version);
	/* fatresize damages it, and says that it did well. */
	else if (strcmp(r->type, "vfat") == 0 && s->block_bytes > SECTOR_BYTES)
		snprintf(r->left_alone, sizeof r->left_alone,
		    "no tool is known here that changes the size of a FAT with sectors of "
		    "%" PRIu32 " bytes",
		    s->block_bytes);
	else if (grow && find_absent(k, tool))
		snprintf(r->left_alone, sizeof r->left_alone,
		    "%s, which makes %s larger, is not installed", tool, r->type);
	else if (s->devices != 1)
		snprintf(r->left_alone, sizeof r->left_alone,
		    "it is one of %" PRIu64 " partitions of a btrfs", s->devices);
}

/* What a script says that has left the filesystem as it was. */
static void
hear(void *arg, const char *line)
{
	static const char alone[] = "alone ";
	struct resize *r = arg;

	if (strncmp(line, alone, sizeof alone - 1) == 0)
		snprintf(r->left_alone, sizeof r->left_alone, "%.250s",
		    line + sizeof alone - 1);
}

static int
run_script(const char *script, const char *path, const char *folder, uint64_t spare_bytes,
    const struct super *s, struct resize *r, struct err *e)
{
	struct args a = { 0 };

	script_begin(&a, script, path);
	args_add(&a, folder);
	args_addf(&a, "%" PRIu64, spare_bytes);
	args_addf(&a, "%" PRIu64, s->bytes);
	args_addf(&a, "%" PRIu32, s->block_bytes);
	return script_run(&a, path, hear, r, e);
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
	struct range all = { 0, 0 };
	struct err why;

	if (tmpfolder_make(folder, "resize", e) != 0)
		return -1;
	int rc = run_script(script, path, folder, spare_bytes, s, r, e);
	remove_folder(folder);
	if (read_super(path, &all, r, s, rc == 0 ? e : &why) != 0)
		return -1;
	r->is_bytes = s->bytes;
	return rc;
}

/* Which lengths can the tool give it?  resize2fs counts in pages of the machine. */
static uint32_t
unit_bytes(const struct super *s, const char *type)
{
	enum { PAGE_BYTES = 4096, FATRESIZE_BYTES = 1000000 };

	if (strcmp(type, "vfat") == 0)
		return FATRESIZE_BYTES;
	bool pages = strncmp(type, "ext", 3) == 0 && s->block_bytes < PAGE_BYTES;
	return pages ? PAGE_BYTES : s->block_bytes;
}

/* What is there; *k is NULL, or what may be done with it. */
static int
look(const char *path, bool grow, struct resize *r, const struct kind **k,
    struct super *s, struct range *part, struct err *e)
{
	*r = (struct resize){ .was_bytes = 0 };
	if (read_super(path, part, r, s, e) != 0)
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

/* Linux gives a mounted btrfs no length below 256 MiB, though a new one may be shorter. */
static void
leave_small(struct resize *r, uint64_t part_bytes)
{
	enum { LEAST_BYTES = 256 << 20 };

	if (strcmp(r->type, "btrfs") == 0 && part_bytes < LEAST_BYTES &&
	    resize_grown_bytes(r, part_bytes) > r->was_bytes)
		snprintf(r->left_alone, sizeof r->left_alone,
		    "the kernel makes no btrfs larger that is shorter than 256 MiB then");
}

int
resize_look_in(const char *path, struct range part, struct resize *r, struct err *e)
{
	const struct kind *k;
	struct super s;

	if (look(path, true, r, &k, &s, &part, e) != 0)
		return -1;
	leave_small(r, part.len);
	return 0;
}

int
resize_look(const char *path, struct resize *r, struct err *e)
{
	return resize_look_in(path, (struct range){ 0, 0 }, r, e);
}

uint64_t
resize_grown_bytes(const struct resize *r, uint64_t part_bytes)
{
	enum { NOTHING_BYTES = 64 * 1024 }; /* less is no block for any of them */
	uint64_t less = strcmp(r->type, "vfat") == 0 ? 1 << 20 : 0;

	if (r->left_alone[0] != '\0' || part_bytes < r->was_bytes + NOTHING_BYTES + less)
		return r->was_bytes;
	uint64_t bytes = (part_bytes - less) / r->unit_bytes * r->unit_bytes;
	return bytes > r->was_bytes ? bytes : r->was_bytes;
}

/* Is the filesystem marked to be checked, when a tool has worked on it? */
static bool
is_to_be_checked(
    const struct kind *k, const char *path, const struct super *s, struct resize *r)
{
	struct err why;

	return k->clean != NULL && run_script(k->clean, path, "", 0, s, r, &why) != 0;
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
	struct range part = { 0, 0 };

	if (look(path, true, r, &k, &s, &part, e) != 0)
		return -1;
	uint64_t bytes = resize_grown_bytes(r, part.len);
	if (bytes == r->was_bytes)
		return 0;
	int rc = apply(k->grow, path, bytes, &s, r, e);
	r->to_be_checked = is_to_be_checked(k, path, &s, r);
	if (rc != 0 && r->to_be_checked)
		say_unchecked(k, e);
	return rc;
}

/* What a filesystem is left to spare when the user does not say it (resize.h has the reasons). */
static uint64_t
default_spare(const char *type)
{
	enum { MIB = 1 << 20 };

	return strncmp(type, "ext", 3) == 0 ? 256 * MIB : 1024 * MIB;
}

int
resize_shrink(const char *path, uint64_t spare_bytes, struct resize *r, struct err *e)
{
	const struct kind *k;
	struct super s;
	struct range all = { 0, 0 };

	if (look(path, false, r, &k, &s, &all, e) != 0)
		return -1;
	r->spare_bytes = spare_bytes == RESIZE_SPARE_DEFAULT ? default_spare(r->type)
	                                                     : spare_bytes;
	return r->left_alone[0] != '\0'
	           ? 0
	           : apply(k->shrink, path, r->spare_bytes, &s, r, e);
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
