/* madeat.c: tells the time that is written into a new image.  maker.c calls this once for
 * each image, in the thread that makes it. */
#include "common/base/madeat.h"

#include <stdlib.h>
#include <time.h>

#include "common/base/number.h"

uint64_t
made_at(void)
{
	const char *epoch = getenv("SOURCE_DATE_EPOCH");
	struct err ignored;
	uint64_t t;

	if (epoch != NULL && number_uint(epoch, 0, INT64_MAX, &t, &ignored) == 0)
		return t;
	return (uint64_t)time(NULL);
}
