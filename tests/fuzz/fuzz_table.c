/* A sector table: any file.  What is opened can be read, marked, flushed and opened again. */
#include "stream/table/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/crc32c.h"
#include "common/base/wr.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

enum { FILE_BYTES = 1 << 16, ID_AT = 24, VERSION_AT = 8, FIRST_PIECE = 3 * 4096, STORED_SECTORS = 100000 };

/* With right checksums, what is behind them is looked at. */
static void
mend(uint8_t *file, size_t len)
{
	const uint8_t *id = file + ID_AT;

	for (size_t at = 0; at + PIECE_BYTES <= len; at += PIECE_BYTES) {
		bool header = at < FIRST_PIECE;
		if (header && file[at + VERSION_AT] > 1)
			file[at + VERSION_AT] = 2; /* with maps */
		size_t from = header ? 16 : 4;
		struct wr w = wr_to(file + at + from - 4, 4);
		uint32_t crc = header ? 0 : crc32c(id, TABLE_ID_BYTES);
		wr_le32(&w, crc32c_more(crc, file + at + from, PIECE_BYTES - from));
	}
}

static int
no_sync(void *arg, struct err *e)
{
	(void)arg, (void)e;
	return 0;
}

static void
must(int rc)
{
	if (rc != 0)
		abort();
}

/* The table describes at most as many sectors as fit into the file. */
static void
use(struct table *t, const struct table_config *cfg, const struct rangeset *stored)
{
	uint64_t sectors = table_header(t)->sectors, present = table_present(t), n;
	struct err e;
	bool is;

	if (sectors > 0 && table_header(t)->sequence < UINT64_MAX / 2) {
		struct range last = { (sectors < STORED_SECTORS ? sectors : STORED_SECTORS) - 1, 1 };
		if (table_run(t, last, &is, &n, &e) == 0 &&
		    table_mark(t, last, true, &e) == 0) {
			must(table_flush(t, true, no_sync, NULL, &e));
			present += is ? 0 : 1;
		}
	}
	if (table_present(t) != present)
		abort();
	bool closed = table_header(t)->closed, can_count = table_header(t)->sequence < UINT64_MAX / 2;
	if (can_count) {
		closed = !closed;
		must(table_set_closed(t, closed, &e));
	}
	table_close(t);
	must(table_open(&t, cfg, stored, &e));
	if (table_header(t)->closed != closed)
		abort();
	table_close(t);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint8_t file[FILE_BYTES];
	static int fd = -1;
	struct rangeset stored;
	struct disk *d;
	struct table *t;
	struct err e;
	char path[64];

	if (fd < 0 && (fd = memfd_create("table", MFD_CLOEXEC)) < 0)
		abort();
	len = len < sizeof file ? len : sizeof file;
	if (len > 0)
		memcpy(file, data, len);
	mend(file, len);
	if (ftruncate(fd, 0) != 0 || pwrite(fd, file, len, 0) != (ssize_t)len)
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	must(disk_open(&d, path, DISK_READ | DISK_WRITE, &e));
	rangeset_init(&stored);
	must(rangeset_add(&stored, (struct range){ 0, STORED_SECTORS }, &e));
	rangeset_seal(&stored);
	struct table_config cfg = { .on = d, .memory_bytes = TABLE_MEMORY_BYTES_MIN };
	if (table_open(&t, &cfg, &stored, &e) == 0)
		use(t, &cfg, &stored);
	rangeset_free(&stored);
	disk_close(d, &e);
	return 0;
}
