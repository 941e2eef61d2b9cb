/* upload.c: connects to a master server that takes the image. main.c calls it in the
 * first thread. */
#include "imagezip/upload.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/say.h"
#include "common/net/ask.h"

static const char scheme[] = "frisbee://";
enum { HOST_BYTES = 256 };

static int
ask(const char *to, const uint8_t *token, struct master_put_reply *r, struct err *e)
{
	size_t skip = sizeof scheme - 1;
	const char *slash = strncmp(to, scheme, skip) == 0 ? strchr(to + skip, '/') : NULL;
	size_t n = slash != NULL ? (size_t)(slash - to) - skip : 0;
	struct master_put m = { .bytes = 0 };
	char host[HOST_BYTES];

	if (n == 0 || n >= sizeof host || slash[1] == '\0' ||
	    strlen(slash + 1) > MASTER_NAME_MAX)
		return err_set(
		    e, ERR_USAGE, "--to: \"%.60s\" is not frisbee://HOST/NAME", to);
	memcpy(host, to + skip, n);
	host[n] = '\0';
	strcpy(m.name, slash + 1);
	if (ask_put(host, &m, token, r, e) != 0)
		return -1;
	return r->error == MASTER_OK ? 0
	                             : err_set(e, ERR_REFUSED, "%s: the master server %s",
	                                   to, master_error_text(r->error));
}

static int
ask_with(const char *to, const char *token_file, struct master_put_reply *r, struct err *e)
{
	uint8_t token[MASTER_TOKEN_BYTES];

	if (token_file == NULL)
		return ask(to, NULL, r, e);
	int rc = ask_read_token(token_file, token, e);
	if (rc == 0)
		rc = ask(to, token, r, e);
	OPENSSL_cleanse(token, sizeof token);
	return rc;
}

int
upload_begin(struct upload *u, const char *to, const char *token_file, struct err *e)
{
	struct master_put_reply r;

	*u = (struct upload){ .to = to };
	if (ask_with(to, token_file, &r, e) != 0)
		return -1;
	if (ask_connect(r.addr, r.port, &u->connection, e) != 0)
		return err_ctx(e, "%s", to);
	int flags = fcntl(u->connection, F_GETFL);
	u->saved_stdout = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (flags >= 0 && u->saved_stdout >= 0 &&
	    fcntl(u->connection, F_SETFL, flags & ~O_NONBLOCK) == 0 &&
	    dup2(u->connection, STDOUT_FILENO) >= 0)
		return 0;
	err_os(e, "%s", to);
	close(u->connection);
	return -1;
}

/* Have the connection break instead of ending in order, so that the server does not take
 * the image. */
static void
break_off(const struct upload *u)
{
	struct linger now = { .l_onoff = 1, .l_linger = 0 };

	setsockopt(u->connection, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

int
upload_end(struct upload *u, int rc, struct err *e)
{
	if (rc < 0)
		break_off(u);
	dup2(u->saved_stdout, STDOUT_FILENO);
	close(u->saved_stdout);
	int said = rc >= 0 ? ask_verdict(u->connection, e) : -1;
	close(u->connection);
	if (rc < 0)
		return rc;
	if (said < 0)
		return err_ctx(e, "%s", u->to);
	if (said == 0)
		say_text(stderr,
		    "imagezip: warning: %s: the server does not say whether it has taken "
		    "the image\n",
		    u->to);
	return rc;
}
