/* segments.h: whether the kernel gets UDP_SEGMENT as a program sets it. */
#ifndef TESTS_UNIT_SEGMENTS_H
#define TESTS_UNIT_SEGMENTS_H

#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* False: packets that are sent with UDP_SEGMENT arrive with another length, so that no blocks
 * arrive.  QEMU 7.2 runs programs of another byte order, and passes this length on as it is.
 * True also if UDP_SEGMENT is refused, since the sender goes on without it then. */
static inline bool
segments_arrive(void)
{
	enum { EACH = 100 };
	char bytes[2 * EACH] = { 0 }, room[CMSG_SPACE(sizeof(uint16_t))] = { 0 };
	struct sockaddr_in to = { .sin_family = AF_INET };
	socklen_t len = sizeof to;
	struct iovec io = { bytes, sizeof bytes };
	struct msghdr m = { .msg_name = &to,
		.msg_namelen = sizeof to,
		.msg_iov = &io,
		.msg_iovlen = 1,
		.msg_control = room,
		.msg_controllen = sizeof room };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	uint16_t each = EACH;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	*c = (struct cmsghdr){ .cmsg_level = SOL_UDP,
		.cmsg_type = UDP_SEGMENT,
		.cmsg_len = CMSG_LEN(sizeof each) };
	memcpy(CMSG_DATA(c), &each, sizeof each);
	bool ready = fd >= 0 && bind(fd, (struct sockaddr *)&to, sizeof to) == 0 &&
	            getsockname(fd, (struct sockaddr *)&to, &len) == 0;
	if (ready && sendmsg(fd, &m, 0) == sizeof bytes)
		ready = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) == EACH;
	close(fd);
	return ready;
}

#endif /* TESTS_UNIT_SEGMENTS_H */
