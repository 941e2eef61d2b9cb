/* direct.c: an nbdkit plugin for benchmarks: a file or a block device, past the page cache.
 *
 *	file=PATH	which one
 *
 * It is the plain path beside a disk that streams, which passes the page cache by as well: nbdkit's
 * own plugin `file` cannot.  Memory that the disk does not take goes through a buffer, as there; such
 * buffers stay with the process, so that a large one costs no page faults in each request.  Its
 * requests have to consist of whole blocks of 512 bytes.  nbdkit calls this in any thread, several at a
 * time. */
#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define THREAD_MODEL NBDKIT_THREAD_MODEL_PARALLEL

enum { PAGE = 4096, KEPT_BYTES = 32 << 20 };

static char *path; /* owned */
static int fd = -1;
static size_t align = PAGE; /* of the memory that is transferred */

static int
direct_config(const char *key, const char *value)
{
	if (strcmp(key, "file") != 0) {
		nbdkit_error("unknown parameter \"%s\"", key);
		return -1;
	}
	free(path);
	path = nbdkit_realpath(value);
	return path != NULL ? 0 : -1;
}

static int
direct_config_complete(void)
{
	if (path != NULL)
		return 0;
	nbdkit_error("file=PATH is missing");
	return -1;
}

static int
direct_get_ready(void)
{
	fd = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
	if (fd < 0) {
		nbdkit_error("%s: %m", path);
		return -1;
	}
	mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
	mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
#ifdef STATX_DIOALIGN
	struct statx s;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &s) == 0 && (s.stx_mask & STATX_DIOALIGN) &&
	    s.stx_dio_mem_align != 0)
		align = s.stx_dio_mem_align;
#endif
	return 0;
}

static void
direct_unload(void)
{
	if (fd >= 0)
		close(fd);
	free(path);
}

static void *
direct_open(int readonly)
{
	(void)readonly;
	return NBDKIT_HANDLE_NOT_NEEDED;
}

static int64_t
direct_get_size(void *handle)
{
	(void)handle;
	return lseek(fd, 0, SEEK_END);
}

static int
direct_block_size(void *handle, uint32_t *minimum, uint32_t *preferred, uint32_t *maximum)
{
	(void)handle;
	*minimum = 512;
	*preferred = PAGE;
	*maximum = 32 << 20;
	return 0;
}

static int
yes(void *handle)
{
	(void)handle;
	return 1;
}

/* Transfers are whole on files and block devices, but for their ends, which are an error here. */
static int
result(ssize_t done, uint32_t count)
{
	if (done == (ssize_t)count)
		return 0;
	nbdkit_error("%s: %s", path, done < 0 ? strerror(errno) : "a transfer was cut short");
	nbdkit_set_error(EIO);
	return -1;
}

static int
direct_pread(void *handle, void *buf, uint32_t count, uint64_t offset, uint32_t flags)
{
	(void)handle, (void)flags;
	if ((uintptr_t)buf % align == 0)
		return result(pread(fd, buf, count, (off_t)offset), count);
	void *own = aligned_alloc(PAGE, (count + PAGE - 1) / PAGE * PAGE);
	int rc = result(own != NULL ? pread(fd, own, count, (off_t)offset) : -1, count);
	if (rc == 0)
		memcpy(buf, own, count);
	free(own);
	return rc;
}

static int
direct_pwrite(void *handle, const void *buf, uint32_t count, uint64_t offset, uint32_t flags)
{
	(void)handle, (void)flags;
	if ((uintptr_t)buf % align == 0)
		return result(pwrite(fd, buf, count, (off_t)offset), count);
	void *own = aligned_alloc(PAGE, (count + PAGE - 1) / PAGE * PAGE);
	if (own != NULL)
		memcpy(own, buf, count);
	int rc = result(own != NULL ? pwrite(fd, own, count, (off_t)offset) : -1, count);
	free(own);
	return rc;
}

static int
direct_flush(void *handle, uint32_t flags)
{
	(void)handle, (void)flags;
	return result(fdatasync(fd), 0);
}

static struct nbdkit_plugin plugin = {
	.name = "direct",
	.version = "1",
	.config = direct_config,
	.config_complete = direct_config_complete,
	.get_ready = direct_get_ready,
	.unload = direct_unload,
	.open = direct_open,
	.get_size = direct_get_size,
	.block_size = direct_block_size,
	.can_multi_conn = yes,
	.pread = direct_pread,
	.pwrite = direct_pwrite,
	.flush = direct_flush,
};

/* nbdkit calls this function, which the macro defines. */
struct nbdkit_plugin *plugin_init(void);
NBDKIT_REGISTER_PLUGIN(plugin)
