/* network_parse.c: parses the text of a network description into a struct network.  A line is a
 * statement, and the table statements[] has a function for each kind.  plan.c and
 * topology.c call it, in the program's first thread. */
#include <stdlib.h>
#include <string.h>

#include "common/base/grow.h"
#include "common/base/hostlist.h"
#include "common/base/number.h"
#include "common/base/statements.h"
#include "dolly/plan/network.h"

enum { PIECE_BYTES = 1 << 20, CORES_MAX = 65536 };

static const struct {
	const char *name;
	size_t off;
} machine_rates[] = {
	{ "switching", offsetof(struct network_machine, switching) },
	{ "disk", offsetof(struct network_machine, disk) },
	{ "iobus", offsetof(struct network_machine, iobus) },
	{ "memory", offsetof(struct network_machine, memory) },
	{ "scsi", offsetof(struct network_machine, scsi) },
	{ "tcp", offsetof(struct network_machine, tcp) },
	{ "copy", offsetof(struct network_machine, copy) },
	{ "decompress", offsetof(struct network_machine, decompress) },
	{ "digest", offsetof(struct network_machine, digest) },
	{ "multicast", offsetof(struct network_machine, multicast) },
};

int
network_rate(const char *text, double *rate, struct err *e)
{
	static const struct {
		const char *name;
		double bytes;
	} units[] = { { "B", 1 }, { "kB", 1e3 }, { "MB", 1e6 }, { "GB", 1e9 },
		{ "bit", 0.125 }, { "kbit", 125 }, { "Mbit", 125e3 }, { "Gbit", 125e6 } };
	char *end;
	double x = strtod(text, &end);
	size_t unit_len = strcspn(end, "/");

	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
		if (end != text && x > 0 && x < 1e15 && strlen(units[i].name) == unit_len &&
		    memcmp(end, units[i].name, unit_len) == 0 &&
		    (end[unit_len] == '\0' || strcmp(end + unit_len, "/s") == 0)) {
			*rate = x * units[i].bytes;
			return 0;
		}
	return err_set(e, ERR_USAGE,
	    "\"%.40s\" is not a rate such as 12.5MB, 4GB or 100Mbit", text);
}

static int
take_name(char out[NETWORK_NAME_BYTES], const char *word, struct err *e)
{
	if (strlen(word) >= NETWORK_NAME_BYTES)
		return err_set(e, ERR_USAGE, "%.40s: the name is too long", word);
	strcpy(out, word);
	return 0;
}

static int
machine_cores(struct network_machine *m, const char *text, struct err *e)
{
	uint64_t n;

	if (number_uint(text, 1, CORES_MAX, &n, e) != 0)
		return err_ctx(e, "cores");
	m->cores = (double)n;
	return 0;
}

static int
machine_value(struct network_machine *m, const struct statement *l, size_t i, struct err *e)
{
	const char *cores = statement_value(l->words[i], "cores");

	if (cores != NULL)
		return machine_cores(m, cores, e);
	for (size_t k = 0; k < sizeof machine_rates / sizeof machine_rates[0]; k++) {
		const char *v = statement_value(l->words[i], machine_rates[k].name);
		if (v != NULL)
			return network_rate(
			    v, (double *)((char *)m + machine_rates[k].off), e);
	}
	return statement_unknown(l, i, e);
}

static int
add_machine(void *arg, const struct statement *l, struct err *e)
{
	struct network *n = arg;
	struct network_machine m = { 0 };

	if (take_name(m.name, l->words[1], e) != 0)
		return -1;
	for (size_t i = 2; i < l->n; i++)
		if (machine_value(&m, l, i, e) != 0)
			return -1;
	if (grow_array(&n->machines, &n->machine_cap, n->nmachines, sizeof m, "kinds of machines",
		e) != 0)
		return -1;
	n->machines[n->nmachines++] = m;
	return 0;
}

static int
add_point(struct network *n, const char *name, const struct network_point *like,
    struct err *e)
{
	ENTRY entry = { .data = (void *)(uintptr_t)n->npoints }, *stored;

	if (strlen(name) >= NETWORK_NAME_BYTES)
		return err_set(e, ERR_USAGE, "%.40s: the name is too long", name);
	if (network_find(n, name) != NETWORK_NONE)
		return err_set(e, ERR_USAGE, "%s is described twice", name);
	if (n->npoints == NETWORK_POINTS_MAX)
		return err_set(e, ERR_USAGE, "more than %d hosts and switches",
		    NETWORK_POINTS_MAX);
	if (n->by_name.table == NULL &&
	    hcreate_r(NETWORK_POINTS_MAX * 5 / 4, &n->by_name) == 0)
		return err_nomem(e, "a network");
	if (grow_array(&n->points, &n->point_cap, n->npoints, sizeof *n->points, "a network",
		e) != 0)
		return -1;
	n->points[n->npoints] = *like;
	entry.key = n->points[n->npoints].name = strdup(name);
	if (entry.key == NULL)
		return err_nomem(e, "a network");
	n->npoints++;
	return hsearch_r(entry, ENTER, &stored, &n->by_name) != 0
	    ? 0
	    : err_nomem(e, "a network");
}

static int
add_points(struct network *n, const char *names, const struct network_point *like,
    struct err *e)
{
	struct hostlist list = { 0 };
	int rc = hostlist_add(&list, names, e);

	for (size_t i = 0; rc == 0 && i < list.n; i++)
		rc = add_point(n, list.names[i], like, e);
	hostlist_free(&list);
	return rc;
}

static int
add_switch(void *arg, const struct statement *l, struct err *e)
{
	struct network *n = arg;
	struct network_point p = { .machine = NETWORK_NONE, .parent = NETWORK_NONE };

	for (size_t i = 2; i < l->n; i++) {
		const char *v = statement_value(l->words[i], "capacity");
		if (v == NULL)
			return statement_unknown(l, i, e);
		if (network_rate(v, &p.capacity, e) != 0)
			return -1;
	}
	return add_points(n, l->words[1], &p, e);
}

static int
find_machine(const struct network *n, const char *name, uint32_t *found, struct err *e)
{
	for (size_t i = 0; i < n->nmachines; i++)
		if (strcmp(n->machines[i].name, name) == 0) {
			*found = (uint32_t)i;
			return 0;
		}
	return err_set(e, ERR_USAGE, "machine %.40s is not described above", name);
}

static int
add_host(void *arg, const struct statement *l, struct err *e)
{
	struct network *n = arg;
	struct network_point p = {
		.host = true, .machine = NETWORK_NONE, .parent = NETWORK_NONE
	};

	for (size_t i = 2; i < l->n; i++) {
		const char *v = statement_value(l->words[i], "machine");
		if (v == NULL)
			return statement_unknown(l, i, e);
		if (find_machine(n, v, &p.machine, e) != 0)
			return -1;
	}
	return add_points(n, l->words[1], &p, e);
}

static int
find_point(const struct network *n, const char *name, uint32_t *found, struct err *e)
{
	*found = network_find(n, name);
	return *found != NETWORK_NONE
	    ? 0
	    : err_set(e, ERR_USAGE, "%.40s is not described above", name);
}

static int
find_host(const struct network *n, const char *name, uint32_t *found, struct err *e)
{
	if (find_point(n, name, found, e) != 0)
		return -1;
	return n->points[*found].host ? 0
	                              : err_set(e, ERR_USAGE, "%s is a switch", name);
}

static int
link_setting(struct network_link *x, const struct statement *l, size_t i, struct err *e)
{
	const char *rate = statement_value(l->words[i], "rate");
	const char *duplex = statement_value(l->words[i], "duplex");

	if (rate != NULL)
		return network_rate(rate, &x->rate, e);
	if (duplex == NULL)
		return statement_unknown(l, i, e);
	x->half = strcmp(duplex, "half") == 0;
	return x->half || strcmp(duplex, "full") == 0
	           ? 0
	           : err_set(e, ERR_USAGE, "duplex must be half or full");
}

/* Links each of the first operand's points with the point of the second operand. */
static int
add_link(void *arg, const struct statement *l, struct err *e)
{
	struct network *n = arg;
	struct network_link x = { 0 };
	struct hostlist list = { 0 };

	if (find_point(n, l->words[2], &x.b, e) != 0)
		return -1;
	for (size_t i = 3; i < l->n; i++)
		if (link_setting(&x, l, i, e) != 0)
			return -1;
	int rc = hostlist_add(&list, l->words[1], e);
	for (size_t i = 0; rc == 0 && i < list.n; i++) {
		rc = find_point(n, list.names[i], &x.a, e);
		if (rc == 0 && x.a == x.b)
			rc = err_set(e, ERR_USAGE, "%s is linked with itself",
			    list.names[i]);
		if (rc == 0)
			rc = grow_array(
			    &n->links, &n->link_cap, n->nlinks, sizeof x, "links", e);
		if (rc == 0)
			n->links[n->nlinks++] = x;
	}
	hostlist_free(&list);
	return rc;
}

static int
set_server(void *arg, const struct statement *l, struct err *e)
{
	struct network *n = arg;
	if (find_host(n, l->words[1], &n->server, e) != 0)
		return -1;
	n->server_receives = l->n == 3 && strcmp(l->words[2], "receives") == 0;
	return l->n == 2 || n->server_receives ? 0 : statement_unknown(l, 2, e);
}

static int
add_stream(void *arg, const struct statement *l, struct err *e)
{
	struct network *n = arg;
	struct hostlist list = { 0 };
	uint32_t parent, child;

	if (find_host(n, l->words[1], &parent, e) != 0)
		return -1;
	n->has_streams = true;
	int rc = hostlist_add(&list, l->words[2], e);
	for (size_t i = 0; rc == 0 && i < list.n; i++) {
		rc = find_host(n, list.names[i], &child, e);
		if (rc == 0 && n->points[child].parent != NETWORK_NONE)
			rc = err_set(
			    e, ERR_USAGE, "%s receives two streams", list.names[i]);
		if (rc == 0)
			n->points[child].parent = parent;
	}
	hostlist_free(&list);
	return rc;
}

static int
set_piece(void *arg, const struct statement *l, struct err *e)
{
	struct network *n = arg;
	return number_size(l->words[1], 1024, 1u << 30, &n->piece_bytes, e);
}

static const struct statement_kind statements[] = {
	{ "machine", 2, STATEMENT_WORDS_MAX, add_machine },
	{ "switch", 2, 3, add_switch },
	{ "host", 2, 3, add_host },
	{ "link", 3, 5, add_link },
	{ "server", 2, 3, set_server },
	{ "stream", 3, 3, add_stream },
	{ "piece", 2, 2, set_piece },
	{ 0 },
};

/* Errors that show only when the whole text was read. */
static int
check_whole(const struct network *n, const char *name, struct err *e)
{
	if (n->server == NETWORK_NONE)
		return err_set(e, ERR_FORMAT, "%s: no \"server\" is named", name);
	if (n->has_streams && n->points[n->server].parent != NETWORK_NONE)
		return err_set(e, ERR_FORMAT, "%s: the server receives a stream", name);
	return 0;
}

static void
begin(struct network *n)
{
	*n = (struct network){ .server = NETWORK_NONE, .piece_bytes = PIECE_BYTES };
}

int
network_parse(
    struct network *n, const char *text, size_t bytes, const char *name, struct err *e)
{
	begin(n);
	int rc = statements_parse(statements, n, text, bytes, name, e);
	return rc == 0 ? check_whole(n, name, e) : rc;
}

int
network_read(struct network *n, const char *path, struct err *e)
{
	begin(n);
	int rc = statements_read(statements, n, path, e);
	return rc == 0 ? check_whole(n, path, e) : rc;
}
