/* nbd_kernel.c: gives the kernel's NBD client its connections, and takes its devices down, by generic
 * netlink.  guard.c, switch.c and attach.c call this, in their one thread.  A kernel that is older
 * than 4.12 does not have this interface. */
#include <errno.h>
#include <inttypes.h>
#include <linux/genetlink.h>
#include <linux/nbd-netlink.h>
#include <linux/nbd.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/rd.h"
#include "stream/nbd/nbd.h"
#include "stream/nbd/tell.h"

enum {
	MESSAGE_BYTES = 4096, /* several times an answer */
	/* After so long a request whose connection has ended is sent again.  One that the server is
	 * still at is noted in the kernel's log, and goes on. */
	AGAIN_MS = 5000,
};

union message {
	struct nlmsghdr head;
	uint8_t bytes[MESSAGE_BYTES];
};

static void
begin(union message *m, uint16_t family, uint8_t command)
{
	struct genlmsghdr of = { .cmd = command, .version = NBD_GENL_VERSION };

	memset(m, 0, sizeof *m);
	m->head.nlmsg_type = family;
	m->head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	m->head.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN);
	memcpy(NLMSG_DATA(&m->head), &of, sizeof of);
}

static void
put(union message *m, int type, const void *data, size_t len)
{
	struct nlattr a = { (uint16_t)(NLA_HDRLEN + len), (uint16_t)type };
	uint8_t *to = m->bytes + m->head.nlmsg_len;

	memcpy(to, &a, sizeof a);
	memcpy(to + NLA_HDRLEN, data, len);
	m->head.nlmsg_len += (uint32_t)NLA_ALIGN(NLA_HDRLEN + len);
}

static void
put_u64(union message *m, int type, uint64_t value)
{
	put(m, type, &value, sizeof value);
}

/* A list of connections, which has one. */
static void
put_connection(union message *m, int fd)
{
	struct {
		struct nlattr item, number;
		uint32_t fd;
	} of = { { sizeof of, NBD_SOCK_ITEM | NLA_F_NESTED },
		{ NLA_HDRLEN + sizeof of.fd, NBD_SOCK_FD }, (uint32_t)fd };

	put(m, NBD_ATTR_SOCKETS | NLA_F_NESTED, &of, sizeof of);
}

/* Returns the errno by which the kernel refuses the message, or 0.  What it says beside that is in
 * *m then. */
static int
ask(int fd, union message *m)
{
	union message answer;
	struct nlmsgerr result;

	if (send(fd, m, m->head.nlmsg_len, 0) < 0)
		return errno;
	for (;;) {
		ssize_t n = recv(fd, &answer, sizeof answer, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		if ((size_t)n < NLMSG_HDRLEN || answer.head.nlmsg_len > (size_t)n)
			return EPROTO;
		if (answer.head.nlmsg_type != NLMSG_ERROR) {
			*m = answer;
			continue;
		}
		memcpy(&result, NLMSG_DATA(&answer.head), sizeof result);
		return -result.error;
	}
}

/* The number of the family of messages, out of the kernel's answer; 0: it is not there. */
static uint16_t
family_in(const union message *m)
{
	struct rd r = rd_from(m->bytes, m->head.nlmsg_len);
	struct nlattr a;
	uint16_t number;

	rd_skip(&r, NLMSG_LENGTH(GENL_HDRLEN));
	while (rd_left(&r) >= sizeof a) {
		rd_copy(&r, &a, sizeof a);
		if (a.nla_type != CTRL_ATTR_FAMILY_ID) {
			rd_skip(&r, NLA_ALIGN(a.nla_len) - NLA_HDRLEN);
			continue;
		}
		rd_copy(&r, &number, sizeof number);
		return rd_ok(&r) ? number : 0;
	}
	return 0;
}

static int
find_family(int fd, uint16_t *family, struct err *e)
{
	union message m;

	begin(&m, GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
	put(&m, CTRL_ATTR_FAMILY_NAME, NBD_GENL_FAMILY_NAME, sizeof NBD_GENL_FAMILY_NAME);
	errno = ask(fd, &m);
	*family = errno == 0 ? family_in(&m) : 0;
	if (*family != 0)
		return 0;
	if (errno == ENOENT || errno == 0)
		return err_set(e, ERR_ABSENT,
		    "the kernel's NBD client is not there, or older than 4.12; its module is nbd");
	return err_os(e, "the kernel's NBD client");
}

static int
number_of(const char *device, uint32_t *number, struct err *e)
{
	char rest;

	if (sscanf(device, "/dev/nbd%" SCNu32 "%c", number, &rest) == 1)
		return 0;
	return err_set(e, ERR_USAGE, "%s: is not /dev/nbdN", device);
}

/* Finish a message that begin() has begun for any family, and send it. */
static int
ask_client(int netlink, const char *device, union message *m, const char *refused, struct err *e)
{
	uint16_t family;

	if (find_family(netlink, &family, e) != 0)
		return -1;
	m->head.nlmsg_type = family;
	errno = ask(netlink, m);
	return errno == 0 ? 0 : err_os(e, "%s: %s", device, refused);
}

static int
tell_client(const char *device, union message *m, const char *refused, struct err *e)
{
	int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);

	if (netlink < 0)
		return err_os(e, "a socket to the kernel");
	int rc = ask_client(netlink, device, m, refused, e);
	close(netlink);
	return rc;
}

static int
begin_for(union message *m, const char *device, uint8_t command, struct err *e)
{
	uint32_t number;

	if (number_of(device, &number, e) != 0)
		return -1;
	begin(m, 0, command);
	put(m, NBD_ATTR_INDEX, &number, sizeof number);
	return 0;
}

static int
give(const char *device, int fd, union message *m, struct err *e)
{
	put_connection(m, fd);
	return tell_client(device, m, "the kernel does not take the connection", e);
}

static void
path_of(char *path, size_t cap, const char *device, const char *file)
{
	snprintf(path, cap, "/sys/block/%.32s/%s", device + strlen("/dev/"), file);
}

/* Without this the kernel takes 30 seconds. */
static void
send_again_soon(const char *device)
{
	char path[80], text[16];

	path_of(path, sizeof path, device, "queue/io_timeout");
	snprintf(text, sizeof text, "%d\n", AGAIN_MS);
	tell_kernel(path, text);
}

int
nbd_attach(const struct nbd_device *d, int fd, const struct nbd_export *x, struct err *e)
{
	union message m;

	if (begin_for(&m, d->path, NBD_CMD_CONNECT, e) != 0)
		return -1;
	put_u64(&m, NBD_ATTR_SIZE_BYTES, x->bytes);
	put_u64(&m, NBD_ATTR_BLOCK_SIZE_BYTES, d->sector_bytes);
	put_u64(&m, NBD_ATTR_SERVER_FLAGS, x->flags);
	if (d->wait_s > 0)
		put_u64(&m, NBD_ATTR_DEAD_CONN_TIMEOUT, d->wait_s);
	if (give(d->path, fd, &m, e) != 0)
		return -1;
	if (d->wait_s > 0)
		send_again_soon(d->path);
	return 0;
}

int
nbd_reattach(const char *device, int fd, struct err *e)
{
	union message m;

	return begin_for(&m, device, NBD_CMD_RECONFIGURE, e) != 0 ? -1 : give(device, fd, &m, e);
}

int
nbd_detach_when_closed(const char *device, bool on, struct err *e)
{
	union message m;

	if (begin_for(&m, device, NBD_CMD_RECONFIGURE, e) != 0)
		return -1;
	put_u64(&m, NBD_ATTR_CLIENT_FLAGS, on ? NBD_CFLAG_DISCONNECT_ON_CLOSE : 0);
	return tell_client(device, &m, "would stay attached when this program is killed", e);
}

int
nbd_detach(const char *device, struct err *e)
{
	union message m;

	if (begin_for(&m, device, NBD_CMD_DISCONNECT, e) != 0)
		return -1;
	return tell_client(device, &m, "cannot be disconnected", e);
}

bool
nbd_is_attached(const char *device)
{
	char path[80];
	uint32_t number;
	struct err ignored; /* a device of another name is none */

	if (number_of(device, &number, &ignored) != 0)
		return false;
	path_of(path, sizeof path, device, "pid");
	return access(path, F_OK) == 0;
}
