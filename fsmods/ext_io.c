/* ext_io.c: lets libext2fs read a partition of a struct disk, by an io_manager that cannot write.
 * ext.c calls this in a confined child process, stream/boot/tree.c in the first thread. */
#include "fsmods/ext_io.h"

#include <stdlib.h>
#include <string.h>

/* The library takes what follows a "?" in the name for options, so the name of the disk
 * itself cannot be used. */
#define LIBRARY_NAME "disk"

/* The partition that is being opened: io_manager.open() is given a name and no other
 * argument. */
static _Thread_local struct ext_io *opening;

static io_manager ext_disk_io_manager(void);

static errcode_t
io_open(const char *name, int flags, io_channel *out)
{
	io_channel io = calloc(1, sizeof *io);

	(void)flags;
	if (io == NULL || (io->name = strdup(name)) == NULL) {
		free(io);
		return EXT2_ET_NO_MEMORY;
	}
	io->magic = EXT2_ET_MAGIC_IO_CHANNEL;
	io->manager = ext_disk_io_manager();
	io->block_size = 1024;
	io->refcount = 1;
	io->private_data = opening;
	*out = io;
	return 0;
}

static errcode_t
io_close(io_channel io)
{
	if (--io->refcount > 0)
		return 0;
	free(io->name);
	free(io);
	return 0;
}

static errcode_t
io_set_blksize(io_channel io, int bytes)
{
	io->block_size = bytes;
	return 0;
}

/* A negative count is a number of bytes instead of blocks (libext2fs's convention). */
static errcode_t
io_read(io_channel io, unsigned long long block, int count, void *buf)
{
	const struct ext_io *s = io->private_data;
	uint64_t bytes = count < 0 ? (uint64_t) - (int64_t)count
	                           : (uint64_t)count * (unsigned)io->block_size;
	uint64_t part_bytes = s->part.len * SECTOR_BYTES;
	struct err e;

	if (block > part_bytes / (unsigned)io->block_size ||
	    !range_within(
		(struct range){ block * (unsigned)io->block_size, bytes }, part_bytes))
		return EXT2_ET_SHORT_READ;
	return disk_read(s->disk, buf, bytes,
		   s->part.off * SECTOR_BYTES + block * (unsigned)io->block_size,
		   &e) == 0
	           ? 0
	           : EXT2_ET_BLOCK_BITMAP_READ;
}

static errcode_t
io_read32(io_channel io, unsigned long block, int count, void *buf)
{
	return io_read(io, block, count, buf);
}

static errcode_t
io_write_refused(io_channel io, unsigned long block, int count, const void *buf)
{
	(void)io, (void)block, (void)count, (void)buf;
	return EXT2_ET_RO_FILSYS;
}

static errcode_t
io_flush(io_channel io)
{
	(void)io;
	return 0;
}

static struct struct_io_manager ext_disk_io = {
	.magic = EXT2_ET_MAGIC_IO_MANAGER,
	.name = "disk",
	.open = io_open,
	.close = io_close,
	.set_blksize = io_set_blksize,
	.read_blk = io_read32,
	.read_blk64 = io_read,
	.write_blk = io_write_refused,
	.flush = io_flush,
};

static io_manager
ext_disk_io_manager(void)
{
	return &ext_disk_io;
}

errcode_t
ext_io_open(struct ext_io *io, ext2_filsys *fs)
{
	initialize_ext2_error_table();
	opening = io;
	errcode_t rc = ext2fs_open2(
	    LIBRARY_NAME, NULL, EXT2_FLAG_64BITS, 0, 0, &ext_disk_io, fs);
	opening = NULL;
	return rc;
}
