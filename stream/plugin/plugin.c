/* plugin.c: the nbdkit plugin ndz, which serves an image as a disk to NBD clients, or a disk of this
 * machine that becomes what the image holds (stream/disk); nbdkit-ndz-plugin(1).
 *
 * nbdkit calls these functions: those that configure and open in its first thread, one after
 * the other; those that read and write in any thread, several at a time.  All connections use one
 * export, or one disk. */
#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/number.h"
#include "common/image/format/opener.h"
#include "stream/export/export.h"
#include "stream/export/patience.h"
#include "stream/plugin/plugin_log.h"
#include "stream/plugin/streaming.h"
#include "stream/plugin/watch.h"
#include "stream/sources/place.h"
#include "stream/sources/sources.h"

#define THREAD_MODEL NBDKIT_THREAD_MODEL_PARALLEL

enum {
	/* A client that reads more of a fragment in one request has the fragment decoded only
	 * once. */
	PREFERRED_BYTES = 64 << 10,
	PREFERRED_DISK_BYTES = 4096, /* of a disk that is written, too */
	MOST_BYTES = 32 << 20,
	/* How long a source is asked again that answers with errors while it is opened: as long as
	 * a web server is asked again for what is missing later. */
	OPENING_US = 60 * 1000000,
};

static struct sources_config sources;
static struct opener_config keys;
static struct export_config config;
static struct export *export;
static struct cancel ending; /* ends all work that is done for nbdkit */

/* nbdkit sets this for -D ndz.tables=1, which tells when all fragment tables are here. */
extern int ndz_debug_tables;
int ndz_debug_tables;

static int
fail(const struct err *e)
{
	plugin_log_print(e->text);
	nbdkit_set_error(e->kind == ERR_NOMEM       ? ENOMEM
	                 : e->kind == ERR_CANCELLED ? ESHUTDOWN
	                 : e->kind == ERR_REFUSED   ? EPERM
	                                            : EIO);
	return -1;
}

/* Configuration. */

/* Keep an absolute path: nbdkit may leave the folder that it was started in. */
static int
set_path(const char **out, const char *value)
{
	char *path = nbdkit_absolute_path(value);

	if (path == NULL)
		return -1;
	*out = nbdkit_strdup_intern(path);
	free(path);
	return *out != NULL ? 0 : -1;
}

/* Add an image or a delta. */
static int
add_image(int (*add)(struct sources_config *, const char *, struct err *), const char *value)
{
	const char *own;
	struct place p;
	struct err e;

	if (place_parse(&p, value, &e) != 0)
		return fail(&e);
	if (p.kind != PLACE_FILE)
		own = nbdkit_strdup_intern(value);
	else if (set_path(&own, value) != 0)
		return -1;
	if (own == NULL)
		return -1;
	return add(&sources, own, &e) == 0 ? 0 : fail(&e);
}

static int
set_store(const char *value)
{
	if (strncmp(value, "s3://", 5) != 0)
		return set_path(&sources.store, value);
	sources.store = nbdkit_strdup_intern(value);
	return sources.store != NULL ? 0 : -1;
}

static int
set_size(uint64_t *out, const char *key, const char *value, uint64_t min)
{
	struct err e;

	if (number_size(value, min, INT64_MAX, out, &e) == 0)
		return 0;
	err_ctx(&e, "%s", key);
	return fail(&e);
}

static int
ndz_config(const char *key, const char *value)
{
	if (strcmp(key, "image") == 0)
		return add_image(sources_add, value);
	if (strcmp(key, "delta") == 0)
		return add_image(sources_add_delta, value);
	if (strcmp(key, "store") == 0)
		return set_store(value);
	if (strcmp(key, "work") == 0)
		return set_path(&sources.work, value);
	if (strcmp(key, "group-key") == 0)
		return set_path(&sources.group_key, value);
	if (strcmp(key, "verify-key") == 0)
		return set_path(&keys.verify_key, value);
	if (strcmp(key, "decrypt") == 0)
		return set_path(&keys.decrypt, value);
	if (strcmp(key, "size") == 0)
		return set_size(&config.size_bytes, key, value, 1);
	if (strcmp(key, "cache") == 0)
		return set_size(&config.cache_bytes, key, value, EXPORT_CACHE_BYTES_MIN);
	int rc = streaming_config(key, value);
	if (rc == 0)
		nbdkit_error("unknown parameter \"%s\"; those of this plugin are image, delta, "
			     "store, work, group-key, verify-key, decrypt, size and cache; and disk, table, "
			     "table-memory, marks, status, fill, rate, when-idle, timeout, anew, fit, zero, "
			     "discard, order and record",
		    key);
	return rc == 1 ? 0 : -1;
}

static int
ndz_config_complete(void)
{
	struct err e;

	if (sources_check(&sources, &e) != 0)
		return fail(&e);
	if (streaming_wanted() && sources_check_apart(&sources, streaming_disk(), &e) != 0)
		return fail(&e);
	return streaming_check();
}

/* Opening. */

/* Called while sources are opened, and by threads that read. */
static void
warn(const char *sentence)
{
	char text[600];

	snprintf(text, sizeof text, "warning: %s", sentence);
	plugin_log_print(text);
}

/* Check whether the sources are there, and read nothing more. */
static int
look_at_sources(void)
{
	struct err e;

	return sources_look(&sources, warn, &e) == 0 ? 0 : fail(&e);
}

/* Open the sources.  An error of one that may pass ends a disk that streams as little as later ones
 * do: its machine may be starting from it. */
static int
open_sources(struct patience *patience, struct err *e)
{
	sources.holes_are_contents = streaming_wanted();
	int rc = sources_open(&export, &sources, &config, warn, e);

	while (rc != 0 && streaming_wanted() && patience_again(patience, e))
		rc = sources_open(&export, &sources, &config, warn, e);
	return rc;
}

static int
open_streaming(struct patience *patience, struct err *e)
{
	export_be_patient(export, patience);
	int rc = streaming_open(export, sources.places[0], e);
	export_be_patient(export, NULL);
	return rc;
}

static int
open_export(void)
{
	struct patience patience = { .most_us = OPENING_US, .tell = plugin_log_print };
	struct err e;

	cancel_work_for(&ending);
	config.warn = warn;
	if (opener_new(&config.opener, &keys, &e) != 0 || open_sources(&patience, &e) != 0)
		return fail(&e);
	if (export_lost_sectors(export) > 0)
		nbdkit_error("warning: %s: %" PRIu64 " sectors could not be read when the "
			     "image was made, and read as zeros",
		    export_name(export), export_lost_sectors(export));
	if (!streaming_wanted())
		return 0;
	return open_streaming(&patience, &e) == 0 ? 0 : fail(&e);
}

static void
tell_learnt(const char *name, uint64_t chunks, uint64_t took_us)
{
	char text[600];

	if (ndz_debug_tables == 0)
		return;
	snprintf(text, sizeof text, "%s: the fragment tables of %" PRIu64 " chunks came in %.3f s",
	    name, chunks, (double)took_us / 1e6);
	plugin_log_print(text);
}

/* Called when threads can be started. */
static int
learn(void)
{
	struct err e;

	cancel_work_for(&ending);
	return export_learn(export, tell_learnt, &e) == 0 ? 0 : fail(&e);
}

/* Sources that need threads are opened after the fork, since threads do not survive that nbdkit
 * goes into the background. */
static int
ndz_get_ready(void)
{
	return sources_have_threads(&sources) ? look_at_sources() : open_export();
}

static int
start_streaming(void)
{
	struct err e;

	cancel_work_for(&ending);
	return streaming_start(&e) == 0 ? 0 : fail(&e);
}

static int
ndz_after_fork(void)
{
	int rc = 0;

	if (streaming_wanted()) {
		streaming_be_io_flusher();
		streaming_keep_memory();
		streaming_limit_stacks();
	}
	if (watch_start(&ending) != 0) {
		nbdkit_error("no thread can be started");
		return -1;
	}
	watch_begin(); /* opening may take as long as reading */
	if (export == NULL)
		rc = open_export();
	if (rc == 0)
		rc = learn();
	watch_end();
	return rc == 0 && streaming_wanted() ? start_streaming() : rc;
}

/* Called when no request runs any more. */
static void
ndz_cleanup(void)
{
	watch_stop();
	streaming_stop();
}

/* nbdkit would end with status 0 now, also when the disk has lost what was written to it. */
static void
ndz_unload(void)
{
	streaming_stop();
	export_close(export);
	opener_free(config.opener);
	if (streaming_has_failed())
		_exit(EXIT_FAILURE);
}

/* Connections. */

/* The export of this name is the image of a disk that streams, for other machines. */
#define IMAGE_EXPORT "image"

/* The handle of a connection to it. */
static char image_export;

static void *
ndz_open(int readonly)
{
	const char *name = nbdkit_export_name();

	(void)readonly;
	return streaming_wanted() && name != NULL && strcmp(name, IMAGE_EXPORT) == 0
	           ? (void *)&image_export
	           : NBDKIT_HANDLE_NOT_NEEDED;
}

static int
ndz_list_exports(int readonly, int is_tls, struct nbdkit_exports *exports)
{
	(void)readonly, (void)is_tls;
	if (nbdkit_add_export(exports, "", NULL) != 0)
		return -1;
	return streaming_wanted()
	           ? nbdkit_add_export(exports, IMAGE_EXPORT, "what other machines may read")
	           : 0;
}

/* Does this connection use a disk that streams? */
static int
is_streaming(void *handle)
{
	return streaming_wanted() && handle != &image_export;
}

static int64_t
ndz_get_size(void *handle)
{
	struct streamed *d = is_streaming(handle) ? streaming_device() : NULL;

	return (int64_t)(d != NULL ? streamed_bytes(d) : export_bytes(export));
}

static const char *
ndz_export_description(void *handle)
{
	(void)handle;
	return export_name(export);
}

static int
ndz_block_size(
    void *handle, uint32_t *minimum, uint32_t *preferred, uint32_t *maximum)
{
	*minimum = 1;
	*preferred = is_streaming(handle) ? PREFERRED_DISK_BYTES : PREFERRED_BYTES;
	*maximum = MOST_BYTES;
	return 0;
}

static int
yes(void *handle)
{
	(void)handle;
	return 1;
}

/* A disk has data everywhere. */
static int
ndz_can_extents(void *handle)
{
	return !is_streaming(handle);
}

static int
ndz_can_fua(void *handle)
{
	return is_streaming(handle) ? NBDKIT_FUA_NATIVE : NBDKIT_FUA_NONE;
}

/* A client's request to cache is done as a read: what was decoded stays in memory. */
static int
ndz_can_cache(void *handle)
{
	(void)handle;
	return NBDKIT_CACHE_EMULATE;
}

/* Each request is between these two. */
static void
begin_request(void)
{
	cancel_work_for(&ending);
	watch_begin();
}

static int
end_request(int rc, const struct err *e)
{
	watch_end();
	return rc == 0 ? 0 : fail(e);
}

static int
ndz_pread(void *handle, void *buf, uint32_t count, uint64_t offset, uint32_t flags)
{
	struct streamed *d = streaming_device();
	struct err e;

	(void)flags;
	begin_request();
	int rc = d == NULL              ? export_read(export, buf, count, offset, &e)
	         : is_streaming(handle) ? streamed_read(d, buf, count, offset, &e)
	                                : streamed_read_image(d, buf, count, offset, &e);
	return end_request(rc, &e);
}

/* With the flag FUA, a request that changes something ends with a flush. */
static int
flush_if(uint32_t flags, int rc, struct err *e)
{
	if (rc != 0 || (flags & NBDKIT_FLAG_FUA) == 0)
		return rc;
	return streamed_flush(streaming_device(), e);
}

static int
ndz_pwrite(
    void *handle, const void *buf, uint32_t count, uint64_t offset, uint32_t flags)
{
	struct err e;

	(void)handle;
	begin_request();
	int rc = streamed_write(streaming_device(), buf, count, offset, &e);
	return end_request(flush_if(flags, rc, &e), &e);
}

static int
ndz_zero(void *handle, uint32_t count, uint64_t offset, uint32_t flags)
{
	struct err e;

	(void)handle;
	begin_request();
	int rc = streamed_zero(streaming_device(), count, offset, &e);
	return end_request(flush_if(flags, rc, &e), &e);
}

static int
ndz_trim(void *handle, uint32_t count, uint64_t offset, uint32_t flags)
{
	struct err e;

	(void)handle;
	begin_request();
	int rc = streamed_trim(streaming_device(), count, offset, &e);
	return end_request(flush_if(flags, rc, &e), &e);
}

static int
ndz_flush(void *handle, uint32_t flags)
{
	struct err e;

	(void)handle, (void)flags;
	begin_request();
	return end_request(streamed_flush(streaming_device(), &e), &e);
}

static int
ndz_extents(void *handle, uint32_t count, uint64_t offset, uint32_t flags,
    struct nbdkit_extents *extents)
{
	uint64_t at = offset, end = offset + count, to;
	bool stored;

	(void)handle;
	for (; at < end; at = to) {
		to = export_run(export, at, &stored);
		uint32_t type = stored ? 0 : NBDKIT_EXTENT_HOLE | NBDKIT_EXTENT_ZERO;
		if (nbdkit_add_extent(extents, at, to - at, type) != 0)
			return -1;
		if (flags & NBDKIT_FLAG_REQ_ONE)
			break;
	}
	return 0;
}

static void
ndz_dump_plugin(void)
{
	printf("ndz_version=%s\n", SUITE_VERSION);
	printf("ndz_sources=file,store,http,https,nbd,frisbee\n");
	printf("ndz_cache_default=%d\n", EXPORT_CACHE_BYTES);
	printf("ndz_images_max=%d\n", SOURCES_MAX);
	printf("ndz_deltas_max=%d\n", SOURCES_DELTAS_MAX);
}

static struct nbdkit_plugin plugin = {
	.name = "ndz",
	.longname = "disk images of imagezip",
	.version = SUITE_VERSION,
	.description = "An image that imagezip made, as the disk that it was made of.",
	.magic_config_key = "image",
	.config = ndz_config,
	.config_complete = ndz_config_complete,
	.config_help =
	    "image=SOURCE      (required) FILE, store:NAME, http(s)://, nbd:// or frisbee://;\n"
	    "                  repeatable: other sources of the image, if one fails\n"
	    "delta=SOURCE      a delta of the image or, if repeated, of the delta before it\n"
	    "store=DIR|s3://.. the store of store:NAME\n"
	    "work=DIR          for what frisbee://ADDRESS:PORT sends (TMPDIR or /var/tmp)\n"
	    "group-key=FILE    the key of a session: no packet without it is taken\n"
	    "verify-key=PUB    only an image signed with this key's other half\n"
	    "decrypt=KEYFILE   only an image encrypted with this key\n"
	    "size=N            of the disk, where the image does not say it\n"
	    "cache=N           memory for decoded data (64M)\n"
	    "disk=DISK         becomes what the image holds, and is served meanwhile\n"
	    "table=FILE        for the sector table, or memory; else it is on the disk\n"
	    "table-memory=N    for the part of the table that is in memory (64M)\n"
	    "marks=FILE        on tmpfs: what is not in the table yet, for who goes on when\n"
	    "                  nbdkit is killed; empty at the beginning\n"
	    "status=SOCKET     where the disk's status can be asked for, as JSON\n"
	    "fill=no           fetch only what is read\n"
	    "rate=N            fetch in the background at N bits a second at most\n"
	    "when-idle=MS      and only after MS milliseconds without a request (20)\n"
	    "timeout=MS        let reads fail when the source is silent for MS (0: never)\n"
	    "anew=yes          begin anew, whatever is on the disk\n"
	    "fit=yes           let partitions be as large as the disk, at the beginning\n"
	    "zero=yes          clear what the image does not store, at the beginning\n"
	    "discard=yes       discard what the image does not store, at the beginning\n"
	    "order=FILE        what is fetched before the rest: a file, http(s)://... or none;\n"
	    "                  else SOURCE.order, where there is one\n"
	    "record=FILE       write a record of what is read first, and when",
	.get_ready = ndz_get_ready,
	.after_fork = ndz_after_fork,
	.cleanup = ndz_cleanup,
	.unload = ndz_unload,
	.dump_plugin = ndz_dump_plugin,
	.list_exports = ndz_list_exports,
	.open = ndz_open,
	.get_size = ndz_get_size,
	.export_description = ndz_export_description,
	.block_size = ndz_block_size,
	.can_multi_conn = yes,
	.can_write = is_streaming,
	.can_flush = is_streaming,
	.can_trim = is_streaming,
	.can_zero = is_streaming,
	.can_fua = ndz_can_fua,
	.can_extents = ndz_can_extents,
	.can_cache = ndz_can_cache,
	.pread = ndz_pread,
	.pwrite = ndz_pwrite,
	.zero = ndz_zero,
	.trim = ndz_trim,
	.flush = ndz_flush,
	.extents = ndz_extents,
};

/* nbdkit calls this function, which the macro defines. */
struct nbdkit_plugin *plugin_init(void);
NBDKIT_REGISTER_PLUGIN(plugin)
