/* sigfile.c: signature files are read and written.  imagehash and imagezip call this in
 * their first thread. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/disk/disk.h"
#include "common/disk/output.h"
#include "common/image/format/kind.h"
#include "common/image/format/sig.h"

int
sig_is_file(const char *path, struct err *e)
{
	uint8_t head[SIG_MAGIC_BYTES];
	struct disk *d;
	struct err ignored;

	if (disk_open(&d, path, DISK_READ, e) != 0)
		return -1;
	ssize_t n = disk_seekable(d) ? disk_read_upto(d, head, sizeof head, 0, e) : 0;
	disk_close(d, &ignored);
	if (n < 0)
		return -1;
	return n == sizeof head && sig_begins(head);
}

static int
read_whole(struct disk *d, uint8_t **bytes, size_t *len, struct err *e)
{
	uint64_t size = disk_size_bytes(d);

	if (disk_kind(d) != DISK_FILE)
		return err_set(
		    e, ERR_UNSUPPORTED, "%s: a signature must be a file", disk_name(d));
	if (size > SIG_HEADER_BYTES + (uint64_t)UINT32_MAX * SIG_RECORD_BYTES)
		return err_set(
		    e, ERR_FORMAT, "%s: too large for a signature", disk_name(d));
	*bytes = malloc(size + 1);
	if (*bytes == NULL)
		return err_nomem(e, disk_name(d));
	*len = (size_t)size;
	return disk_read(d, *bytes, *len, 0, e);
}

int
sig_read(struct sig *s, const char *path, struct err *e)
{
	uint8_t *bytes = NULL;
	size_t len = 0;
	struct disk *d;
	struct err ignored;

	memset(s, 0, sizeof *s);
	if (disk_open(&d, path, DISK_READ, e) != 0)
		return -1;
	int rc = read_whole(d, &bytes, &len, e);
	if (rc == 0 && sig_get(s, bytes, len, e) != 0)
		rc = err_ctx(e, "%s", path);
	disk_close(d, &ignored);
	free(bytes);
	return rc;
}

static int
copy_time(const char *path, const char *image, struct err *e)
{
	struct stat st;

	if (image == NULL || stat(image, &st) != 0 || !S_ISREG(st.st_mode))
		return 0;
	struct timespec times[2] = { st.st_atim, st.st_mtim };
	if (utimensat(AT_FDCWD, path, times, 0) != 0)
		return err_os(e, "%s: cannot set its time", path);
	return 0;
}

int
sig_write(const struct sig *s, const char *path, const char *image, bool force,
    struct err *e)
{
	uint8_t *buf = malloc(sig_bytes(s));
	struct output out;

	if (buf == NULL)
		return err_nomem(e, path);
	if (image != NULL && strcmp(image, "-") != 0 && output_is_input(path, image)) {
		free(buf);
		return err_set(e, ERR_USAGE, "%s: is the image itself", path);
	}
	sig_put(s, buf);
	int rc = output_open(&out, path, &kind_signature, force, e);
	if (rc == 0) {
		rc = output_write(&out, buf, sig_bytes(s), e);
		if (rc == 0)
			rc = output_commit(&out, false, e);
		else
			output_abort(&out);
	}
	free(buf);
	return rc == 0 ? copy_time(path, image, e) : -1;
}
