/* freeze.c: suspends a device by a shell that resumes it when the pipe to it is closed, by whatever
 * closes it.  cowsnap.c and thinsnap.c call this, in one thread. */
#include "dsync/run/freeze.h"

#include <errno.h>
#include <unistd.h>

/* A program that was started with a signal ignored ignores it, too. */
static const char program[] =
    "trap '' INT TERM HUP\n"
    "dmsetup suspend \"$0\" || exit\n"
    "echo suspended\n"
    "read -r end\n"
    "for i in 1 2 3 4 5; do dmsetup resume \"$0\" && exit 0; done\n"
    "exit 1\n";

int
freeze_begin(struct freeze *f, const char *device, struct err *e)
{
	const char *const argv[] = { "sh", "-c", program, device, NULL };
	char byte;
	ssize_t n;

	if (child_start(&f->shell, argv, CHILD_IN | CHILD_OUT, e) != 0)
		return -1;
	do
		n = read(child_from(f->shell), &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n == 1)
		return 0;
	if (child_wait(f->shell, e) == 0)
		err_set(e, ERR_IO, "the shell ended, and did not say why");
	f->shell = NULL;
	return err_ctx(e, "suspending %s", device);
}

int
freeze_end(struct freeze *f, struct err *e)
{
	struct child *c = f->shell;

	f->shell = NULL;
	return child_wait(c, e) == 0 ? 0 : err_ctx(e, "resuming what is suspended");
}
