/* table.c: reads the file of nodes (table.h).  controllerd calls this when it starts, in its first
 * thread. */
#include "controller/nodes/table.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/statements.h"

/* 52:54:00:00:00:0a or 52-54-00-00-00-0A */
static bool
read_mac(const char *text, uint8_t mac[6])
{
	if (strlen(text) != 17 || (text[2] != ':' && text[2] != '-'))
		return false;
	for (int i = 0; i < 17; i++)
		if (i % 3 == 2 ? text[i] != text[2] : !isxdigit((unsigned char)text[i]))
			return false;
	for (int i = 0; i < 6; i++)
		mac[i] = (uint8_t)strtoul(text + 3 * i, NULL, 16);
	return true;
}

static int
take_node(void *arg, const struct statement *l, struct err *e)
{
	char smbios[SMBIOS_BYTES] = "";
	struct swap *w = arg;
	uint8_t mac[6];

	if (!read_mac(l->words[2], mac))
		return err_set(e, ERR_USAGE, "\"%.40s\" is no MAC address", l->words[2]);
	if (l->n == 4 && smbios_read(l->words[3], strlen(l->words[3]), smbios, e) != 0) {
		if (e->kind != ERR_REFUSED)
			return err_set(e, ERR_USAGE, "\"%.80s\" is neither a UUID nor serial:NUMBER", l->words[3]);
		log_warn("node=%s: %s: the node is known by its MAC address", l->words[1], e->text);
	}
	if (swap_add_node(w, l->words[1], mac, smbios, e) != 0)
		return -1;
	if (w->nodes[w->nnodes - 1].doubted)
		log_warn("node=%s: another node has %s, too: both are known by their MAC addresses", l->words[1], smbios);
	return 0;
}

static const struct statement_kind kinds[] = { { "node", 3, 4, take_node }, { 0 } };

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
