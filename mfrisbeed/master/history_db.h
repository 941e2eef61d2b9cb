/* history_db.h: opens the database, for history.c, which writes it, and history_report.c, which
 * reads it. */
#ifndef MFRISBEED_MASTER_HISTORY_DB_H
#define MFRISBEED_MASTER_HISTORY_DB_H

#include <sqlite3.h>

#include "mfrisbeed/master/history.h"

enum { HISTORY_PATH_BYTES = 4096, HISTORY_VERSION = 1 };

/* Opens FOLDER/history.db; with `write` it is made where it is missing.  The caller closes
 * it with sqlite3_close().  ERR_ABSENT: without `write`, it is missing; ERR_IO; ERR_FORMAT:
 * it has another version, or is no such database; ERR_USAGE: the path is too long. */
int history_db_open(sqlite3 **, const char *folder, bool write, struct err *);
/* Sets the error to the last one of SQLite (NULL: no memory), and returns -1. */
int history_db_err(sqlite3 *, struct err *);

#endif /* MFRISBEED_MASTER_HISTORY_DB_H */
