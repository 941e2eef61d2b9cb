/* swap.c: Linux swap space: the first page describes it, and the other pages need not be
 * stored. fsmods.c calls its functions, in the first thread of imagezip; whoever resizes
 * filesystems asks whether a system is suspended (common/behind), in its own thread.
 *
 * The signature is the last 10 bytes of the first page, whose size (4 to 64 KiB) is the
 * page size of the machine that made the swap. A suspended system puts another signature
 * there: the swap then holds the system's memory and must be kept.
 * The header of version 1, u32 numbers at byte 1024 in the byte order of that machine,
 * has the number of the last page: what lies behind that page is not part of the swap.
 * Source: mkswap(8), the Linux kernel's include/linux/swap.h and kernel/power/swap.c
 * (signatures only).
 */
#include "fsmods/swap.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/rd.h"
#include "fsmods/fsmod.h"

enum {
	PAGE_MIN = 4096,
	PAGE_MAX = 65536,
	SIGNATURE_BYTES = 10,
	HEADER_AT = 1024,
	VERSION = 1,
	KEEP_SECTORS_MIN = 64, /* as many as the original imagezip keeps */
};

enum swap_state { SWAP_NONE, SWAP_PLAIN, SWAP_OLD, SWAP_SUSPENDED };

struct signature {
	const char *text;
	size_t len;
	enum swap_state state;
};

static const struct signature signatures[] = {
	{ "SWAPSPACE2", 10, SWAP_PLAIN }, { "SWAP-SPACE", 10, SWAP_OLD },
	{ "S1SUSPEND", 9, SWAP_SUSPENDED }, { "S2SUSPEND", 9, SWAP_SUSPENDED },
	{ "ULSUSPEND", 9, SWAP_SUSPENDED }, { "LINHIB0001", 10, SWAP_SUSPENDED },
	{ "\xed\xc3\x02\xe9\x98\x56\xe5\x0c", 8, SWAP_SUSPENDED }, /* TuxOnIce */
};

static enum swap_state
match(const uint8_t *at)
{
	for (size_t i = 0; i < sizeof signatures / sizeof signatures[0]; i++)
		if (memcmp(at, signatures[i].text, signatures[i].len) == 0)
			return signatures[i].state;
	return SWAP_NONE;
}

/* Find the signature: its state, and the page size that its place stands for. */
static int
look(struct disk *d, struct range part, enum swap_state *state, uint64_t *page_bytes,
    struct err *e)
{
	uint8_t sig[SIGNATURE_BYTES];

	*state = SWAP_NONE;
	for (uint64_t page = PAGE_MIN; page <= PAGE_MAX; page *= 2) {
		if (part.len * SECTOR_BYTES < page)
			break;
		if (disk_read(d, sig, sizeof sig,
			part.off * SECTOR_BYTES + page - sizeof sig, e) != 0)
			return -1;
		*state = match(sig);
		*page_bytes = page;
		if (*state != SWAP_NONE)
			break;
	}
	return 0;
}

static int
swap_probe(struct disk *d, struct range part, struct err *e)
{
	enum swap_state state;
	uint64_t page;

	return look(d, part, &state, &page, e) != 0 ? -1 : state != SWAP_NONE;
}

int
swap_is_suspended(struct disk *d, struct range part, struct err *e)
{
	enum swap_state state;
	uint64_t page;

	return look(d, part, &state, &page, e) != 0 ? -1 : state == SWAP_SUSPENDED;
}

/* Get the size of the swap in sectors. The header of the old signature does not tell it;
 * such a swap is taken to fill the partition. */
static int
get_sectors(struct disk *d, struct range part, enum swap_state state, uint64_t page,
    uint64_t *sectors, struct err *e)
{
	uint8_t header[8];

	*sectors = part.len;
	if (state == SWAP_OLD)
		return 0;
	if (disk_read(
		d, header, sizeof header, part.off * SECTOR_BYTES + HEADER_AT, e) != 0)
		return -1;
	struct rd r = rd_from(header, sizeof header);
	uint32_t version = rd_le32(&r), last = rd_le32(&r);
	if (version == __builtin_bswap32(VERSION))
		last = __builtin_bswap32(last);
	else if (version != VERSION)
		return err_set(
		    e, ERR_FORMAT, "its header is of unknown version %u", version);
	uint64_t said = ((uint64_t)last + 1) * (page / SECTOR_BYTES);
	if (said > part.len)
		return err_set(e, ERR_FORMAT,
		    "it has %" PRIu64 " pages, more than the partition",
		    (uint64_t)last + 1);
	*sectors = said;
	return 0;
}

static int
swap_scan(struct disk *d, struct range part, struct skip_sink *sink, struct err *e)
{
	enum swap_state state;
	uint64_t page, sectors;

	if (look(d, part, &state, &page, e) != 0)
		return -1;
	if (state == SWAP_SUSPENDED) {
		skip_warn(sink, "holds a suspended system: stored completely");
		return 0;
	}
	uint64_t keep = page / SECTOR_BYTES > KEEP_SECTORS_MIN ? page / SECTOR_BYTES
	                                                       : KEEP_SECTORS_MIN;
	if (get_sectors(d, part, state, page, &sectors, e) != 0)
		return -1;
	skip_fs_end(sink, sectors);
	if (sectors <= keep)
		return 0;
	return skip_add(sink, (struct range){ keep, sectors - keep }, e);
}

const struct fsmod fsmod_swap = {
	.name = "swap",
	.title = "Linux swap",
	.probe = swap_probe,
	.scan = swap_scan,
};
