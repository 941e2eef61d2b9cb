/* script.h: a script of the shell, in which the tools of filesystems work on a device.  It ends
 * at the first failure, and needs nothing that busybox does not have. */
#ifndef COMMON_RESIZE_SCRIPT_H
#define COMMON_RESIZE_SCRIPT_H

#include <stdbool.h>

#include "common/base/args.h"
#include "common/base/err.h"

/* Beginning of a script: l CMD runs a command of LVM that sees the script's device alone, and
 * neither the devices file nor the backups of the machine. */
#define SCRIPT_LVM \
	"dev=$1\n" \
	"export LVM_SUPPRESS_FD_WARNINGS=1\n" \
	"l() {\n" \
	"	cmd=$1; shift\n" \
	"	lvm $cmd --config 'devices { filter=[\"a|.*|\"] global_filter=[\"a|.*|\"]" \
	" scan_lvs=0 obtain_device_list_from_udev=0 external_device_info_source=\"none\" }" \
	" backup { backup=0 archive=0 } global { event_activation=0 use_lvmpolld=0" \
	" use_lvmlockd=0 } activation { monitoring=0 udev_sync=0 udev_rules=0 }'" \
	" --devices \"$dev\" \"$@\" < /dev/null\n" \
	"}\n"

/* Hears a line that the script has printed to standard output. */
typedef void script_hear_fn(void *arg, const char *line);

/* Begin the command line of a script: its $1 is the device; the caller appends the other
 * words.  The script has its own namespace of mounts, if root runs it. */
void script_begin(struct args *, const char *script, const char *path);
/* Run it.  hear: NULL: nobody hears the output.  ERR_IO: it has failed, with the line of
 * its tools that says most; ERR_CANCELLED, and errors of args_run_telling(). */
int script_run(
    struct args *, const char *path, script_hear_fn *hear, void *arg, struct err *);
enum { SCRIPT_TOOL_CAP = 32 };

/* Is one of these programs, with spaces between their names, not in the folders of PATH?
 * absent: the first of them. */
bool script_lacks(const char *programs, char absent[SCRIPT_TOOL_CAP]);

#endif /* COMMON_RESIZE_SCRIPT_H */
