/* spill.c: keeps many bytes in memory or in a file without a name.  Called by image_object.c and
 * placed.c, in the thread that opens an image, and in those that read it. */
#include "emustore/store/spill.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "common/base/tmpfolder.h"

enum { VIEW_BYTES = 64 << 10, WRITE_BYTES = 1 << 20 };

struct spill
spill_new(const char *folder, size_t most)
{
	const char *tmp = getenv("TMPDIR");

	if (folder == NULL)
		folder = tmp != NULL && tmp[0] != '\0' ? tmp : "/var/tmp";
	return (struct spill){ .folder = folder, .most = most, .fd = -1 };
}

void
spill_free(struct spill *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	s->filed = 0;
	buf_free(&s->mem);
}

void
spill_view_free(struct spill_view *v)
{
	buf_free(&v->bytes);
}

uint64_t
spill_bytes(const struct spill *s)
{
	return s->filed + s->mem.len;
}

static int
write_out(struct spill *s, struct err *e)
{
	for (size_t done = 0; done < s->mem.len;) {
		ssize_t n = pwrite(s->fd, s->mem.base + done, s->mem.len - done,
		    (off_t)(s->filed + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_os(e, "%s: writing a temporary file", s->folder);
		done += (size_t)n;
	}
	s->filed += s->mem.len;
	s->mem.len = 0;
	return 0;
}

/* The bytes no longer fit into memory: begin the file, and go on with a small buffer. */
static int
begin_file(struct spill *s, struct err *e)
{
	s->fd = tmpfolder_open_file(s->folder, O_RDWR);
	if (s->fd < 0)
		return err_os(e, "%s: a temporary file", s->folder);
	if (write_out(s, e) != 0)
		return -1;
	buf_free(&s->mem);
	return 0;
}

int
spill_add(struct spill *s, const void *bytes, size_t n, struct err *e)
{
	buf_bytes(&s->mem, bytes, n);
	if (!buf_ok(&s->mem))
		return err_nomem(e, "an image's recipe");
	if (s->fd < 0)
		return s->mem.len <= s->most ? 0 : begin_file(s, e);
	return s->mem.len < WRITE_BYTES ? 0 : write_out(s, e);
}

/* Read n bytes of the file. */
static int
read_file(const struct spill *s, uint64_t at, uint8_t *out, size_t n, struct err *e)
{
	while (n > 0) {
		ssize_t got = pread(s->fd, out, n, (off_t)at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_os(e, "reading a temporary file");
		if (got == 0)
			return err_set(e, ERR_IO, "a temporary file ends before byte %" PRIu64, at);
		at += (uint64_t)got;
		out += got;
		n -= (size_t)got;
	}
	return 0;
}

/* Let the view begin at byte `at`, with at least n bytes. */
static int
fill(const struct spill *s, struct spill_view *v, uint64_t at, size_t n, struct err *e)
{
	uint64_t left = spill_bytes(s) - at;
	size_t most = n > VIEW_BYTES ? n : VIEW_BYTES;

	n = left < most ? (size_t)left : most;
	v->bytes.len = 0;
	v->at = at;
	uint8_t *out = buf_room(&v->bytes, n);
	if (out == NULL)
		return err_nomem(e, "an image's recipe");
	size_t filed = s->filed - at < n ? (size_t)(s->filed - at) : n;
	if (n > filed)
		memcpy(out + filed, s->mem.base, n - filed);
	int rc = read_file(s, at, out, filed, e);
	if (rc != 0)
		v->bytes.len = 0;
	return rc;
}

const void *
spill_at(const struct spill *s, struct spill_view *v, uint64_t at, size_t n, struct err *e)
{
	assert(at <= spill_bytes(s) && n <= spill_bytes(s) - at);
	if (n == 0)
		return "";
	if (at >= s->filed)
		return s->mem.base + (at - s->filed);
	if ((at < v->at || at - v->at > v->bytes.len || n > v->bytes.len - (at - v->at)) &&
	    fill(s, v, at, n, e) != 0)
		return NULL;
	return v->bytes.base + (at - v->at);
}
