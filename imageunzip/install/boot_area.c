/* boot_area.c: holds back the boot area, and keeps the incomplete marker in its place.
 * target.c calls this in the threads that write and that end the installation, resume.c
 * when it places the state, status.c in imageunzip's first thread, and
 * stream/disk/streamed_open.c for a disk that streams; a lock guards the struct. The
 * marker is one block:
 *
 *	0 magic "NDZ unfinished\n" and a NUL, 16 u32 version 1, 20 u32 CRC-32 of
 *	bytes 24..511, 24 UUID, 40 u64 seconds since 1970, 48 id[16], 64 a
 *	sentence, zeros, 256 u64 first byte of the state, 264 u64 bytes of it, zeros
 */
#include "imageunzip/install/boot_area.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <zlib.h>

#include "common/base/rd.h"
#include "common/base/wr.h"

enum { MARKER_VERSION = 1, MARKER_BYTES = 512, CRC_FROM = 24, STATE_FROM = 256 };

static const char magic[16] = "NDZ unfinished\n";
static const char sentence[] =
    "This disk is being installed, or its installation was interrupted.\n";

static bool
get_marker(struct marker *m, const uint8_t *block)
{
	struct rd r = rd_from(block, MARKER_BYTES);
	const void *p = rd_bytes(&r, sizeof magic);

	if (p == NULL || memcmp(p, magic, sizeof magic) != 0)
		return false;
	uint32_t version = rd_le32(&r), crc = rd_le32(&r);
	rd_copy(&r, m->uuid, sizeof m->uuid);
	m->started = rd_le64(&r);
	rd_copy(&r, m->id, sizeof m->id);
	struct rd s = rd_from(block + STATE_FROM, MARKER_BYTES - STATE_FROM);
	m->state_at = rd_le64(&s);
	m->state_bytes = rd_le64(&s);
	return rd_ok(&r) && version == MARKER_VERSION &&
	       crc == (uint32_t)crc32(0, block + CRC_FROM, MARKER_BYTES - CRC_FROM);
}

static void
put_marker(const struct marker *m, uint8_t block[BOOT_AREA_BYTES])
{
	struct wr w = wr_to(block, MARKER_BYTES);

	memset(block, 0, BOOT_AREA_BYTES);
	wr_bytes(&w, magic, sizeof magic);
	wr_le32(&w, MARKER_VERSION);
	wr_le32(&w, 0);
	wr_bytes(&w, m->uuid, sizeof m->uuid);
	wr_le64(&w, m->started);
	wr_bytes(&w, m->id, sizeof m->id);
	wr_bytes(&w, sentence, sizeof sentence);
	struct wr s = wr_to(block + STATE_FROM, MARKER_BYTES - STATE_FROM);
	wr_le64(&s, m->state_at);
	wr_le64(&s, m->state_bytes);
	struct wr crc = wr_to(block + CRC_FROM - 4, 4);
	wr_le32(&crc, (uint32_t)crc32(0, block + CRC_FROM, MARKER_BYTES - CRC_FROM));
}

int
boot_area_init(struct boot_area *h, struct disk *d, uint64_t at, uint64_t area_bytes,
    struct err *e)
{
	*h = (struct boot_area){ .disk = d,
		.at = at,
		.on = disk_seekable(d) && area_bytes >= BOOT_AREA_BYTES };
	pthread_mutex_init(&h->lock, NULL);
	h->marker.started = (uint64_t)time(NULL);
	if (getrandom(h->marker.id, sizeof h->marker.id, 0) != sizeof h->marker.id)
		return err_os(e, "no random numbers");
	if (!h->on)
		return 0;
	if (disk_read_upto(d, h->bytes, BOOT_AREA_BYTES, at, e) < 0)
		return -1;
	h->was_marked = get_marker(&h->old, h->bytes);
	if (h->was_marked)
		memset(h->bytes, 0, BOOT_AREA_BYTES);
	return 0;
}

void
boot_area_free(struct boot_area *h)
{
	pthread_mutex_destroy(&h->lock);
}

/* Called with the lock. */
static int
write_marker(struct boot_area *h, struct err *e)
{
	uint8_t block[BOOT_AREA_BYTES];

	put_marker(&h->marker, block);
	int rc = disk_write(h->disk, block, sizeof block, h->at, e);
	h->marked |= rc == 0;
	return rc;
}

int
boot_area_put_marker(struct boot_area *h, struct err *e)
{
	int rc = 0;

	if (!h->on)
		return 0;
	pthread_mutex_lock(&h->lock);
	/* The marker is flushed, because what is written behind it might otherwise reach
	 * the medium first. */
	if (!h->marked)
		rc = write_marker(h, e) == 0 ? disk_sync(h->disk, e) : -1;
	pthread_mutex_unlock(&h->lock);
	return rc;
}

int
boot_area_place_state(struct boot_area *h, uint64_t at, uint64_t bytes, struct err *e)
{
	pthread_mutex_lock(&h->lock);
	h->marker.state_at = at;
	h->marker.state_bytes = bytes;
	int rc = write_marker(h, e);
	pthread_mutex_unlock(&h->lock);
	return rc;
}

size_t
boot_area_take(struct boot_area *h, uint64_t at, const void *data, uint64_t bytes)
{
	if (!h->on || at >= BOOT_AREA_BYTES)
		return 0;
	size_t n = (size_t)(bytes < BOOT_AREA_BYTES - at ? bytes : BOOT_AREA_BYTES - at);
	if (data != NULL)
		memcpy(h->bytes + at, data, n);
	else
		memset(h->bytes + at, 0, n);
	return n;
}

int
boot_area_commit(struct boot_area *h, struct err *e)
{
	return h->marked ? disk_write(h->disk, h->bytes, BOOT_AREA_BYTES, h->at, e) : 0;
}

int
boot_area_mark_again(struct boot_area *h, struct err *e)
{
	pthread_mutex_lock(&h->lock);
	int rc = write_marker(h, e) == 0 ? disk_sync(h->disk, e) : -1;
	pthread_mutex_unlock(&h->lock);
	return rc;
}

int
boot_area_read_marker(struct disk *d, uint64_t at, struct marker *m, struct err *e)
{
	uint8_t block[MARKER_BYTES] = { 0 };

	if (disk_read_upto(d, block, sizeof block, at, e) < 0)
		return -1;
	return get_marker(m, block);
}
