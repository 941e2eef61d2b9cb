/* whole.c: reads the status of the disk that the plugin fills.  streamswitch calls this, in its
 * one thread, and attach.c in streamdisk's first. */
#include "stream/switch/whole.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/timed.h"
#include "stream/nbd/local.h"

enum {
	DOCUMENT_BYTES = 4096, /* several times a document */
	ANSWER_S = 10,         /* after which a plugin that does not answer counts as ended */
};

/* What stands behind the name of a member; NULL: the document has none of that name. */
static const char *
value_of(const char *document, const char *member)
{
	char name[40];
	int n = snprintf(name, sizeof name, "\"%s\"", member);
	const char *p = strstr(document, name);

	return p != NULL ? p + n + strspn(p + n, ": \t\n") : NULL;
}

int
whole_read(const char *document)
{
	const char *p = value_of(document, "complete");

	if (p == NULL)
		return -1;
	return strncmp(p, "true", 4) == 0 ? 1 : strncmp(p, "false", 5) == 0 ? 0 : -1;
}

uint64_t
whole_read_number(const char *document, const char *member)
{
	const char *p = value_of(document, member);

	return p != NULL ? strtoull(p, NULL, 10) : 0;
}

/* Read until the other side closes the connection. */
static int
read_document(int fd, char out[DOCUMENT_BYTES], const char *path, struct err *e)
{
	size_t len = 0;
	ssize_t n = 1;

	while (n != 0 && len < DOCUMENT_BYTES - 1) {
		n = recv(fd, out + len, DOCUMENT_BYTES - 1 - len, 0);
		if (n < 0 && errno != EINTR)
			return err_os(e, "%s", path);
		if (n < 0 && cancel_check(e) != 0)
			return -1;
		len += n > 0 ? (size_t)n : 0;
	}
	out[len] = '\0';
	return 0;
}

static int
ask(const char *path, char document[DOCUMENT_BYTES], bool *whole, struct err *e)
{
	const struct timeval most = { .tv_sec = ANSWER_S };
	int fd = local_connect(path, e);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
	int rc = read_document(fd, document, path, e);
	close(fd);
	if (rc != 0)
		return -1;
	int answer = whole_read(document);
	*whole = answer == 1;
	return answer >= 0 ? 0
	                   : err_set(e, ERR_FORMAT, "%s: the answer is no status of a disk", path);
}

int
whole_ask(const char *path, bool *whole, struct err *e)
{
	char document[DOCUMENT_BYTES];

	return ask(path, document, whole, e);
}

int
whole_ask_bytes(
    const char *path, bool *whole, uint64_t *present, uint64_t *stored, struct err *e)
{
	char document[DOCUMENT_BYTES];

	if (ask(path, document, whole, e) != 0)
		return -1;
	*present = whole_read_number(document, "present_bytes");
	*stored = whole_read_number(document, "stored_bytes");
	return 0;
}

int
whole_wait(const char *path, struct err *e)
{
	bool whole = false;

	while (whole_ask(path, &whole, e) == 0) {
		if (whole)
			return 0;
		timed_pause(clock_us() + 1000000);
		if (cancel_check(e) != 0)
			return -1;
	}
	return -1;
}
