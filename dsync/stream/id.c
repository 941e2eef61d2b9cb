/* id.c: makes, prints and reads names of states.  Writers and readers of streams call this, in
 * any thread. */

#include "common/base/number.h"
#include "common/base/random_bytes.h"
#include "common/base/zero.h"
#include "dsync/stream/stream.h"

void
stream_id_make(struct stream_id *id)
{
	random_bytes(id->bytes, sizeof id->bytes);
}

bool
stream_id_set(const struct stream_id *id)
{
	return !is_zero(id->bytes, sizeof id->bytes);
}

const char *
stream_id_text(const struct stream_id *id, char out[STREAM_ID_TEXT])
{
	return number_hex(id->bytes, sizeof id->bytes, out);
}

int
stream_id_get(struct stream_id *id, const char *text, struct err *e)
{
	return number_uuid(text, id->bytes, e);
}
