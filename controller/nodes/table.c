/* table.c: reads the file of nodes (table.h).  controllerd calls this when it starts, in its first
 * thread. */
#include "controller/nodes/table.h"

#include <stdio.h>
#include <string.h>

#include "common/base/statements.h"

static int
take_node(void *arg, const struct statement *l, struct err *e)
{
	unsigned m[6];
	uint8_t mac[6];
	int end = 0;
	const char *text = l->words[2];

	if (strlen(text) != 17 || strspn(text, "0123456789abcdefABCDEF:-") != 17 ||
	    (sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%n", &m[0], &m[1], &m[2], &m[3], &m[4], &m[5],
	         &end) != 6 &&
	        sscanf(text, "%2x-%2x-%2x-%2x-%2x-%2x%n", &m[0], &m[1], &m[2], &m[3], &m[4],
	            &m[5], &end) != 6) ||
	    end != 17)
		return err_set(e, ERR_USAGE, "\"%.40s\" is no MAC address", text);
	for (int i = 0; i < 6; i++)
		mac[i] = (uint8_t)m[i];
	return swap_add_node(arg, l->words[1], mac, e);
}

static const struct statement_kind kinds[] = { { "node", 3, 3, take_node }, { 0 } };

int
table_read(struct swap *w, const char *path, struct err *e)
{
	return statements_read(kinds, w, path, e);
}

int
table_parse(struct swap *w, const char *text, size_t bytes, const char *name, struct err *e)
{
	return statements_parse(kinds, w, text, bytes, name, e);
}
