/* state_log.h: digests of what each chunk has written (ledger.h), behind the two slots of
 * a state file, so that a run that goes on can compare what earlier runs have written.
 *
 * A record, little-endian: 0 "NDZX", 4 u32 CRC-32 of all that follows, 8 u32 chunk,
 * 12 u32 n; n times u64 block, u64[2] bits of its sectors, u64[2] sum.  Records are added
 * behind one another; the first that is not whole ends the log.
 */
#ifndef IMAGEUNZIP_INSTALL_STATE_LOG_H
#define IMAGEUNZIP_INSTALL_STATE_LOG_H

#include "common/base/rd.h"
#include "imageunzip/install/ledger.h"

/* Records in memory. */
struct state_log {
	uint8_t *bytes; /* owned */
	size_t n;
};

/* Add a record.  ERR_NOMEM. */
int state_log_add(
    struct state_log *, uint32_t chunk, const struct ledger_parts *, struct err *);
void state_log_free(struct state_log *); /* leaves an empty log */

struct state_record {
	uint32_t chunk, left; /* parts that are to be read */
	struct rd parts;
};

/* Get the record at *at, a byte of the log, and move *at behind it.  false: there is
 * none. */
bool state_log_next(const struct state_log *, size_t *at, struct state_record *);
/* Get its next part.  false: there is none. */
bool state_record_part(struct state_record *, struct ledger_part *);

#endif /* IMAGEUNZIP_INSTALL_STATE_LOG_H */
