/* What strangers send to the controller: a call that starts a session, a report of a node, frisbeed's
 * statistics, the file of nodes, a path.  The first byte says which; what is taken is written again
 * and read to the same meaning. */
#include <stdlib.h>
#include <string.h>

#include "controller/http/route.h"
#include "controller/http/wish.h"
#include "controller/nodes/table.h"
#include "mfrisbeed/master/session_stats.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
try_wish(const char *text, size_t n)
{
	static struct swap_wish w, again;
	struct err e;
	char *out = NULL;
	size_t bytes;

	if (wish_read(text, n, &w, &e) != 0)
		return;
	struct json *j = json_new();
	FILE *f = open_memstream(&out, &bytes);
	if (j == NULL || f == NULL)
		abort();
	wish_write(j, &w);
	if (json_show_on(j, f, &e) != 0 || fclose(f) != 0)
		abort();
	/* A text may grow beyond what is taken, by what is escaped. */
	if (bytes <= WISH_BYTES_MAX && (wish_read(out, bytes, &again, &e) != 0 || memcmp(&w, &again, sizeof w) != 0))
		abort();
	free(out);
	struct swap x;
	uint32_t id;
	bool same;
	swap_init(&x, &(struct swap_config){ .salt = "a", .patience_s = 1, .patience_boot_s = 1 });
	swap_add_node(&x, "a", (uint8_t[]){ 2, 0, 0, 0, 0, 1 }, "", &e);
	(void)swap_start(&x, (struct swap_now){ 1, 1 }, &w, &id, &same, &e);
	swap_free(&x);
}

static void
try_report(const char *text, size_t n)
{
	struct swap_report r, again;
	struct err e;
	char line[1024];

	if (swap_report_read(text, n, &r, &e) != 0)
		return;
	size_t bytes = swap_report_write(&r, line, sizeof line);
	if (bytes == 0 || swap_report_read(line, bytes, &again, &e) != 0 || memcmp(&r, &again, sizeof r) != 0)
		abort();
}

static void
client(void *arg, const struct session_stats_client *c)
{
	(void)arg;
	if (!(c->progress >= 0 && c->progress <= 1) || !(c->share_lost >= 0 && c->share_lost <= 1))
		abort();
}

static void
try_table(const char *text, size_t n)
{
	struct swap w;
	struct err e;

	swap_init(&w, &(struct swap_config){ .salt = "a" });
	(void)table_parse(&w, text, n, "nodes", &e);
	swap_free(&w);
}

static void
try_path(const char *text, size_t n)
{
	char path[600];
	struct route r;

	if (n >= sizeof path)
		return;
	memcpy(path, text, n);
	path[n] = '\0';
	route_find("GET", path, &r);
	if (r.call == ROUTE_START || r.call == ROUTE_STOP || strchr(r.name, '/') != NULL)
		abort();
	route_find("POST", path, &r);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct session_stats s;
	struct err e;

	if (len == 0)
		return 0;
	const char *text = (const char *)data + 1;
	switch (data[0] % 5) {
	case 0:
		try_wish(text, len - 1);
		break;
	case 1:
		try_report(text, len - 1);
		break;
	case 2:
		(void)session_stats_parse(text, len - 1, &s, client, &s, &e);
		break;
	case 3:
		try_table(text, len - 1);
		break;
	default:
		try_path(text, len - 1);
	}
	return 0;
}
