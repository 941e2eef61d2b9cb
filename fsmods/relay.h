/* relay.h: runs the scan of a confined module in a child process. What the child's sink
 * is told goes to the parent's sink as messages:
 *
 *	RELAY_SKIP, RELAY_ZERO, RELAY_ZONE, RELAY_HOT
 *				pairs of le64 first sector, le64 sectors; they fill the message
 *	RELAY_WARN		the sentence, without a NUL at its end
 *	RELAY_FS_END		le64 sectors
 *	RELAY_SUSPENDED		nothing
 */
#ifndef FSMODS_RELAY_H
#define FSMODS_RELAY_H

#include "common/base/rd.h"
#include "fsmods/fsmod.h"

enum relay_kind {
	RELAY_SKIP = 1,
	RELAY_ZERO,
	RELAY_WARN,
	RELAY_FS_END,
	RELAY_ZONE,
	RELAY_HOT,
	RELAY_SUSPENDED,
};

/* Run the module's scan() in a child process and return its result. The sink receives
 * what scan() reported. Errors are those of scan(), of skip_add(), and of confined_run(),
 * for a child that crashed, took too long, or sent something that is no message. */
int relay_scan(const struct fsmod *, struct disk *, struct range part,
    struct skip_sink *, struct err *);

/* The functions by which sink.c sends in the child. A message that cannot be sent makes
 * the scan fail. */
struct relay;
int relay_range(struct relay *, enum relay_kind, struct range sectors, struct err *);
void relay_warn(struct relay *, const char *text);
void relay_fs_end(struct relay *, uint64_t sectors);
void relay_suspended(struct relay *);

/* In the parent: take one message of the child into the sink. ranges_left: how many
 * ranges the child may still report. ERR_FORMAT when the message is malformed or has more
 * ranges than are left; also the errors of skip_add(). */
int relay_hear(struct skip_sink *, uint64_t *ranges_left, uint8_t kind,
    struct rd *payload, struct err *);

#endif /* FSMODS_RELAY_H */
