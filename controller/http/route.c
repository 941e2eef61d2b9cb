/* route.c: from method and path to a call (route.h).  web.c calls this, in the program's first
 * thread. */
#include "controller/http/route.h"

#include <string.h>

#include "common/base/number.h"

static const struct {
	const char *path;
	enum route_call call;
} fixed[] = { { "/api/v1/sessions", ROUTE_SESSIONS }, { "/api/v1/nodes", ROUTE_NODES },
	{ "/api/v1/images", ROUTE_IMAGES }, { "/api/v1/sent", ROUTE_SENT }, { "/api/v1/history", ROUTE_HISTORY },
	{ "/api/v1/token", ROUTE_TOKEN }, { "/api/v1/events", ROUTE_EVENTS },
	{ "/metrics", ROUTE_METRICS } };

static const char *
behind(const char *path, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(path, prefix, n) == 0 ? path + n : NULL;
}

/* "7" or "7/stop" */
static enum route_call
find_session(const char *rest, uint32_t *id)
{
	char number[16];
	size_t n = strcspn(rest, "/");
	uint64_t v;
	struct err ignored;

	if (n == 0 || n >= sizeof number || strspn(rest, "0123456789") != n)
		return ROUTE_NONE;
	memcpy(number, rest, n);
	number[n] = '\0';
	if (number_uint(number, 1, UINT32_MAX - 1, &v, &ignored) != 0)
		return ROUTE_NONE;
	*id = (uint32_t)v;
	return rest[n] == '\0' ? ROUTE_SESSION : strcmp(rest + n, "/stop") == 0 ? ROUTE_STOP : ROUTE_NONE;
}

static enum route_call
find_name(const char *rest, enum route_call call, char name[SWAP_NAME_BYTES])
{
	if (rest[0] == '.' || strchr(rest, '/') != NULL || strlen(rest) >= SWAP_NAME_BYTES)
		return ROUTE_NONE;
	strcpy(name, rest);
	return call;
}

static enum route_call
find(const char *path, struct route *r)
{
	const char *rest;

	for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
		if (strcmp(path, fixed[i].path) == 0)
			return fixed[i].call;
	if ((rest = behind(path, "/api/v1/sessions/")) != NULL)
		return find_session(rest, &r->id);
	if ((rest = behind(path, "/api/v1/nodes/")) != NULL)
		return rest[0] != '\0' ? find_name(rest, ROUTE_NODE, r->name) : ROUTE_NONE;
	return path[0] == '/' ? find_name(path + 1, ROUTE_PAGE, r->name) : ROUTE_NONE;
}

void
route_find(const char *method, const char *path, struct route *r)
{
	bool get = strcmp(method, "GET") == 0, post = strcmp(method, "POST") == 0;

	*r = (struct route){ .allow = "GET" };
	r->call = find(path, r);
	if (r->call == ROUTE_NONE)
		return;
	if (post && r->call == ROUTE_SESSIONS)
		r->call = ROUTE_START;
	else if (r->call == ROUTE_STOP ? !post : !get) {
		r->allow = r->call == ROUTE_STOP ? "POST" : r->call == ROUTE_SESSIONS ? "GET, POST" : "GET";
		r->call = ROUTE_WRONG;
	}
}
