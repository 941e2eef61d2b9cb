/* json_save.c: a JSON document goes into a file that is replaced as a whole.  frisbee and
 * frisbeed call this for --stats, in their first thread. */
#include "common/cli/json_save.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MODE = 0644 };

static int
write_to(struct json *j, int fd, const char *path, struct err *e)
{
	FILE *f = fdopen(fd, "w");

	if (f == NULL) {
		close(fd);
		return err_os(e, "%s", path);
	}
	int rc = json_print(j, f, e);
	if (rc != 0)
		err_ctx(e, "%s", path);
	if (fclose(f) != 0 && rc == 0)
		rc = err_os(e, "%s", path);
	return rc;
}

int
json_save(struct json *j, const char *path, struct err *e)
{
	size_t room = strlen(path) + sizeof ".XXXXXX";
	char *other = malloc(room);
	int rc = -1;

	if (other == NULL)
		return err_nomem(e, "a file's name");
	snprintf(other, room, "%s.XXXXXX", path);
	int fd = mkstemp(other);
	if (fd < 0) {
		err_os(e, "%s: cannot make a file beside it", path);
	} else {
		fchmod(fd, MODE);
		rc = write_to(j, fd, path, e);
		if (rc == 0 && rename(other, path) != 0)
			rc = err_os(e, "%s", path);
		if (rc != 0)
			unlink(other);
	}
	free(other);
	return rc;
}
