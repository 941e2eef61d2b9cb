/* start.h: starts the kernel that boot.h has taken out of an image, in place of the running one. */
#ifndef STREAM_BOOT_START_H
#define STREAM_BOOT_START_H

#include "common/base/err.h"

/* Load vmlinuz and initrd.img of the folder with the words of its file cmdline and those of
 * `words` (NULL: none) behind them, flush all disks, and start it.  The running system ends without
 * being shut down, so this is for a system that runs in memory.  Returns -1 when it fails, and does
 * not return otherwise.  ERR_UNSUPPORTED: this kernel cannot load another one, or refuses an
 * unsigned one; ERR_USAGE: there are too many words; ERR_IO; errors of opening the files. */
int boot_start(const char *folder, const char *words, struct err *);

#endif /* STREAM_BOOT_START_H */
