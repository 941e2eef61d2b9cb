/* measure_disk.c: writes a scratch file as an installation writes its disk
 * (measure_disk.h). calibrate.c calls it, in the program's first thread. */
#include "dolly/calibrate/measure_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/tmpfolder.h"
#include "dolly/calibrate/measure_cpu.h"

enum {
	WRITE_BYTES = 4
	              << 20, /* one write: large ones are what disks are fastest with */
	ALIGN_BYTES = 4096, /* of memory and offsets: what O_DIRECT needs on any disk */
	SCRATCH_MAX = 1 << 30,
};

struct scratch {
	const char *folder;
	int fd;
	void *bytes; /* WRITE_BYTES that cannot be compressed */
	off_t at;
};

static int
write_some(void *arg, double *bytes, struct err *e)
{
	struct scratch *s = arg;

	if (s->at + WRITE_BYTES > SCRATCH_MAX)
		s->at = 0;
	ssize_t n = pwrite(s->fd, s->bytes, WRITE_BYTES, s->at);
	if (n < 0 && errno == ENOSPC && s->at > 0) {
		s->at = 0;
		return 0;
	}
	if (n < 0)
		return err_os(e, "%s: writing a scratch file", s->folder);
	s->at = n == WRITE_BYTES ? s->at + n : 0; /* a short write: the disk is full */
	*bytes += (double)n;
	return 0;
}

/* O_DIRECT can be refused when the file is opened, and when it is written. */
static int
open_direct(struct scratch *s)
{
	s->fd = tmpfolder_open_file(s->folder, O_WRONLY | O_DIRECT);
	if (s->fd < 0)
		return -1;
	if (pwrite(s->fd, s->bytes, ALIGN_BYTES, 0) == ALIGN_BYTES)
		return 0;
	close(s->fd);
	s->fd = -1;
	errno = EINVAL;
	return -1;
}

int
measure_disk(
    struct measured *m, const char *folder, double seconds, bool *direct, struct err *e)
{
	struct scratch s = { .folder = folder, .fd = -1 };

	s.bytes = aligned_alloc(ALIGN_BYTES, WRITE_BYTES);
	if (s.bytes == NULL)
		return err_nomem(e, "a scratch file");
	fill_with_noise(s.bytes, WRITE_BYTES);
	*direct = open_direct(&s) == 0;
	if (!*direct && errno == EINVAL)
		s.fd = tmpfolder_open_file(folder, O_WRONLY | O_DSYNC);
	int rc = s.fd < 0 ? err_os(e, "%s: a scratch file", folder)
	                  : measure_repeat(m, seconds, write_some, &s, e);
	if (rc == 0 && m->bytes <= 0)
		rc = err_set(
		    e, ERR_IO, "%s: there is no room for a scratch file", folder);
	if (s.fd >= 0)
		close(s.fd);
	free(s.bytes);
	return rc;
}
