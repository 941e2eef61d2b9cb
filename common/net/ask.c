/* ask.c: one request to a master server, and its reply.  frisbee calls this before a load, and
 * imagezip before an upload, in their first thread.  mfrisbeed's fetch.c asks a parent master
 * server. */
#include "common/net/ask.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/hostport.h"
#include "common/base/keyfile.h"
#include "common/net/await.h"
#include "common/net/netif.h"
#include "common/wire/addr.h"

#define STEP_US UINT64_C(60000000)
/* A server reads the whole image before it sends its verdict.  In this time it reads 360 GB at
 * 100 MB/s. */
#define VERDICT_US UINT64_C(3600000000)

static int
resolve(const char *host, uint8_t addr[4], struct err *e)
{
	struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM }, *list;
	int rc = getaddrinfo(host, NULL, &hints, &list);

	if (rc != 0)
		return err_set(e, ERR_IO, "%s: %s", host, gai_strerror(rc));
	const struct sockaddr_in *at = (const struct sockaddr_in *)(const void *)list->ai_addr;
	memcpy(addr, &at->sin_addr, 4);
	freeaddrinfo(list);
	return 0;
}

/* Wait until the socket is ready for `what` (POLLIN, POLLOUT), at most limit_us. */
static int
await(int fd, short what, uint64_t limit_us, struct err *e)
{
	return await_socket(fd, what, clock_us() + limit_us, "no answer", e);
}

/* Can this be the address of one host?  Linux takes 0.0.0.0 for this machine itself. */
static bool
is_host(const uint8_t addr[4])
{
	return addr[0] != 0 && addr[0] < 224;
}

static int
check_host(const uint8_t addr[4], struct err *e)
{
	char text[ADDR_TEXT_MAX];

	return is_host(addr) ? 0
	                     : err_set(e, ERR_FORMAT, "it names a server at %s, which is no host",
				   addr_text(addr, text));
}

int
ask_check_place(const struct master_get_reply *r, enum master_method method, struct err *e)
{
	char text[ADDR_TEXT_MAX];

	if (r->method != method || r->port == 0)
		return err_set(e, ERR_UNSUPPORTED, "the image is not served by %s",
		    method == MASTER_UNICAST ? "unicast" : "multicast");
	if (check_host(r->server, e) != 0)
		return -1;
	if (method == MASTER_UNICAST)
		return check_host(r->addr, e);
	return netif_is_group(r->addr) ? 0
	                               : err_set(e, ERR_FORMAT, "it names %s, which is no group",
					     addr_text(r->addr, text));
}

static int
connect_to(const uint8_t addr[4], uint16_t port, int *out, struct err *e)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	char text[ADDR_TEXT_MAX];

	memcpy(&to.sin_addr, addr, 4);
	if (fd < 0)
		return err_os(e, "a socket");
	int rc = connect(fd, (struct sockaddr *)&to, sizeof to);
	if (rc != 0 && errno != EINPROGRESS)
		rc = err_os(e, "cannot connect");
	else
		rc = await_connection(fd, clock_us() + STEP_US, e);
	if (rc != 0) {
		close(fd);
		return err_ctx(e, "%s, TCP port %u", addr_text(addr, text), port);
	}
	*out = fd;
	return 0;
}

int
ask_connect(const uint8_t addr[4], uint16_t port, int *fd, struct err *e)
{
	return check_host(addr, e) == 0 ? connect_to(addr, port, fd, e) : -1;
}

static int
send_all(int fd, const uint8_t *bytes, size_t n, struct err *e)
{
	for (size_t done = 0; done < n;) {
		if (await(fd, POLLOUT, STEP_US, e) != 0)
			return -1;
		ssize_t k = send(fd, bytes + done, n - done, MSG_NOSIGNAL);
		if (k < 0 && errno != EAGAIN && errno != EINTR)
			return err_os(e, "the connection");
		done += k > 0 ? (size_t)k : 0;
	}
	return 0;
}

static int
receive_all(int fd, uint8_t *bytes, size_t n, uint64_t limit_us, struct err *e)
{
	for (size_t done = 0; done < n;) {
		if (await(fd, POLLIN, limit_us, e) != 0)
			return -1;
		ssize_t k = recv(fd, bytes + done, n - done, 0);
		if (k == 0)
			return err_set(e, ERR_FORMAT,
			    "the answer ends after %zu of %zu bytes: is it a master server?",
			    done, n);
		if (k < 0 && errno != EAGAIN && errno != EINTR)
			return err_os(e, "the connection");
		done += k > 0 ? (size_t)k : 0;
	}
	return 0;
}

/* Send the request and receive the reply, each a whole message of a fixed length. */
static int
exchange(const char *master, const uint8_t *request, size_t n, uint8_t *reply,
    size_t reply_bytes, struct err *e)
{
	struct hostport at;
	uint8_t addr[4];
	int fd = -1;

	if (hostport_read(&at, master, 1, MASTER_PORT, e) != 0 ||
	    resolve(at.host, addr, e) != 0)
		return -1;
	int rc = connect_to(addr, at.port, &fd, e);
	if (rc == 0) {
		rc = send_all(fd, request, n, e);
		if (rc == 0)
			rc = receive_all(fd, reply, reply_bytes, STEP_US, e);
		close(fd);
	}
	return rc == 0 ? 0 : err_ctx(e, "master server %s", master);
}

/* A request of ask_get() or ask_put(), and the room for its reply. */
struct question {
	const char *master;
	uint8_t *request;
	size_t request_bytes;
	uint8_t *reply;
	size_t reply_bytes;
	const uint8_t *token; /* NULL: none */
};

/* Ask once.  With a token, the request has a proof that answers the challenge; NULL: there is no
 * challenge yet. */
static int
ask_once(const struct question *q, const uint8_t *challenge, struct err *e)
{
	if (q->token != NULL && master_proof_put(q->request, q->request_bytes, challenge,
				    q->token, e) != 0)
		return -1;
	return exchange(q->master, q->request, q->request_bytes, q->reply, q->reply_bytes, e);
}

static bool
wants_proof(const struct question *q, uint16_t error, const struct master_signature *s)
{
	return q->token != NULL && error == MASTER_NO_ACCESS &&
	       s->type == MASTER_SIGNATURE_CHALLENGE;
}

/* Ask once, and decode the reply. */
static int
get_once(const struct question *q, const uint8_t *challenge, struct master_get_reply *r,
    struct err *e)
{
	if (ask_once(q, challenge, e) != 0)
		return -1;
	if (master_get_reply_read(r, q->reply, q->reply_bytes, e) != 0)
		return err_ctx(e, "master server %s: its answer", q->master);
	return 0;
}

int
ask_get(const char *master, const struct master_get *m, const uint8_t *token,
    struct master_get_reply *reply, struct err *e)
{
	uint8_t request[MASTER_GET_BYTES], answer[MASTER_GET_REPLY_BYTES];
	const struct question q = { master, request, sizeof request, answer, sizeof answer,
		token };

	master_get_write(m, request);
	if (get_once(&q, NULL, reply, e) != 0)
		return -1;
	if (!wants_proof(&q, reply->error, &reply->signature))
		return 0;
	const struct master_signature challenge = reply->signature;
	return get_once(&q, challenge.bytes, reply, e);
}

static int
put_once(const struct question *q, const uint8_t *challenge, struct master_put_reply *r,
    struct err *e)
{
	if (ask_once(q, challenge, e) != 0)
		return -1;
	if (master_put_reply_read(r, q->reply, q->reply_bytes, e) != 0)
		return err_ctx(e, "master server %s: its answer", q->master);
	return 0;
}

int
ask_put(const char *master, const struct master_put *m, const uint8_t *token,
    struct master_put_reply *reply, struct err *e)
{
	uint8_t request[MASTER_PUT_BYTES], answer[MASTER_PUT_REPLY_BYTES];
	const struct question q = { master, request, sizeof request, answer, sizeof answer,
		token };

	master_put_write(m, request);
	if (put_once(&q, NULL, reply, e) != 0)
		return -1;
	if (!wants_proof(&q, reply->error, &reply->signature))
		return 0;
	const struct master_signature challenge = reply->signature;
	return put_once(&q, challenge.bytes, reply, e);
}

int
ask_read_token(const char *path, uint8_t token[MASTER_TOKEN_BYTES], struct err *e)
{
	return keyfile_read_secret(path, KEYFILE_TOKEN, token, e);
}

/* Receives the verdict.  1: it is in *v; 0: the connection was closed in order, with no byte; -1:
 * anything else. */
static int
receive_verdict(int fd, struct master_verdict *v, struct err *e)
{
	uint8_t bytes[MASTER_VERDICT_BYTES];

	if (shutdown(fd, SHUT_WR) != 0)
		return err_os(e, "the connection");
	if (await(fd, POLLIN, VERDICT_US, e) != 0)
		return -1;
	ssize_t first = recv(fd, bytes, 1, MSG_PEEK);
	if (first <= 0)
		return first == 0 ? 0 : err_os(e, "the connection");
	if (receive_all(fd, bytes, sizeof bytes, STEP_US, e) != 0 ||
	    master_verdict_read(v, bytes, sizeof bytes, e) != 0)
		return -1;
	return 1;
}

int
ask_verdict(int fd, struct err *e)
{
	struct master_verdict v;
	int rc = receive_verdict(fd, &v, e);

	if (rc < 0)
		return err_ctx(e, "it is not known whether the image was taken");
	if (rc == 0 || v.taken)
		return rc;
	return err_set(e, ERR_REFUSED, "the image was refused: %s", v.reason);
}
