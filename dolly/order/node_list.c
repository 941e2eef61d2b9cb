/* node_list.c: reads the list of --nodes, and resolves names of machines (node_list.h). 
 * topology.c, racks.c and the commands call it before anything begins, and topology.c for
 * each node that joins, in the program's first thread. */
#include "dolly/order/node_list.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hostport.h"
#include "common/wire/addr.h"

enum { FILE_MAX = 4 << 20 };

int
node_list_resolve(const char *name, uint8_t address[4], struct err *e)
{
	const struct addrinfo hints = { .ai_family = AF_INET,
		.ai_socktype = SOCK_STREAM };
	struct addrinfo *found;
	int rc = getaddrinfo(name, NULL, &hints, &found);

	if (rc != 0)
		return err_set(e, ERR_ABSENT, "%.100s: %s", name, gai_strerror(rc));
	const struct sockaddr_in *a = (const struct sockaddr_in *)(void *)
	                                  found->ai_addr;
	memcpy(address, &a->sin_addr, 4);
	freeaddrinfo(found);
	return 0;
}

int
node_list_resolve_port(const char *text, uint16_t usual, uint8_t address[4], uint16_t *port,
    struct err *e)
{
	struct hostport at;

	if (hostport_read(&at, text, 1, usual, e) != 0)
		return -1;
	*port = at.port;
	return node_list_resolve(at.host, address, e);
}

/* The text of a file, which the caller frees; NULL: the file cannot be read. */
static char *
read_file(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = f != NULL ? calloc(1, FILE_MAX + 1) : NULL;

	if (text != NULL && fread(text, 1, FILE_MAX, f) == 0 && ferror(f)) {
		free(text);
		text = NULL;
	}
	if (f != NULL)
		fclose(f);
	return text;
}

/* A name, and its address. */
struct named {
	uint8_t address[4];
	size_t at; /* of the name */
};

static int
by_address(const void *va, const void *vb)
{
	const struct named *a = va, *b = vb;
	int order = memcmp(a->address, b->address, sizeof a->address);

	return order != 0 ? order : (a->at > b->at) - (a->at < b->at);
}

/* A machine that is named twice comes once: it would be waited for, or, when it joins again, count
 * as both. */
static int
check_apart(const struct node_list *m, struct err *e)
{
	struct named *all = calloc(m->names.n, sizeof *all);
	char address[ADDR_TEXT_MAX];
	int rc = 0;

	if (all == NULL)
		return err_nomem(e, "the nodes");
	for (size_t i = 0; i < m->names.n; i++) {
		memcpy(all[i].address, m->addresses[i], sizeof all[i].address);
		all[i].at = i;
	}
	qsort(all, m->names.n, sizeof *all, by_address);
	for (size_t i = 1; i < m->names.n && rc == 0; i++)
		if (memcmp(all[i - 1].address, all[i].address, sizeof all[i].address) == 0)
			rc = err_set(e, ERR_USAGE,
			    "--nodes: %.60s and %.60s are the same machine, %s",
			    m->names.names[all[i - 1].at], m->names.names[all[i].at],
			    addr_text(all[i].address, address));
	free(all);
	return rc;
}

int
node_list_read(struct node_list *m, const char *list, struct err *e)
{
	char *text = read_file(list);
	int rc = hostlist_add(&m->names, text != NULL ? text : list, e);

	free(text);
	if (rc != 0)
		return -1;
	if (m->names.n == 0)
		return err_set(e, ERR_USAGE, "--nodes: %.100s names no node", list);
	m->addresses = calloc(m->names.n, sizeof *m->addresses);
	m->taken = calloc(m->names.n, sizeof *m->taken);
	if (m->addresses == NULL || m->taken == NULL)
		return err_nomem(e, "the nodes");
	for (size_t i = 0; i < m->names.n; i++)
		if (node_list_resolve(m->names.names[i], m->addresses[i], e) != 0)
			return err_ctx(e, "--nodes");
	return check_apart(m, e);
}

void
node_list_free(struct node_list *m)
{
	hostlist_free(&m->names);
	free(m->addresses);
	free(m->taken);
}

uint32_t
node_list_order(struct node_list *m, const uint8_t address[4])
{
	for (size_t i = 0; i < m->names.n; i++)
		if (memcmp(m->addresses[i], address, 4) == 0) {
			m->taken[i] = true;
			return (uint32_t)i;
		}
	return UINT32_MAX;
}
