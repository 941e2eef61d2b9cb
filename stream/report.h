/* report.h: what streamdisk says about a disk. */
#ifndef STREAM_REPORT_H
#define STREAM_REPORT_H

#include "common/disk/ptable.h"
#include "stream/export/export.h"
#include "stream/options.h"

/* To standard output: the disk and its partitions. */
int report_disk(const struct opts *, struct export *, const struct ptable *, struct err *);
/* It is attached there, and stays so until a signal comes. */
int report_attached(const struct opts *, const char *where, struct err *);

#endif /* STREAM_REPORT_H */
