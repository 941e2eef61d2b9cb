/* streaming.c: the plugin's parameters of a streaming disk.  plugin.c calls this, in nbdkit's first
 * thread. */
#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "common/base/number.h"
#include "stream/plugin/plugin_log.h"
#include "stream/plugin/status.h"
#include "stream/plugin/streaming.h"
#include "stream/record/order_find.h"
#include "stream/sources/place.h"
#include "stream/table/table.h"

enum { MS_MAX = 24 * 3600 * 1000 };

static void
tell(void *arg, const char *sentence)
{
	(void)arg;
	plugin_log_print(sentence);
}

static struct streamed_config config = { .idle_ms = STREAMED_IDLE_MS, .tell = tell };
static struct streamed *device;
static const char *status_path; /* NULL: no socket for the status */
static const char *order_place; /* NULL: beside the image; "none": no order is used */
static struct order order; /* the order that was read */
static const char *first_key; /* the first parameter that was given; NULL: none */
static bool failed; /* the last flush has */

static int
set_path(const char **out, const char *value)
{
	char *path = nbdkit_absolute_path(value);

	*out = path != NULL ? nbdkit_strdup_intern(path) : NULL;
	free(path);
	return *out != NULL ? 1 : -1;
}

static int
set_table(const char *value)
{
	if (strcmp(value, "memory") != 0)
		return set_path(&config.table, value);
	config.table = "memory";
	return 1;
}

static int
set_bool(bool *out, const char *value, bool when)
{
	int yes = nbdkit_parse_bool(value);

	if (yes < 0)
		return -1;
	*out = (yes == 1) == when;
	return 1;
}

static int
said_wrong(struct err *e, const char *key)
{
	err_ctx(e, "%s", key);
	nbdkit_error("%s", e->text);
	return -1;
}

static int
set_ms(uint64_t *out, const char *key, const char *value)
{
	struct err e;

	return number_uint(value, 0, MS_MAX, out, &e) == 0 ? 1 : said_wrong(&e, key);
}

static int
set_size(uint64_t *out, const char *key, const char *value, uint64_t min)
{
	struct err e;

	return number_size(value, min, INT64_MAX, out, &e) == 0 ? 1 : said_wrong(&e, key);
}

/* A rate is given in bits a second. */
static int
set_rate(const char *key, const char *value)
{
	uint64_t bits;
	struct err e;

	if (number_rate(value, 8, INT64_MAX, &bits, &e) != 0)
		return said_wrong(&e, key);
	config.fill_rate = bits / 8;
	return 1;
}

/* A file, none, or a URL. */
static int
set_order(const char *value)
{
	struct place p;
	struct err e;

	if (strcmp(value, "none") != 0 && place_parse(&p, value, &e) != 0)
		return said_wrong(&e, "order");
	if (strcmp(value, "none") != 0 && p.kind == PLACE_FILE)
		return set_path(&order_place, value);
	order_place = nbdkit_strdup_intern(value);
	return order_place != NULL ? 1 : -1;
}

static int
set(const char *key, const char *value)
{
	if (strcmp(key, "disk") == 0)
		return set_path(&config.disk, value);
	if (strcmp(key, "table") == 0)
		return set_table(value);
	if (strcmp(key, "marks") == 0)
		return set_path(&config.marks, value);
	if (strcmp(key, "status") == 0)
		return set_path(&status_path, value);
	if (strcmp(key, "table-memory") == 0)
		return set_size(
		    &config.table_memory_bytes, key, value, TABLE_MEMORY_BYTES_MIN);
	if (strcmp(key, "fill") == 0)
		return set_bool(&config.no_fill, value, false);
	if (strcmp(key, "rate") == 0)
		return set_rate(key, value);
	if (strcmp(key, "when-idle") == 0)
		return set_ms(&config.idle_ms, key, value);
	if (strcmp(key, "timeout") == 0)
		return set_ms(&config.timeout_ms, key, value);
	if (strcmp(key, "order") == 0)
		return set_order(value);
	if (strcmp(key, "record") == 0)
		return set_path(&config.record, value);
	if (strcmp(key, "anew") == 0)
		return set_bool(&config.anew, value, true);
	if (strcmp(key, "fit") == 0)
		return set_bool(&config.fit, value, true);
	if (strcmp(key, "zero") == 0)
		return set_bool(&config.zero, value, true);
	if (strcmp(key, "discard") == 0)
		return set_bool(&config.discard, value, true);
	return 0;
}

int
streaming_config(const char *key, const char *value)
{
	int rc = set(key, value);

	if (rc == 1 && first_key == NULL)
		first_key = nbdkit_strdup_intern(key);
	return rc;
}

int
streaming_check(void)
{
	struct err e;

	if (config.disk != NULL && status_path != NULL && status_check(status_path, &e) != 0)
		return said_wrong(&e, "status");
	if (first_key == NULL || config.disk != NULL)
		return 0;
	nbdkit_error("%s is for a disk that is streamed to, which disk=DISK names", first_key);
	return -1;
}

bool
streaming_wanted(void)
{
	return config.disk != NULL;
}

const char *
streaming_disk(void)
{
	return config.disk;
}

/* The kernel waits for this process when it writes dirty pages to the disk, so this process must
 * not wait for the same pages when it needs memory.  Only a privileged process can say so, and
 * others can do no harm. */
void
streaming_be_io_flusher(void)
{
	prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0);
}

/* nbdkit's --swap locks the stacks of its threads in full length, so 16 threads of the usual 8 MiB
 * would take 128 MiB of the machine's memory.  What runs here needs a small part of this. */
enum { STACK_BYTES = 1 << 20 };

void
streaming_limit_stacks(void)
{
	pthread_attr_t a;

	if (pthread_attr_init(&a) != 0)
		return;
	if (pthread_attr_setstacksize(&a, STACK_BYTES) == 0)
		pthread_setattr_default_np(&a);
	pthread_attr_destroy(&a);
}

/* What requests need at a time, beside the cache: the data that waits to be written, and a buffer
 * for each of 16 requests. */
enum { REQUESTS_BYTES = (32 + 16) << 20 };

void
streaming_keep_memory(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TRIM_THRESHOLD, -1);
	void *p = calloc(1, REQUESTS_BYTES);
	if (p != NULL)
		explicit_bzero(p, REQUESTS_BYTES);
	free(p);
}

/* Read the order beside the image, if there is one.  Without it the disk is filled all the same, so no
 * failure counts. */
static void
look_beside(const char *image)
{
	char text[600];
	struct err e;

	if (order_beside(&order, image, &e) == 0 || e.kind == ERR_ABSENT)
		return;
	snprintf(text, sizeof text, "warning: %s; the disk is filled without an order of reads",
	    e.text);
	plugin_log_print(text);
}

/* Use the order, if it is of this image. */
static void
use_order(const struct export *source)
{
	char text[200];

	if (order.n > 0 && order.disk_sectors == export_sectors(source)) {
		config.order = &order;
		snprintf(text, sizeof text,
		    "%" PRIu64 " kB are fetched first, as an order of %" PRIu32
		    " machines' reads says", order.sectors * SECTOR_BYTES / 1000, order.machines);
		plugin_log_print(text);
	} else if (order.n > 0) {
		plugin_log_print(
		    "warning: the order of reads is of a disk of another size, and is not used");
	}
}

static int
find_order(const struct export *source, const char *image, struct err *e)
{
	if (config.no_fill)
		return 0;
	if (order_place == NULL)
		look_beside(image);
	else if (strcmp(order_place, "none") != 0 && order_at(&order, order_place, e) != 0)
		return -1;
	use_order(source);
	return 0;
}

int
streaming_open(struct export *source, const char *image, struct err *e)
{
	if (find_order(source, image, e) != 0)
		return -1;
	return streamed_open(&device, source, &config, e);
}

int
streaming_start(struct err *e)
{
	if (plugin_log_start() != 0)
		return err_set(e, ERR_IO, "no thread can be started");
	if (streamed_start(device, e) != 0)
		return -1;
	return status_path != NULL ? status_start(status_path, device, e) : 0;
}

struct streamed *
streaming_device(void)
{
	return device;
}

static void
close_device(void)
{
	struct err e;

	if (device != NULL && streamed_close(device, &e) != 0) {
		plugin_log_print(e.text);
		failed = true;
	}
	device = NULL;
}

void
streaming_stop(void)
{
	status_stop();
	close_device();
	order_free(&order);
	plugin_log_stop();
}

bool
streaming_has_failed(void)
{
	return failed;
}
