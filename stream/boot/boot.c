/* boot.c: takes the kernel and its modules out of an image.  streamdisk calls this, in the first
 * thread. */
#include "stream/boot/boot.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/disk/output.h"
#include "fsmods/lvm2/lvm2.h"
#include "fsmods/md.h"
#include "fsmods/swap.h"
#include "stream/boot/cpio.h"
#include "stream/boot/drivers.h"
#include "stream/boot/modules.h"
#include "stream/boot/tree.h"
#include "stream/boot/unpack.h"

enum {
	PATH_CAP = 512,
	/* Kernels take 2047 characters (COMMAND_LINE_SIZE of x86); a few are put behind these. */
	WORDS_BYTES_MAX = 2000,
	/* More than any of these has: a kernel 20 MB, a module 40 MB, a list 5 MB. */
	KERNEL_BYTES_MAX = 256 << 20,
	FILE_BYTES_MAX = 64 << 20,
	ARCHIVE_BYTES_MAX = 512 << 20,
};

static const char modules_folder[] = "lib/modules";

/* What errors are about. */
static const char *
name_of(const struct boot_config *c)
{
	return c->image != NULL ? disk_name(c->image) : c->mounted;
}

/* Where the kernel and its modules are. */
struct kernel {
	struct tree *root; /* has the modules */
	struct tree *boot; /* has the kernel: root, or another partition; owned where it is another */
	char path[PATH_CAP]; /* of the kernel in `boot` */
	char version[BOOT_VERSION_CAP];
	unsigned partition; /* of `root`; 0: it is mounted */
};

static void
kernel_close(struct kernel *k)
{
	if (k->boot != k->root)
		tree_close(k->boot);
	tree_close(k->root);
	k->root = k->boot = NULL;
}

/* Finding. */

/* The newest version in a folder of modules of which this tree has the kernel. */
struct search {
	struct tree *boot;
	const char *const *patterns;
	struct kernel *found;
};

/* In the root filesystem, and in one that is mounted at /boot. */
static const char *const in_root[] = { "boot/vmlinuz-%s", "lib/modules/%s/vmlinuz", NULL };
static const char *const in_boot[] = { "vmlinuz-%s", NULL };

static void
put_version(char out[PATH_CAP], const char *pattern, const char *version)
{
	const char *at = strstr(pattern, "%s");

	snprintf(out, PATH_CAP, "%.*s%s%s", (int)(at - pattern), pattern, version, at + 2);
}

static bool
look_at_version(void *arg, const char *version)
{
	struct search *s = arg;
	char path[PATH_CAP];

	if (strlen(version) >= BOOT_VERSION_CAP || strverscmp(version, s->found->version) <= 0)
		return true;
	for (size_t i = 0; s->patterns[i] != NULL; i++) {
		put_version(path, s->patterns[i], version);
		if (!tree_has(s->boot, path))
			continue;
		snprintf(s->found->version, BOOT_VERSION_CAP, "%s", version);
		snprintf(s->found->path, PATH_CAP, "%s", path);
		break;
	}
	return true;
}

static int
search_versions(struct kernel *k, struct tree *boot, const char *const *patterns, struct err *e)
{
	struct search s = { boot, patterns, k };

	return tree_list(k->root, modules_folder, look_at_version, &s, e);
}

/* Is this partition a member of an array whose superblock is at its end?  A member of a mirror then
 * begins as the filesystem does, and a system that writes to it alone tears the mirror apart. */
static bool
is_mirrored(struct disk *d, struct range part)
{
	struct md md;

	return md0_find(d, part, &md) || md1_find(d, part, md1_place(part.len), &md);
}

/* Open the filesystem of the first partition that has modules, as k->root.  A filesystem for /usr
 * has them, too, but no settings. */
static int
find_partition(struct kernel *k, const struct boot_config *c, struct err *e)
{
	struct err why;

	for (unsigned i = 0; i < c->table->nparts; i++) {
		const struct partition *p = &c->table->parts[i];
		if (is_mirrored(c->image, p->sectors) ||
		    tree_open(&k->root, c->image, p->sectors, &why) != 0)
			continue;
		k->partition = p->number;
		if (tree_has(k->root, modules_folder) && tree_has(k->root, "etc"))
			return 0;
		tree_close(k->root);
		k->root = NULL;
	}
	return err_set(e, ERR_UNSUPPORTED,
	    "%s: has no ext2, ext3 or ext4 filesystem with the modules of a kernel",
	    name_of(c));
}

static int
open_mounted(struct kernel *k, const struct boot_config *c, struct err *e)
{
	if (tree_open_mounted(&k->root, c->mounted, e) != 0)
		return -1;
	return tree_has(k->root, modules_folder)
	           ? 0
	           : err_set(e, ERR_UNSUPPORTED, "%s: has no modules of a kernel", c->mounted);
}

static int
find_root(struct kernel *k, const struct boot_config *c, struct err *e)
{
	return c->image != NULL ? find_partition(k, c, e) : open_mounted(k, c, e);
}

/* Look for the kernel in partitions other than that of the root filesystem. */
static int
search_others(struct kernel *k, const struct boot_config *c, struct err *e)
{
	struct err why;

	for (unsigned i = 0; c->image != NULL && i < c->table->nparts && k->boot == NULL; i++) {
		const struct partition *p = &c->table->parts[i];
		struct tree *other;
		if (p->number == k->partition ||
		    tree_open(&other, c->image, p->sectors, &why) != 0)
			continue;
		if (search_versions(k, other, in_boot, e) != 0) {
			tree_close(other);
			return -1;
		}
		if (k->version[0] != '\0')
			k->boot = other;
		else
			tree_close(other);
	}
	return 0;
}

static int
find_kernel(struct kernel *k, const struct boot_config *c, struct err *e)
{
	if (find_root(k, c, e) != 0 || search_versions(k, k->root, in_root, e) != 0)
		return -1;
	if (k->version[0] != '\0') {
		k->boot = k->root;
		return 0;
	}
	if (search_others(k, c, e) != 0)
		return -1;
	if (k->boot != NULL)
		return 0;
	return err_set(e, ERR_UNSUPPORTED, "%s: has modules, but no kernel that they belong to",
	    name_of(c));
}

/* Writing. */

static int
write_file(const struct boot_config *c, const char *name, const struct buf parts[], size_t n,
    struct err *e)
{
	struct output_kind any = { .name = "a file of bootimage" };
	char path[PATH_MAX];
	struct output out;

	snprintf(path, sizeof path, "%.4000s/%s", c->folder, name);
	if (output_open(&out, path, &any, true, e) != 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (output_write(&out, parts[i].base, parts[i].len, e) != 0) {
			output_abort(&out);
			return -1;
		}
	return output_commit(&out, false, e);
}

/* Put a file into the archive, where the kernel's folder of modules is. */
static void
put_module_file(const struct kernel *k, struct cpio *to, const char *name, const uint8_t *bytes,
    size_t n)
{
	char path[PATH_CAP];

	snprintf(path, sizeof path, "%s/%s/%.300s", modules_folder, k->version, name);
	cpio_file(to, path, 0644, bytes, n);
}

/* Read a file of the kernel's folder of modules. */
static int
read_own(const struct kernel *k, const char *name, struct buf *b, struct err *e)
{
	char path[PATH_CAP];

	snprintf(path, sizeof path, "%s/%s/%.300s", modules_folder, k->version, name);
	return tree_read(k->root, path, FILE_BYTES_MAX, b, e);
}

/* The same of one that a kernel need not have: 1; 0: it is not there; -1. */
static int
read_if_there(const struct kernel *k, const char *name, struct buf *b, struct err *e)
{
	if (read_own(k, name, b, e) == 0)
		return 1;
	return e->kind == ERR_ABSENT ? 0 : -1;
}

/* The lists by which modprobe finds modules.  The modules are not compressed in the ramdisk, and have
 * their names there without the ending that says so. */
static int
copy_lists(const struct kernel *k, struct cpio *to, struct err *e)
{
	static const char *const lists[] = { "modules.dep", "modules.alias", "modules.softdep",
		"modules.symbols", "modules.builtin", "modules.order" };
	int there = 0;

	for (size_t i = 0; i < sizeof lists / sizeof *lists && there >= 0; i++) {
		struct buf b = { 0 };
		there = read_if_there(k, lists[i], &b, e);
		if (there > 0)
			put_module_file(k, to, lists[i], b.base, modules_plain((char *)b.base, b.len));
		buf_free(&b);
	}
	return there < 0 ? -1 : 0;
}

/* A list of the kernel's modules, or a module, could not be read.  If it does not exist, a
 * machine cannot be started from this image. */
static int
fail_reading(struct err *e)
{
	if (e->kind == ERR_ABSENT)
		e->kind = ERR_UNSUPPORTED;
	return -1;
}

static int
copy_module(const struct kernel *k, struct cpio *to, const char *path, struct err *e)
{
	char plain[PATH_CAP];
	struct buf b = { 0 };

	int rc = read_own(k, path, &b, e);
	if (rc == 0)
		rc = unpack_module(&b, FILE_BYTES_MAX, path, e);
	snprintf(plain, sizeof plain, "%.300s", path);
	plain[modules_plain(plain, strlen(plain))] = '\0';
	if (rc == 0)
		put_module_file(k, to, plain, b.base, b.len);
	buf_free(&b);
	return rc == 0 ? 0 : fail_reading(e);
}

static int
copy_modules(const struct kernel *k, const struct modules *m, struct cpio *to, struct err *e)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->list[i].chosen && copy_module(k, to, m->list[i].path, e) != 0)
			return -1;
	if (copy_lists(k, to, e) != 0)
		return -1;
	cpio_end(to);
	return buf_ok(&to->out) ? 0 : err_nomem(e, "the ramdisk");
}

static int
read_programs(const char *path, struct buf *b, struct err *e)
{
	struct err ignored; /* it was only read */
	struct disk *d;

	if (path == NULL)
		return 0;
	if (disk_open(&d, path, DISK_READ, e) != 0)
		return -1;
	uint64_t n = disk_size_bytes(d);
	uint8_t *to = n <= ARCHIVE_BYTES_MAX ? buf_room(b, n) : NULL;
	int rc = to != NULL ? disk_read(d, to, n, 0, e)
	                    : err_set(e, ERR_UNSUPPORTED, "%s: is too large for a ramdisk", path);
	disk_close(d, &ignored);
	return rc;
}

/* Modules. */

/* The root filesystem, and /usr where it has one of its own, are mounted before any program of the
 * system runs. */
static int
choose_needed(struct modules *m, const struct kernel *k, struct err *e)
{
	static const char *const places[] = { ".", "usr" };

	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		const char *filesystem;
		if (!tree_has(k->root, places[i]))
			continue;
		if (tree_filesystem(k->root, places[i], &filesystem, e) != 0 ||
		    drivers_need(m, filesystem, e) != 0)
			return -1;
	}
	return 0;
}

/* What drives the devices of this machine. */
static int
choose_for_machine(struct modules *m, const struct kernel *k, const struct boot_devices *of,
    struct err *e)
{
	struct buf alias = { 0 }, inside = { 0 };
	int rc = 0;

	if (of == NULL || of->n == 0)
		return 0;
	if (read_if_there(k, "modules.alias", &alias, e) < 0 ||
	    read_if_there(k, "modules.builtin.modinfo", &inside, e) < 0)
		rc = -1;
	for (size_t i = 0; i < of->n && rc == 0; i++)
		rc = drivers_for(m, &of->of[i], &alias, &inside, e);
	buf_free(&alias);
	buf_free(&inside);
	return rc;
}

static int
choose(struct modules *m, const struct kernel *k, const struct boot_config *c, struct err *e)
{
	if (choose_needed(m, k, e) != 0 || choose_for_machine(m, k, c->devices, e) != 0)
		return -1;
	if (c->drivers == NULL)
		drivers_all(m);
	else
		return drivers_listed(m, c->drivers, e);
	return 0;
}

static int
read_list(const struct kernel *k, const char *name, struct buf *b, struct err *e)
{
	return read_own(k, name, b, e) == 0 ? 0 : fail_reading(e);
}

static int
choose_modules(
    struct modules *m, const struct kernel *k, const struct boot_config *c, struct err *e)
{
	struct buf dep = { 0 }, builtin = { 0 };

	int rc = read_list(k, "modules.dep", &dep, e);
	if (rc == 0)
		rc = read_list(k, "modules.builtin", &builtin, e);
	if (rc == 0)
		rc = modules_read(m, &dep, &builtin, e);
	buf_free(&dep);
	buf_free(&builtin);
	if (rc != 0)
		return -1;
	if (choose(m, k, c, e) == 0)
		return 0;
	modules_free(m);
	return err_ctx(e, "%s: its kernel %s", name_of(c), k->version);
}

/* The command line. */

/* If this line of a grub.cfg starts the kernel, return its words, else NULL. */
static const char *
words_for(const char *line, const char *version)
{
	const char *p = line + strspn(line, " \t");
	size_t n = strlen(version);

	if (strncmp(p, "linux", 5) != 0)
		return NULL;
	p += strcspn(p, " \t");
	p += strspn(p, " \t");
	size_t path = strcspn(p, " \t");
	if (path < n || strncmp(p + path - n, version, n) != 0)
		return NULL;
	p += path;
	return p + strspn(p, " \t");
}

/* The words of the first entry for this kernel; NULL: there is none. */
static const char *
find_words(struct buf *grub, const char *version)
{
	const char *words = NULL;
	char *rest, *line;

	buf_bytes(grub, "", 1);
	if (!buf_ok(grub))
		return NULL;
	line = strtok_r((char *)grub->base, "\n", &rest);
	for (; line != NULL && words == NULL; line = strtok_r(NULL, "\n", &rest))
		words = words_for(line, version);
	return words;
}

/* Make the line of the file cmdline.  Words that the kernel would cut off are an error: the last
 * one may be the one that counts.  The system may not hibernate: what it would write to its swap
 * space, nothing could resume, since no machine starts from a disk that is not whole.  Nor is what
 * is in the image's swap space resumed. */
static int
make_line(struct buf *line, const struct kernel *k, const char *words, const struct boot_config *c,
    struct err *e)
{
	char text[WORDS_BYTES_MAX + 40];

	if (strlen(words) > WORDS_BYTES_MAX)
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: its boot loader gives the kernel a command line of %zu characters, and %d "
		    "of them could be used",
		    name_of(c), strlen(words), WORDS_BYTES_MAX);
	int n = k->partition != 0
	            ? snprintf(text, sizeof text, "%s nohibernate frisbee.root=%u\n", words, k->partition)
	            : snprintf(text, sizeof text, "%s nohibernate\n", words);
	buf_bytes(line, text, (size_t)n);
	return buf_ok(line) ? 0 : err_nomem(e, name_of(c));
}

static int
read_line(struct buf *line, const struct kernel *k, const struct boot_config *c, struct err *e)
{
	static const char *const places[] = { "boot/grub/grub.cfg", "grub/grub.cfg",
		"boot/grub2/grub.cfg", "grub2/grub.cfg" };
	struct buf grub = { 0 };
	struct err ignored; /* a system without GRUB gets the words that every one needs */

	for (size_t i = 0; i < sizeof places / sizeof *places && grub.len == 0; i++)
		tree_read(k->boot, places[i], FILE_BYTES_MAX, &grub, &ignored);
	const char *words = find_words(&grub, k->version);
	int rc = make_line(line, k, words != NULL ? words : "ro", c, e);
	buf_free(&grub);
	return rc;
}

/* What the files will hold, all of which is read before the first one is written. */
struct contents {
	struct buf kernel, line;
	struct buf ramdisk[2]; /* the modules, and the programs */
};

static int
read_contents(struct contents *b, const struct kernel *k, const struct boot_config *c,
    const struct modules *m, struct err *e)
{
	struct cpio modules = { .next_ino = 1 };

	int rc = copy_modules(k, m, &modules, e);
	b->ramdisk[0] = modules.out;
	if (rc == 0)
		rc = read_programs(c->programs, &b->ramdisk[1], e);
	if (rc == 0)
		rc = tree_read(k->boot, k->path, KERNEL_BYTES_MAX, &b->kernel, e);
	return rc == 0 ? read_line(&b->line, k, c, e) : -1;
}

static int
write_contents(const struct contents *b, const struct boot_config *c, struct err *e)
{
	if (mkdir(c->folder, 0777) != 0 && errno != EEXIST)
		return err_os(e, "%s", c->folder);
	if (write_file(c, "initrd.img", b->ramdisk, 2, e) != 0 ||
	    write_file(c, "vmlinuz", &b->kernel, 1, e) != 0)
		return -1;
	return write_file(c, "cmdline", &b->line, 1, e);
}

static void
contents_free(struct contents *b)
{
	buf_free(&b->kernel);
	buf_free(&b->line);
	buf_free(&b->ramdisk[0]);
	buf_free(&b->ramdisk[1]);
}

static int
make(const struct kernel *k, const struct boot_config *c, struct boot_made *made, struct err *e)
{
	struct contents b = { .kernel = { 0 } };
	struct modules m;

	if (choose_modules(&m, k, c, e) != 0)
		return -1;
	int rc = read_contents(&b, k, c, &m, e);
	if (rc == 0)
		rc = write_contents(&b, c, e);
	made->modules = modules_chosen(&m);
	made->ramdisk_bytes = b.ramdisk[0].len + b.ramdisk[1].len;
	contents_free(&b);
	modules_free(&m);
	return rc;
}

/* Is a system suspended in this partition?  1, 0, or -1: that cannot be seen.  *may_be: since LVM's
 * metadata is damaged, or the rest on other disks; else the image cannot be read. */
static int
is_suspended(struct disk *d, const struct partition *p, bool *may_be, struct err *e)
{
	int is = swap_is_suspended(d, p->sectors, e);

	*may_be = false;
	if (is == 0) {
		is = lvm2_is_suspended(d, p->sectors, e);
		*may_be = is < 0 && (e->kind == ERR_FORMAT || e->kind == ERR_UNSUPPORTED);
	}
	if (is >= 0)
		return is;
	if (*may_be)
		e->kind = ERR_REFUSED;
	return err_ctx(e, "%s: partition %u may hold a suspended system", disk_name(d), p->number);
}

/* A suspended system goes on with what it knew of its filesystems, which another start would change; so
 * it may go on only when the disk is whole. */
static int
check_awake(const struct boot_config *c, bool *suspended, struct err *e)
{
	for (unsigned i = 0; c->image != NULL && i < c->table->nparts; i++) {
		const struct partition *p = &c->table->parts[i];
		int is = is_suspended(c->image, p, suspended, e);
		if (is < 0)
			return -1;
		*suspended = is > 0;
		if (is > 0)
			return err_set(e, ERR_REFUSED, "%s: a system is suspended in partition %u",
			    name_of(c), p->number);
	}
	return 0;
}

int
boot_make(const struct boot_config *c, struct boot_made *made, struct err *e)
{
	struct kernel k = { .root = NULL };

	*made = (struct boot_made){ .modules = 0 };
	if (check_awake(c, &made->suspended, e) != 0)
		return -1;
	int rc = find_kernel(&k, c, e);
	if (rc == 0) {
		snprintf(made->version, sizeof made->version, "%s", k.version);
		made->partition = k.partition;
		rc = make(&k, c, made, e);
	}
	kernel_close(&k);
	return rc;
}
