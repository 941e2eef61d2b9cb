/* report.h: what streamdisk says about a disk. */
#ifndef STREAM_REPORT_H
#define STREAM_REPORT_H

#include "common/disk/ptable.h"
#include "common/image/format/order.h"
#include "stream/boot/boot.h"
#include "stream/export/export.h"
#include "stream/options.h"

/* Print the disk and its partitions to standard output.  ERR_IO, ERR_NOMEM. */
int report_disk(const struct opts *, struct export *, const struct ptable *, struct err *);
/* Report that the image is attached at `where`, until a signal comes.  disk: the disk that
 * becomes what the image holds, and is attached in its place; NULL: none is.  Errors as
 * report_disk(). */
int report_attached(
    const struct opts *, const char *disk, const char *where, struct err *);
/* Report what bootimage has made in this folder.  Errors as report_disk(). */
int report_boot(
    const struct opts *, const struct boot_made *, const char *folder, struct err *);
/* Report what merge-records has made.  Errors as report_disk(). */
int report_merged(const struct opts *, const struct order *, struct err *);

/* Print the JSON document that a streaming disk gives out on this socket.  ERR_ABSENT: nobody
 * listens there; ERR_IO; ERR_USAGE: the path is too long for a socket. */
int report_streaming(const char *socket_path, struct err *);

#endif /* STREAM_REPORT_H */
