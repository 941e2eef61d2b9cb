/* nbd_dial.c: connects to a server that speaks NBD, up to where requests may follow; the form is that
 * of the protocol's own document, doc/proto.md.  guard.c and attach.c call this, in their one
 * thread. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/rd.h"
#include "common/base/wr.h"
#include "common/net/await.h"
#include "stream/nbd/local.h"
#include "stream/nbd/nbd.h"

enum {
	FIXED = 1, NO_ZEROES = 2, /* flags that server and client have in common */
	EXPORT_NAME = 1,          /* the option that ends the talk about options */
	OPTION_BYTES = 4 + 8 + 4 + 4,
};

static const char first_magic[] = "NBDMAGIC", option_magic[] = "IHAVEOPT";
enum { MAGIC_BYTES = sizeof first_magic - 1 };

bool
nbd_hello_ok(const void *hello, size_t len)
{
	struct rd r = rd_from(hello, len);
	char first[MAGIC_BYTES], second[MAGIC_BYTES];

	rd_copy(&r, first, sizeof first);
	rd_copy(&r, second, sizeof second);
	uint16_t flags = rd_be16(&r);
	return rd_ok(&r) && memcmp(first, first_magic, sizeof first) == 0 &&
	       memcmp(second, option_magic, sizeof second) == 0 &&
	       (flags & (FIXED | NO_ZEROES)) == (FIXED | NO_ZEROES);
}

bool
nbd_export_get(struct nbd_export *x, const void *answer, size_t len)
{
	struct rd r = rd_from(answer, len);

	x->bytes = rd_be64(&r);
	x->flags = rd_be16(&r);
	return rd_ok(&r) && x->bytes > 0;
}

static int
take(int fd, const char *path, void *buf, size_t len, struct err *e)
{
	ssize_t n = 1;

	for (size_t have = 0; have < len; have += (size_t)n) {
		if (await_socket(fd, POLLIN, UINT64_MAX, "", e) != 0)
			return -1;
		n = recv(fd, (char *)buf + have, len - have, 0);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n < 0)
			return err_os(e, "%s", path);
		else if (n == 0)
			return err_set(e, ERR_IO, "%s: the server has closed the connection", path);
	}
	return 0;
}

/* Ask for the export without a name. */
static int
ask(int fd, const char *path, struct err *e)
{
	uint8_t bytes[OPTION_BYTES];
	struct wr w = wr_to(bytes, sizeof bytes);

	wr_be32(&w, FIXED | NO_ZEROES);
	wr_bytes(&w, option_magic, MAGIC_BYTES);
	wr_be32(&w, EXPORT_NAME);
	wr_be32(&w, 0);
	return send(fd, bytes, sizeof bytes, MSG_NOSIGNAL) == (ssize_t)sizeof bytes
	           ? 0
	           : err_os(e, "%s", path);
}

static int
talk(int fd, const char *path, struct nbd_export *x, struct err *e)
{
	uint8_t hello[NBD_HELLO_BYTES], answer[NBD_EXPORT_BYTES];

	if (take(fd, path, hello, sizeof hello, e) != 0)
		return -1;
	if (!nbd_hello_ok(hello, sizeof hello))
		return err_set(e, ERR_FORMAT, "%s: who listens there is no server for NBD", path);
	if (ask(fd, path, e) != 0 || take(fd, path, answer, sizeof answer, e) != 0)
		return -1;
	if (!nbd_export_get(x, answer, sizeof answer))
		return err_set(e, ERR_FORMAT, "%s: the server has an empty disk", path);
	return 0;
}

int
nbd_dial(const char *path, struct nbd_export *x, struct err *e)
{
	int fd = local_connect(path, e);

	if (fd < 0 || talk(fd, path, x, e) == 0)
		return fd;
	close(fd);
	return -1;
}
