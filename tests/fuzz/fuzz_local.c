/* Requests of programs of the master's host: whatever is accepted has a name and a holder that can be
 * written and read again. */
#include <stdlib.h>
#include <string.h>

#include "mfrisbeed/master/local.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct local_request q;
	struct err e = { 0 };

	if (local_read(&q, (const char *)data, bytes, &e) != 0) {
		if (e.kind == ERR_NONE || e.text[0] == '\0')
			abort();
		return 0;
	}
	if (q.what == LOCAL_NOTHING)
		abort();
	if ((q.what == LOCAL_BEGIN || q.what == LOCAL_END) &&
	    (q.name[0] == '\0' || strlen(q.name) > MASTER_NAME_MAX || !sessions_is_holder(q.holder)))
		abort();
	if (q.what == LOCAL_MEMBERS && !sessions_is_holder(q.holder))
		abort();
	if (q.what == LOCAL_NOTE && (q.note.image[0] == '\0' || q.note.node[0] == '\0' || !(q.note.seconds >= 0) ||
					!sessions_is_holder(q.note.holder)))
		abort();
	if (q.what == LOCAL_VERSION_IS && q.version == 0)
		abort();
	return 0;
}
