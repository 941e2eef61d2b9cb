/* swapdb_impl.h: what the files of this folder share. */
#ifndef CONTROLLER_STATE_SWAPDB_IMPL_H
#define CONTROLLER_STATE_SWAPDB_IMPL_H

#include "common/base/db.h"
#include "controller/state/swapdb.h"

struct swapdb {
	struct db db;
	int lock;
};

/* swapdb_rows.c: the columns of the tables, in the order of swapdb_bind_...(), and how many each table
 * has; "whole" is a session with its course. */
enum {
	SWAPDB_NODE_COLUMNS_N = 12,
	SWAPDB_SESSION_COLUMNS_N = 26,
	SWAPDB_COURSE_COLUMNS_N = 7,
	SWAPDB_WHOLE_COLUMNS_N = SWAPDB_SESSION_COLUMNS_N + SWAPDB_COURSE_COLUMNS_N
};
/* Version 1, and from there to each next one. */
extern const char swapdb_schema[], swapdb_upgrade[], swapdb_captures[], swapdb_places[],
    swapdb_sending[], swapdb_machines[], swapdb_twins[], swapdb_notes[];
extern const char swapdb_put_session[], swapdb_put_node[];
extern const char swapdb_get_session[], swapdb_get_whole[], swapdb_get_node[];
void swapdb_bind_session(sqlite3_stmt *, const struct swap_session *);
void swapdb_bind_node(sqlite3_stmt *, const struct swap_node *);
/* swapdb_course.c: what frisbeed said last, and the samples.  A course with impossible values
 * is left out of the session: nothing but a picture is lost. */
#define SWAPDB_COURSE_COLUMNS "session, chunks, blocks_sent, blocks_resent, share_lost, chunk_map, samples"
extern const char swapdb_put_course[];
void swapdb_bind_course(sqlite3_stmt *, const struct swap_session *);
void swapdb_read_course(sqlite3_stmt *, int first_column, struct swap_session *);
/* ERR_FORMAT: the row has impossible values. */
int swapdb_read_session(sqlite3_stmt *, struct swap_session *, struct err *);
int swapdb_read_node(sqlite3_stmt *, struct swap_node *, struct err *);

#endif /* CONTROLLER_STATE_SWAPDB_IMPL_H */
