/* history_db.h: opens the database, for history.c, which writes it, and history_report.c, which
 * reads it. */
#ifndef MFRISBEED_MASTER_HISTORY_DB_H
#define MFRISBEED_MASTER_HISTORY_DB_H

#include "common/base/db.h"
#include "mfrisbeed/master/history.h"

/* Opens FOLDER/history.db; with `write` it is made where it is missing.  The caller ends it
 * with db_close(), also on failure.  ERR_ABSENT: without `write`, it is missing; ERR_IO;
 * ERR_FORMAT: it has another version, or is no such database; ERR_USAGE: the path is too
 * long. */
int history_db_open(struct db *, const char *folder, bool write, struct err *);

#endif /* MFRISBEED_MASTER_HISTORY_DB_H */
