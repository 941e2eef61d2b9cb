/* report.c: prints a disk and its partitions, as text or as JSON.  main.c calls this
 * in the first thread. */
#include "stream/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/json.h"
#include "common/base/number.h"
#include "common/base/say.h"

static const char *const kinds[] = {
	[PTABLE_NONE] = "none", [PTABLE_MBR] = "mbr", [PTABLE_GPT] = "gpt"
};

static int
disk_json(struct export *x, const struct ptable *t, struct err *e)
{
	struct json *j = json_new();
	char type[64];

	json_object(j, NULL);
	json_string(j, "image", export_name(x));
	json_uint(j, "disk_bytes", export_bytes(x));
	json_uint(j, "stored_bytes", export_stored_bytes(x));
	json_uint(j, "lost_sectors", export_lost_sectors(x));
	json_string(j, "partition_table", kinds[t->kind]);
	json_array(j, "partitions");
	for (unsigned i = 0; i < t->nparts; i++) {
		const struct partition *p = &t->parts[i];
		json_object(j, NULL);
		json_uint(j, "number", p->number);
		json_uint(j, "first_sector", p->sectors.off);
		json_uint(j, "sectors", p->sectors.len);
		json_string(j, "type", ptable_type_name(t, p, type, sizeof type));
		json_string(j, "name", p->name);
		json_end(j);
	}
	json_end(j);
	json_end(j);
	return json_show(j, e);
}

int
report_disk(
    const struct opts *o, struct export *x, const struct ptable *t, struct err *e)
{
	char bytes[32], stored[32], type[64];

	if (o->json)
		return disk_json(x, t, e);
	say_text(stdout, "%s: %s, of which %s are stored%s\n", export_name(x),
	    human_bytes(export_bytes(x), bytes, sizeof bytes),
	    human_bytes(export_stored_bytes(x), stored, sizeof stored),
	    t->nparts == 0 ? "; no partitions" : "");
	for (unsigned i = 0; i < t->nparts; i++) {
		const struct partition *p = &t->parts[i];
		say_text(stdout, "  partition %u: sectors %" PRIu64 "-%" PRIu64 ", %s, %s%s%s\n",
		    p->number, p->sectors.off, range_end(p->sectors) - 1,
		    human_bytes(p->sectors.len * SECTOR_BYTES, bytes, sizeof bytes),
		    ptable_type_name(t, p, type, sizeof type),
		    p->name[0] != '\0' ? ", " : "", p->name);
	}
	return 0;
}

int
report_attached(const struct opts *o, const char *disk, const char *where, struct err *e)
{
	if (o->json) {
		struct json *j = json_new();
		json_object(j, NULL);
		json_string(j, "image", o->sources.places[0]);
		if (disk != NULL)
			json_string(j, "disk", disk);
		json_string(j, "attached_at", where);
		json_end(j);
		if (json_show(j, e) != 0)
			return -1;
		fflush(stdout); /* a program that reads the report waits for it */
	} else if (!o->quiet && disk == NULL) {
		say_text(stderr, "streamdisk: %s is at %s, read-only, until Ctrl-C\n",
		    o->sources.places[0], where);
	} else if (!o->quiet) {
		say_text(stderr, "streamdisk: %s, which becomes %s, is at %s, until Ctrl-C\n", disk,
		    o->sources.places[0], where);
	}
	return 0;
}

int
report_boot(
    const struct opts *o, const struct boot_made *m, const char *folder, struct err *e)
{
	char bytes[32];

	if (o->json) {
		struct json *j = json_new();
		json_object(j, NULL);
		json_string(j, "image", o->sources.places[0]);
		json_string(j, "kernel", m->version);
		if (m->partition != 0)
			json_uint(j, "root_partition", m->partition);
		json_uint(j, "modules", m->modules);
		json_uint(j, "ramdisk_bytes", m->ramdisk_bytes);
		json_end(j);
		return json_show(j, e);
	}
	if (!o->quiet)
		say_text(stderr, "streamdisk: kernel %s, a ramdisk with %zu modules, %s, in %s\n",
		    m->version, m->modules,
		    human_bytes(m->ramdisk_bytes, bytes, sizeof bytes), folder);
	return 0;
}

int
report_merged(const struct opts *o, const struct order *m, struct err *e)
{
	char bytes[32];

	if (o->json) {
		struct json *j = json_new();
		json_object(j, NULL);
		json_string(j, "order", o->stream.order);
		json_uint(j, "machines", m->machines);
		json_uint(j, "runs", m->n);
		json_uint(j, "bytes", m->sectors * SECTOR_BYTES);
		json_end(j);
		return json_show(j, e);
	}
	if (!o->quiet)
		say_text(stderr, "streamdisk: %s: what %" PRIu32 " machines read, %s\n",
		    o->stream.order, m->machines,
		    human_bytes(m->sectors * SECTOR_BYTES, bytes, sizeof bytes));
	return 0;
}

/* A process that sends nothing for this time is suspended, or is another program. */
enum { ANSWER_S = 10 };

/* Nothing can be received from the socket; errno says why. */
static void
fail_to_hear(const char *path, struct err *e)
{
	if (errno == EAGAIN)
		err_set(e, ERR_IO, "%s: nothing came for %d seconds", path, ANSWER_S);
	else
		err_os(e, "%s", path);
}

/* A stream of what the socket sends; NULL with an error. */
static FILE *
listen_to(const char *path, struct err *e)
{
	const struct timeval most = { .tv_sec = ANSWER_S };
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	size_t n = strlen(path);

	if (n >= sizeof a.sun_path) {
		err_set(e, ERR_USAGE, "%s: is too long for a socket", path);
		return NULL;
	}
	memcpy(a.sun_path, path, n);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most); /* to connect */
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
	}
	if (fd >= 0 && connect(fd, (const struct sockaddr *)&a, sizeof a) == 0)
		return fdopen(fd, "r");
	fail_to_hear(path, e);
	if (errno == ENOENT || errno == ECONNREFUSED)
		e->kind = ERR_ABSENT;
	if (fd >= 0)
		close(fd);
	return NULL;
}

int
report_streaming(const char *socket_path, struct err *e)
{
	FILE *f = listen_to(socket_path, e);
	char line[256];
	size_t lines = 0;
	int rc = 0;

	if (f == NULL)
		return -1;
	for (; fgets(line, sizeof line, f) != NULL; lines++) {
		line[strcspn(line, "\n")] = '\0';
		say_text(stdout, "%s\n", line);
	}
	if (ferror(f)) {
		fail_to_hear(socket_path, e);
		rc = -1;
	} else if (lines == 0) {
		rc = err_set(e, ERR_IO, "%s: no answer came", socket_path);
	}
	fclose(f);
	return rc;
}
