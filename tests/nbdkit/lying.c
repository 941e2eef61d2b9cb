/* lying.c: an nbdkit filter for tests: a disk that has less room than it says.
 *
 *	lying-room=BYTES	what it has
 *	lying-drops=true	what is written behind that is dropped, and reads as
 *				zeros; otherwise the disk wraps round there
 */
#include <nbdkit-filter.h>

#include <stdbool.h>
#include <string.h>

static uint64_t room;
static int drops;

static int
lying_config(nbdkit_next_config *next, nbdkit_backend *nxdata, const char *key,
    const char *value)
{
	if (strcmp(key, "lying-room") == 0) {
		int64_t bytes = nbdkit_parse_size(value);
		room = bytes > 0 ? (uint64_t)bytes : 0;
		return room > 0 ? 0 : -1;
	}
	if (strcmp(key, "lying-drops") == 0)
		return (drops = nbdkit_parse_bool(value)) >= 0 ? 0 : -1;
	return next(nxdata, key, value);
}

/* How many of these bytes lie side by side on what the disk has, and where? */
static uint32_t
stretch(uint32_t count, uint64_t offset, uint64_t *at)
{
	*at = drops ? offset : offset % room;
	return count < room - *at ? count : (uint32_t)(room - *at);
}

static bool
is_dropped(uint64_t offset)
{
	return drops && offset >= room;
}

static int
lying_pread(nbdkit_next *next, void *handle, void *buf, uint32_t count, uint64_t offset,
    uint32_t flags, int *err)
{
	uint8_t *to = buf;
	uint64_t at;
	uint32_t n;

	(void)handle;
	for (; count > 0 && !is_dropped(offset); count -= n, offset += n, to += n) {
		n = stretch(count, offset, &at);
		if (next->pread(next, to, n, at, flags, err) != 0)
			return -1;
	}
	memset(to, 0, count);
	return 0;
}

static int
lying_pwrite(nbdkit_next *next, void *handle, const void *buf, uint32_t count,
    uint64_t offset, uint32_t flags, int *err)
{
	const uint8_t *from = buf;
	uint64_t at;
	uint32_t n;

	(void)handle;
	for (; count > 0 && !is_dropped(offset); count -= n, offset += n, from += n) {
		n = stretch(count, offset, &at);
		if (next->pwrite(next, from, n, at, flags, err) != 0)
			return -1;
	}
	return 0;
}

static int
lying_zero(nbdkit_next *next, void *handle, uint32_t count, uint64_t offset,
    uint32_t flags, int *err)
{
	uint64_t at;
	uint32_t n;

	(void)handle;
	for (; count > 0 && !is_dropped(offset); count -= n, offset += n) {
		n = stretch(count, offset, &at);
		if (next->zero(next, n, at, flags, err) != 0)
			return -1;
	}
	return 0;
}

static int
no(nbdkit_next *next, void *handle)
{
	(void)next, (void)handle;
	return 0;
}

static struct nbdkit_filter filter = {
	.name = "lying",
	.longname = "a disk that has less room than it says, for tests",
	.config = lying_config,
	.config_help = "lying-room=BYTES lying-drops=BOOL",
	.can_trim = no,
	.can_extents = no,
	.can_cache = no,
	.pread = lying_pread,
	.pwrite = lying_pwrite,
	.zero = lying_zero,
};

/* nbdkit calls this function, which the macro defines. */
struct nbdkit_filter *filter_init(void);
NBDKIT_REGISTER_FILTER(filter)
