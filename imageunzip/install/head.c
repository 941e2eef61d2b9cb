/* head.c: holds back the boot area, and keeps the incomplete marker in its place.
 * target.c calls this in the threads that write and that end the installation, resume.c
 * when it places the state, status.c in imageunzip's first thread; a lock guards the
 * struct. The marker is one block:
 *
 *	0 magic "NDZ unfinished\n" and a NUL, 16 u32 version 1, 20 u32 CRC-32 of
 *	bytes 24..511, 24 UUID, 40 u64 seconds since 1970, 48 id[16], 64 a
 *	sentence, zeros, 256 u64 first byte of the state, 264 u64 bytes of it, zeros
 */
#include "imageunzip/install/head.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <zlib.h>

#include "common/base/rd.h"
#include "common/base/wr.h"

enum { MARK_VERSION = 1, MARK_BYTES = 512, CRC_FROM = 24, STATE_FROM = 256 };

static const char magic[16] = "NDZ unfinished\n";
static const char sentence[] =
    "This disk is being installed, or its installation was interrupted.\n";

static bool
get_mark(struct mark *m, const uint8_t *block)
{
	struct rd r = rd_from(block, MARK_BYTES);
	const void *p = rd_bytes(&r, sizeof magic);

	if (p == NULL || memcmp(p, magic, sizeof magic) != 0)
		return false;
	uint32_t version = rd_le32(&r), crc = rd_le32(&r);
	rd_copy(&r, m->uuid, sizeof m->uuid);
	m->started = rd_le64(&r);
	rd_copy(&r, m->id, sizeof m->id);
	struct rd s = rd_from(block + STATE_FROM, MARK_BYTES - STATE_FROM);
	m->state_at = rd_le64(&s);
	m->state_bytes = rd_le64(&s);
	return rd_ok(&r) && version == MARK_VERSION &&
	       crc == (uint32_t)crc32(0, block + CRC_FROM, MARK_BYTES - CRC_FROM);
}

static void
put_mark(const struct mark *m, uint8_t block[HEAD_BYTES])
{
	struct wr w = wr_to(block, MARK_BYTES);

	memset(block, 0, HEAD_BYTES);
	wr_bytes(&w, magic, sizeof magic);
	wr_le32(&w, MARK_VERSION);
	wr_le32(&w, 0);
	wr_bytes(&w, m->uuid, sizeof m->uuid);
	wr_le64(&w, m->started);
	wr_bytes(&w, m->id, sizeof m->id);
	wr_bytes(&w, sentence, sizeof sentence);
	struct wr s = wr_to(block + STATE_FROM, MARK_BYTES - STATE_FROM);
	wr_le64(&s, m->state_at);
	wr_le64(&s, m->state_bytes);
	struct wr crc = wr_to(block + CRC_FROM - 4, 4);
	wr_le32(&crc, (uint32_t)crc32(0, block + CRC_FROM, MARK_BYTES - CRC_FROM));
}

int
head_init(
    struct head *h, struct disk *d, uint64_t at, uint64_t area_bytes, struct err *e)
{
	*h = (struct head){
		.disk = d, .at = at, .on = disk_seekable(d) && area_bytes >= HEAD_BYTES
	};
	pthread_mutex_init(&h->lock, NULL);
	h->mark.started = (uint64_t)time(NULL);
	if (getrandom(h->mark.id, sizeof h->mark.id, 0) != sizeof h->mark.id)
		return err_os(e, "no random numbers");
	if (!h->on)
		return 0;
	if (disk_read_upto(d, h->bytes, HEAD_BYTES, at, e) < 0)
		return -1;
	h->was_marked = get_mark(&h->old, h->bytes);
	if (h->was_marked)
		memset(h->bytes, 0, HEAD_BYTES);
	return 0;
}

void
head_free(struct head *h)
{
	pthread_mutex_destroy(&h->lock);
}

/* Called with the lock. */
static int
write_mark(struct head *h, struct err *e)
{
	uint8_t block[HEAD_BYTES];

	put_mark(&h->mark, block);
	int rc = disk_write(h->disk, block, sizeof block, h->at, e);
	h->marked |= rc == 0;
	return rc;
}

int
head_put_mark(struct head *h, struct err *e)
{
	int rc = 0;

	if (!h->on)
		return 0;
	pthread_mutex_lock(&h->lock);
	/* The marker is flushed, because what is written behind it might otherwise reach
	 * the medium first. */
	if (!h->marked)
		rc = write_mark(h, e) == 0 ? disk_sync(h->disk, e) : -1;
	pthread_mutex_unlock(&h->lock);
	return rc;
}

int
head_place_state(struct head *h, uint64_t at, uint64_t bytes, struct err *e)
{
	pthread_mutex_lock(&h->lock);
	h->mark.state_at = at;
	h->mark.state_bytes = bytes;
	int rc = write_mark(h, e);
	pthread_mutex_unlock(&h->lock);
	return rc;
}

size_t
head_take(struct head *h, uint64_t at, const void *data, uint64_t bytes)
{
	if (!h->on || at >= HEAD_BYTES)
		return 0;
	size_t n = bytes < HEAD_BYTES - at ? (size_t)bytes : (size_t)(HEAD_BYTES - at);
	if (data != NULL)
		memcpy(h->bytes + at, data, n);
	else
		memset(h->bytes + at, 0, n);
	return n;
}

int
head_commit(struct head *h, struct err *e)
{
	return h->marked ? disk_write(h->disk, h->bytes, HEAD_BYTES, h->at, e) : 0;
}

int
head_mark_again(struct head *h, struct err *e)
{
	pthread_mutex_lock(&h->lock);
	int rc = write_mark(h, e) == 0 ? disk_sync(h->disk, e) : -1;
	pthread_mutex_unlock(&h->lock);
	return rc;
}

int
head_read_mark(struct disk *d, uint64_t at, struct mark *m, struct err *e)
{
	uint8_t block[MARK_BYTES] = { 0 };

	if (disk_read_upto(d, block, sizeof block, at, e) < 0)
		return -1;
	return get_mark(m, block);
}
