/* served_image.c: opens the file or source of an image, and checks that it can be served
 * (served_image.h). session.c calls it before the session's thread is started. */
#include "frisbeed/serve/served_image.h"

#include "common/base/log.h"
#include "common/image/read/image.h"
#include "emustore/store/store_disk.h"

/* Checks whether a file is an image.  A file that looks like an image, but cannot be read as one,
 * is refused. */
static int
inspect(const char *path, struct disk *d, bool *whole_chunks, struct err *e)
{
	struct image *img;
	struct ndz_header h;
	uint8_t magic[4] = { 0 };

	*whole_chunks = disk_size_bytes(d) % NDZ_CHUNK_BYTES == 0;
	if (disk_read_upto(d, magic, sizeof magic, 0, e) < 0)
		return -1;
	bool looks_like_one = ndz_looks_like_image(magic);
	if (looks_like_one && *whole_chunks) {
		if (image_open(&img, path, e) != 0)
			return -1;
		int rc = image_header(img, 0, &h, e);
		image_close(img);
		return rc;
	}
	if (looks_like_one)
		return err_set(e, ERR_FORMAT,
		    "%s: an image, but truncated: its length is not whole chunks "
		    "of 1 MiB",
		    path);
	*whole_chunks = false;
	log_tell("not an image: served only to clients that load any file "
		 "(frisbee -N) file=%s",
	    path);
	return 0;
}

/* Checks the size before the engine is made, because the engine relies on it, and another
 * server may say anything of its image. */
static int
check_size(uint64_t bytes, const char *name, struct err *e)
{
	if (bytes == 0)
		return err_set(e, ERR_UNSUPPORTED, "%s: is empty, or not a file", name);
	if (bytes / NDZ_CHUNK_BYTES >= INT32_MAX / WIRE_CHUNK_BLOCKS)
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: is too long: the protocol has no more than 2^31 blocks", name);
	return 0;
}

int
served_image_disk(struct disk **out, const char *store, struct store_cache *cache, const char *path,
    struct err *e)
{
	return store != NULL ? store_disk_open(out, store, path, cache, e)
	                     : disk_open(out, path, DISK_READ, e);
}

int
served_image_open(struct source *out, const struct disk **file, const char *store,
    struct store_cache *cache, const char *path, struct server_config *c, struct err *e)
{
	struct err ignored;
	struct disk *d;

	if (served_image_disk(&d, store, cache, path, e) != 0)
		return -1;
	int rc = check_size(disk_seekable(d) ? disk_size_bytes(d) : 0, path, e);
	if (rc == 0 && store != NULL)
		/* an image in a store was checked when it was put there */
		c->whole_chunks = true;
	else if (rc == 0)
		rc = inspect(path, d, &c->whole_chunks, e);
	if (rc != 0) {
		disk_close(d, &ignored);
		return -1;
	}
	c->image_bytes = disk_size_bytes(d);
	*file = d;
	return source_of_disk(out, d, e);
}

int
served_image_source(struct source *s, bool unicast, struct server_config *c, struct err *e)
{
	struct source_info info;

	if (source_info(s, &info, e) != 0)
		return -1;
	if (check_size(info.in_order ? 0 : info.bytes, source_name(s), e) != 0)
		return -1;
	if (info.live && unicast)
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: an image that is still arriving can only be served to a group",
		    source_name(s));
	c->image_bytes = info.bytes;
	c->whole_chunks = info.bytes % NDZ_CHUNK_BYTES == 0;
	c->growing = info.live;
	return 0;
}
