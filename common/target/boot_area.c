/* boot_area.c: holds back the boot area, and keeps the incomplete marker in its place.
 * target.c calls this in the threads that write and that end the installation, resume.c
 * when it places the state, and
 * stream/disk/streamed_open.c for a disk that streams; a lock guards the struct.
 */
#include "common/target/boot_area.h"

#include <string.h>
#include <time.h>

#include "common/base/random_bytes.h"

int
boot_area_init(struct boot_area *h, struct disk *d, uint64_t at, uint64_t area_bytes,
    struct err *e)
{
	*h = (struct boot_area){ .disk = d,
		.at = at,
		.on = disk_seekable(d) && area_bytes >= BOOT_AREA_BYTES };
	pthread_mutex_init(&h->lock, NULL);
	h->marker.started = (uint64_t)time(NULL);
	random_bytes(h->marker.id, sizeof h->marker.id);
	if (!h->on)
		return 0;
	if (disk_read_upto(d, h->bytes, BOOT_AREA_BYTES, at, e) < 0)
		return -1;
	h->was_marked = marker_get(&h->old, h->bytes);
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
	uint8_t block[BOOT_AREA_BYTES] = { 0 };

	marker_put(&h->marker, block);
	h->touched = true;
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
boot_area_is_marked(struct boot_area *h, bool *stands, struct err *e)
{
	_Alignas(BOOT_AREA_BYTES) uint8_t is[BOOT_AREA_BYTES];
	uint8_t wanted[BOOT_AREA_BYTES] = { 0 };

	*stands = true;
	if (!h->marked)
		return 0;
	if (disk_read_back(h->disk, is, sizeof is, h->at, e) != 0)
		return -1;
	marker_put(&h->marker, wanted);
	*stands = memcmp(is, wanted, sizeof is) == 0;
	return 0;
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
