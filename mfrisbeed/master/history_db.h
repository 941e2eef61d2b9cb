/* history_db.h: what history.c, which writes the database, and history_report.c, which reads it, share. */
#ifndef MFRISBEED_MASTER_HISTORY_DB_H
#define MFRISBEED_MASTER_HISTORY_DB_H

#include <sqlite3.h>

#include "mfrisbeed/master/history.h"

enum { HISTORY_PATH_BYTES = 4096, HISTORY_VERSION = 1 };

/* Open FOLDER/history.db.  ERR_ABSENT: to be read, and not there; ERR_IO; ERR_FORMAT: of another version, or no
 * such database. */
int history_db_open(sqlite3 **, const char *folder, bool write, struct err *);
/* What SQLite complained of last. */
int history_db_err(sqlite3 *, struct err *);

#endif /* MFRISBEED_MASTER_HISTORY_DB_H */
