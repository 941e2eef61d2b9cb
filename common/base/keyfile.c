/* keyfile.c: reads and writes key files: small files whose beginning names the kind of key.
 * sign.c calls this for signature keys, keyfile_secret.c for all others; both do so in the
 * thread that makes or opens keys, before other threads use them. */
#include "common/base/keyfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/readable.h"
#include "common/base/whole.h"

static int
check_mode(int fd, const char *path, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return err_os(e, "%s", path);
	if ((st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		return err_set(e, ERR_REFUSED,
		    "%s: this key file is accessible to others; chmod 600 makes it "
		    "private",
		    path);
	return 0;
}

static int
read_all(int fd, const char *path, char *buf, size_t *n, struct err *e)
{
	ssize_t got;

	*n = 0;
	while ((got = read(fd, buf + *n, KEYFILE_BYTES_MAX + 1 - *n)) != 0) {
		if (got < 0 && errno == EINTR && cancel_signal() == 0)
			continue;
		if (got < 0)
			return err_os(e, "%s", path);
		*n += (size_t)got;
		if (*n > KEYFILE_BYTES_MAX)
			return err_set(
			    e, ERR_FORMAT, "%s: is too long for a key", path);
	}
	buf[*n] = '\0';
	return 0;
}

static const struct {
	const char *begins, *name;
} kinds[KEYFILE_KINDS] = {
	[KEYFILE_PRIVATE] = { "-----BEGIN PRIVATE KEY-----",
	    "a private key (which signs)" },
	[KEYFILE_PUBLIC] = { "-----BEGIN PUBLIC KEY-----",
	    "a public key (which verifies signatures)" },
	[KEYFILE_ENCRYPTION] = { "NDZ-KEY-", "a key for encryption" },
	[KEYFILE_GROUP] = { "FRISBEE-GROUP-KEY-", "a group's key" },
	[KEYFILE_TOKEN] = { "FRISBEE-TOKEN-", "a file of tokens" },
};

const char *
keyfile_name(enum keyfile_kind kind)
{
	return kinds[kind].name;
}

/* A user easily names one key file in place of another, so the kind is checked. */
static int
check_kind(const char *path, enum keyfile_kind want, const char *text, struct err *e)
{
	for (enum keyfile_kind k = 0; k < KEYFILE_KINDS; k++)
		if (k != want &&
		    strncmp(text, kinds[k].begins, strlen(kinds[k].begins)) == 0)
			return err_set(e, ERR_FORMAT, "%s: is %s, but %s is needed",
			    path, kinds[k].name, kinds[want].name);
	return 0;
}

int
keyfile_read(const char *path, enum keyfile_kind kind, char buf[KEYFILE_BYTES_MAX + 1],
    size_t *n, struct err *e)
{
	int fd = readable_open(path, e);

	if (fd < 0)
		return -1;
	int rc = read_all(fd, path, buf, n, e);
	if (rc == 0)
		rc = check_kind(path, kind, buf, e);
	if (rc == 0 && kind != KEYFILE_PUBLIC)
		rc = check_mode(fd, path, e);
	close(fd);
	return rc;
}

int
keyfile_write(const char *path, bool secret, const void *data, size_t n, struct err *e)
{
	mode_t mode = secret ? 0600 : 0644;
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

	if (fd < 0 && errno == EEXIST)
		return err_set(e, ERR_REFUSED,
		    "%s: exists already, and a key is never replaced", path);
	if (fd < 0)
		return err_os(e, "%s: cannot be made", path);
	int rc = write_whole(fd, data, n) == 0 && fsync(fd) == 0 ? 0 : err_os(e, "%s", path);
	if (close(fd) != 0 && rc == 0)
		rc = err_os(e, "%s", path);
	if (rc != 0)
		unlink(path);
	return rc;
}
