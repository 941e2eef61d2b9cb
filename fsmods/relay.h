/* relay.h: the scan of a module that is confined: what its sink is told in the child is
 * told to the parent's sink, as messages.
 *
 *	RELAY_SKIP, RELAY_ZERO	le64 first sector, le64 sectors; as many as there are bytes for
 *	RELAY_WARN		the sentence, without an end
 *	RELAY_FS_END		le64 sectors
 */
#ifndef FSMODS_RELAY_H
#define FSMODS_RELAY_H

#include "common/base/rd.h"
#include "fsmods/fsmod.h"

enum relay_kind { RELAY_SKIP = 1, RELAY_ZERO, RELAY_WARN, RELAY_FS_END };

/* Scan in a process of its own; afterwards as after the module's scan().  What it says, or
 * that it crashed or took too long, is the error. */
int relay_scan(const struct fsmod *, struct disk *, struct range part,
    struct skip_sink *, struct err *);

/* In the child: for sink.c.  A message that cannot be sent makes the scan fail. */
struct relay;
int relay_range(struct relay *, enum relay_kind, struct range sectors, struct err *);
void relay_warn(struct relay *, const char *text);
void relay_fs_end(struct relay *, uint64_t sectors);

/* In the parent: what was said, into the sink.  ranges_left: how many ranges it may still
 * be told.  ERR_FORMAT when the message is none, or too much. */
int relay_hear(struct skip_sink *, uint64_t *ranges_left, uint8_t kind,
    struct rd *payload, struct err *);

#endif /* FSMODS_RELAY_H */
