/* The state of an installation: any file, and what is asked of it. */
#include "imageunzip/install/state.h"
#include "imageunzip/install/state_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "common/base/wr.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

/* With the right checksum, what is behind it is looked at. */
static void
mend(uint8_t *slot, size_t len)
{
	if (len < 16)
		return;
	struct wr w = wr_to(slot + 12, 4);
	wr_le32(&w, (uint32_t)crc32(0, slot + 16, (uInt)(len - 16)));
}

/* The same bytes on a target, where the marker says: whatever they are, they are a
 * state or none. */
static void
check_in_target(const char *path, size_t len)
{
	struct disk *d;
	struct state *s;
	struct err e;

	if (disk_open(&d, path, DISK_READ | DISK_WRITE, &e) != 0 ||
	    state_open_in(&s, d, 0, len, &e) != 0)
		abort();
	if (state_chunks(s) > 0 && !state_placed(s))
		abort();
	state_close(s);
	struct marker m = { .state_bytes = len };
	if (state_wipe_remains(d, &m, &e) != 0)
		abort();
	disk_close(d, &e);
}

/* Any bytes as records of digests; the first one has the right checksum. */
static void
read_log(uint8_t *bytes, size_t len)
{
	struct state_log log = { bytes, len };
	struct state_record r;
	struct ledger_part p;
	size_t at = 0;

	if (len >= 16) {
		uint64_t n = bytes[12] + 256 * bytes[13];
		uint64_t end = 16 + 40 * n < len ? 16 + 40 * n : len;
		struct wr w = wr_to(bytes, 8);
		wr_bytes(&w, "NDZX", 4);
		wr_le32(&w, (uint32_t)crc32(0, bytes + 8, (uInt)(end - 8)));
	}
	while (state_log_next(&log, &at, &r)) {
		uint64_t parts = 0, said = r.left;
		while (state_record_part(&r, &p))
			parts++;
		if (parts != said || at > len)
			abort();
	}
}

static void
take(void *chunks, uint32_t chunk, const struct ledger_part *p)
{
	if (p == NULL && chunk >= *(uint32_t *)chunks)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint8_t file[1 << 17];
	static int fd = -1;
	char path[64];
	struct state *s;
	struct err e;

	if (fd < 0 && (fd = memfd_create("state", MFD_CLOEXEC)) < 0)
		abort();
	len = len < sizeof file ? len : sizeof file;
	if (len > 0)
		memcpy(file, data, len);
	mend(file, len / 2);
	mend(file + len / 2, len / 2);
	if (ftruncate(fd, 0) != 0 || pwrite(fd, file, len, 0) != (ssize_t)len)
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	check_in_target(path, len);
	if (state_open(&s, path, &e) != 0)
		return 0;
	uint32_t n = state_chunks(s), all = UINT32_MAX;
	state_kept(s, take, &all);
	struct state_of of = { .nchunks = n };
	/* What says that it has chunks is of some image, and not of this one. */
	if (n > 0 && state_check(s, &of, &e) == 0 && !state_has(s, 0))
		(void)state_sums(s);
	state_close(s);
	read_log(file, len);
	return 0;
}
