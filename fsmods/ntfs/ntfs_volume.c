/* ntfs_volume.c: opens a partition of a struct disk with libntfs-3g. The library reads
 * through the functions here, which never leave the partition and never write, and its
 * complaints become the sentences of errors. ntfs_scan() calls this in the child. The
 * child has one thread. */
#include "fsmods/ntfs/ntfs_impl.h" /* first: the library's headers need it */

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ntfs-3g/device.h>
#include <ntfs-3g/logging.h>

#define CLUSTERS_MAX UINT32_MAX /* of a volume: Windows's limit */

/* The volume that complaints are about: the library's log function has no argument. */
static _Thread_local struct nt *talking;

static struct nt *
of_device(struct ntfs_device *dev)
{
	return dev->d_private;
}

static int
dev_open(struct ntfs_device *dev, int flags)
{
	(void)flags; /* O_RDONLY, of a read-only mount */
	NDevSetOpen(dev);
	NDevSetReadOnly(dev);
	return 0;
}

static int
dev_close(struct ntfs_device *dev)
{
	NDevClearOpen(dev);
	return 0;
}

static uint64_t
part_bytes(const struct nt *v)
{
	return v->part.len * SECTOR_BYTES;
}

static s64
dev_seek(struct ntfs_device *dev, s64 offset, int whence)
{
	struct nt *v = of_device(dev);
	uint64_t from = whence == SEEK_CUR ? v->at : whence == SEEK_END ? part_bytes(v) : 0;

	/* Bytes of a partition are fewer than 2^63, so the sum does not overflow. */
	if ((offset < 0 && (uint64_t)-offset > from) ||
	    (offset > 0 && (uint64_t)offset > part_bytes(v) - from)) {
		errno = EINVAL;
		return -1;
	}
	v->at = from + (uint64_t)offset;
	return (s64)v->at;
}

static s64
dev_pread(struct ntfs_device *dev, void *buf, s64 count, s64 offset)
{
	struct nt *v = of_device(dev);
	struct err e;

	if (count < 0 || offset < 0 || (uint64_t)offset > part_bytes(v)) {
		errno = EINVAL;
		return -1;
	}
	uint64_t left = part_bytes(v) - (uint64_t)offset;
	size_t n = (uint64_t)count < left ? (size_t)count : (size_t)left;
	if (disk_read(v->disk, buf, n, v->part.off * SECTOR_BYTES + (uint64_t)offset,
		&e) != 0) {
		if (v->said[0] == '\0')
			snprintf(v->said, sizeof v->said, "%.200s", e.text);
		errno = EIO;
		return -1;
	}
	return (s64)n;
}

static s64
dev_read(struct ntfs_device *dev, void *buf, s64 count)
{
	struct nt *v = of_device(dev);
	s64 n = dev_pread(dev, buf, count, (s64)v->at);

	if (n > 0)
		v->at += (uint64_t)n;
	return n;
}

static s64
dev_write(struct ntfs_device *dev, const void *buf, s64 count)
{
	(void)dev, (void)buf, (void)count;
	errno = EROFS;
	return -1;
}

static s64
dev_pwrite(struct ntfs_device *dev, const void *buf, s64 count, s64 offset)
{
	(void)dev, (void)buf, (void)count, (void)offset;
	errno = EROFS;
	return -1;
}

static int
dev_sync(struct ntfs_device *dev)
{
	(void)dev;
	return 0;
}

static int
dev_stat(struct ntfs_device *dev, struct stat *st)
{
	*st = (struct stat){ .st_mode = S_IFREG | 0400,
		.st_size = (off_t)part_bytes(of_device(dev)) };
	return 0;
}

/* The library asks for sizes and geometries; it uses those of the boot sector instead. */
static int
dev_ioctl(struct ntfs_device *dev, unsigned long request, void *argp)
{
	(void)dev, (void)request, (void)argp;
	errno = ENOTTY;
	return -1;
}

static struct ntfs_device_operations partition_ops = {
	.open = dev_open,
	.close = dev_close,
	.seek = dev_seek,
	.read = dev_read,
	.write = dev_write,
	.pread = dev_pread,
	.pwrite = dev_pwrite,
	.sync = dev_sync,
	.stat = dev_stat,
	.ioctl = dev_ioctl,
};

/* Keep the first complaint, which is nearest to the cause: the first of several lines,
 * without a full stop, with errno where the library would print it. */
static int __attribute__((format(printf, 6, 0)))
keep_complaint(const char *function, const char *file, int line, u32 level, void *data,
    const char *fmt, va_list ap)
{
	int why = errno;
	char *said = talking != NULL ? talking->said : NULL;

	(void)function, (void)file, (void)line, (void)data;
	if (said == NULL || said[0] != '\0')
		return 0;
	vsnprintf(said, sizeof talking->said, fmt, ap);
	said[strcspn(said, "\n")] = '\0';
	size_t n = strlen(said);
	while (n > 0 && (said[n - 1] == '.' || said[n - 1] == ' '))
		said[--n] = '\0';
	if (level == NTFS_LOG_LEVEL_PERROR)
		snprintf(said + n, sizeof talking->said - n, ": %s", strerror(why));
	if (talking->first[0] == '\0')
		memcpy(talking->first, said, sizeof talking->first);
	errno = why;
	return 0;
}

/* The library goes on after some complaints, for example past a record whose fix-ups it
 * could not undo. */
int
nt_check_calm(const struct nt *v, struct err *e)
{
	if (v->first[0] == '\0')
		return 0;
	return err_set(e, ERR_FORMAT, "libntfs-3g complains: %s", v->first);
}

void
nt_ask(struct nt *v)
{
	v->said[0] = '\0';
	errno = 0;
}

int
nt_fail(const struct nt *v, struct err *e, const char *what)
{
	if (errno == ENOMEM)
		return err_nomem(e, what);
	return err_set(e, ERR_FORMAT, "%s: %s", what,
	    v->said[0] != '\0' ? v->said
	    : errno != 0       ? strerror(errno)
			       : "it cannot be read");
}

static int
mount_volume(struct nt *v, struct err *e)
{
	struct ntfs_device *dev =
	    ntfs_device_alloc(disk_name(v->disk), 0, &partition_ops, v);

	if (dev == NULL)
		return err_nomem(e, "the volume");
	v->vol = ntfs_device_mount(dev, NTFS_MNT_RDONLY | NTFS_MNT_FORENSIC);
	if (v->vol != NULL)
		return 0;
	nt_fail(v, e, "cannot open the volume");
	ntfs_device_free(dev);
	return -1;
}

/* The library has read sizes and places from the same boot sector, so they must agree,
 * unless the boot sector changes meanwhile. */
static int
check_geometry(const struct nt *v, struct err *e)
{
	const runlist_element *mft = v->vol->mft_na->rl, *mirror = v->vol->mftmirr_na->rl;

	if (v->vol->cluster_size != v->boot.cluster_bytes ||
	    (uint64_t)v->vol->nr_clusters != v->boot.clusters)
		return err_set(e, ERR_FORMAT, "its boot sector changes");
	if (mft == NULL || mft[0].lcn < 0 || (uint64_t)mft[0].lcn != v->boot.mft_lcn)
		return err_set(e, ERR_FORMAT, "the boot sector and $MFT disagree");
	if (mirror == NULL || mirror[0].lcn < 0 ||
	    (uint64_t)mirror[0].lcn != v->boot.mirror_lcn)
		return err_set(
		    e, ERR_FORMAT, "$MFTMirr is not where the boot sector says");
	return 0;
}

int
nt_open(struct nt *v, struct err *e)
{
	if (v->boot.clusters > CLUSTERS_MAX)
		return err_set(
		    e, ERR_UNSUPPORTED, "more clusters than NTFS can have");
	if (v->boot.sectors > v->part.len)
		return err_set(e, ERR_FORMAT,
		    "it has %" PRIu64 " sectors, more than the partition",
		    v->boot.sectors);
	talking = v;
	ntfs_log_set_handler(keep_complaint);
	ntfs_log_set_levels(NTFS_LOG_LEVEL_ERROR | NTFS_LOG_LEVEL_PERROR |
	                    NTFS_LOG_LEVEL_CRITICAL);
	ntfs_log_clear_levels(NTFS_LOG_LEVEL_WARNING | NTFS_LOG_LEVEL_INFO |
	                      NTFS_LOG_LEVEL_QUIET | NTFS_LOG_LEVEL_VERBOSE |
	                      NTFS_LOG_LEVEL_PROGRESS);
	nt_ask(v);
	if (mount_volume(v, e) != 0)
		return -1;
	return check_geometry(v, e);
}

void
nt_close(struct nt *v)
{
	if (v->vol != NULL)
		ntfs_umount(v->vol, TRUE);
	v->vol = NULL;
	talking = NULL;
}

int
nt_file(struct nt *v, uint64_t ref, ntfs_inode **ni, struct err *e)
{
	char what[40];

	nt_ask(v);
	*ni = ntfs_inode_open(v->vol, ref);
	if (*ni != NULL)
		return 0;
	snprintf(what, sizeof what, "record %" PRIu64, (uint64_t)MREF(ref));
	return nt_fail(v, e, what);
}
