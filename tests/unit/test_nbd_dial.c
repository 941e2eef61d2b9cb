/* Servers that speak NBD, as the guardian of a streaming disk finds them: what they say is taken, and
 * what is cut off or of another protocol is not. */
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stream/nbd/nbd.h"
#include "tests/t.h"
#include "tests/tmp.h"

enum { BYTES = NBD_HELLO_BYTES + NBD_EXPORT_BYTES, OPTION_BYTES = 20, DISK_BYTES = 0x01020304 };

static const uint8_t said[BYTES] = { 'N', 'B', 'D', 'M', 'A', 'G', 'I', 'C', 'I', 'H', 'A', 'V',
	'E', 'O', 'P', 'T', 0, 3, 0, 0, 0, 0, 1, 2, 3, 4, 0x05, 0x6d };
static struct sockaddr_un at = { .sun_family = AF_UNIX };

/* A process that says the first n bytes to one client, and hears what that asks for. */
static pid_t
serve(const uint8_t *bytes, size_t n)
{
	uint8_t asked[OPTION_BYTES];
	size_t hello = n < NBD_HELLO_BYTES ? n : NBD_HELLO_BYTES;

	unlink(at.sun_path);
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	T_CHECK(bind(listener, (const struct sockaddr *)&at, sizeof at) == 0);
	T_CHECK(listen(listener, 1) == 0);
	pid_t child = fork();
	if (child == 0) {
		alarm(60); /* nobody may come */
		int fd = accept(listener, NULL, NULL);
		bool ok = send(fd, bytes, hello, MSG_NOSIGNAL) == (ssize_t)hello;
		if (n > hello)
			ok = ok && recv(fd, asked, sizeof asked, MSG_WAITALL) == sizeof asked &&
			     memcmp(asked, "\0\0\0\3IHAVEOPT\0\0\0\1\0\0\0\0", sizeof asked) == 0 &&
			     send(fd, bytes + hello, n - hello, MSG_NOSIGNAL) > 0;
		_exit(!ok);
	}
	close(listener);
	return child;
}

/* Returns whether the server was taken, and the server got what it expects. */
static bool
dial(const uint8_t *bytes, size_t n, struct nbd_export *x, struct err *e)
{
	pid_t child = serve(bytes, n);
	int status;
	int fd = nbd_dial(at.sun_path, x, e);

	waitpid(child, &status, 0);
	if (fd >= 0)
		close(fd);
	return fd >= 0 && status == 0;
}

static void
every_truncation(void)
{
	struct nbd_export x;
	struct err e;

	for (size_t n = 0; n < BYTES; n++) {
		T_CHECK(!dial(said, n, &x, &e));
		T_CHECK(e.kind == ERR_IO);
	}
	T_CHECK(dial(said, BYTES, &x, &e));
	T_CHECK(x.bytes == DISK_BYTES && x.flags == 0x056d);
	for (size_t n = 0; n < NBD_HELLO_BYTES; n++)
		T_CHECK(!nbd_hello_ok(said, n));
	for (size_t n = 0; n < NBD_EXPORT_BYTES; n++)
		T_CHECK(!nbd_export_get(&x, said + NBD_HELLO_BYTES, n));
}

/* A byte of what it says is another one. */
static bool
taken_with(size_t where, uint8_t byte)
{
	uint8_t other[BYTES];
	struct nbd_export x;
	struct err e = { .kind = ERR_NONE };

	memcpy(other, said, sizeof other);
	other[where] = byte;
	bool taken = dial(other, sizeof other, &x, &e);
	return taken || e.kind != ERR_FORMAT;
}

static void
others(void)
{
	struct nbd_export x;
	uint8_t none[NBD_EXPORT_BYTES] = { 0 };

	T_CHECK(!taken_with(0, 'n'));
	T_CHECK(!taken_with(8, 'i')); /* the first form of the protocol, without options */
	T_CHECK(!taken_with(NBD_HELLO_BYTES - 1, 1));
	T_CHECK(!taken_with(NBD_HELLO_BYTES - 1, 2));
	T_CHECK(!nbd_export_get(&x, none, sizeof none));
}

int
main(void)
{
	char folder[90];
	struct nbd_export x;
	struct err e;

	T_CHECK(tmp_folder(folder, sizeof folder, "dial"));
	snprintf(at.sun_path, sizeof at.sun_path, "%s/nbd", folder);
	T_CHECK(nbd_dial(at.sun_path, &x, &e) < 0 && e.kind == ERR_ABSENT);
	every_truncation();
	others();
	unlink(at.sun_path);
	rmdir(folder);
	return t_done();
}
