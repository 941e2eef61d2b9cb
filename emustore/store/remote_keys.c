#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "emustore/store/remote_impl.h"

static const char table_end[] = ".toc";

enum { VERSION_DIGITS = 10 };

void
key_of_pack(const char *id, char out[REMOTE_KEY_BYTES])
{
	snprintf(out, REMOTE_KEY_BYTES, "packs/%s.pack", id);
}

void
key_of_table(const char *id, char out[REMOTE_KEY_BYTES])
{
	snprintf(out, REMOTE_KEY_BYTES, "tables/%s%s", id, table_end);
}

void
key_of_condemned(const char *id, char out[REMOTE_KEY_BYTES])
{
	snprintf(out, REMOTE_KEY_BYTES, "condemned/%s", id);
}

void
key_of_image(const struct store_name *n, char out[REMOTE_KEY_BYTES])
{
	snprintf(out, REMOTE_KEY_BYTES, "images/%s/%0*" PRIu32, n->name, VERSION_DIGITS,
	    n->version);
}

bool
key_is_table(const char *key, char id[PACK_ID_CHARS + 1])
{
	if (strlen(key) != PACK_ID_CHARS + strlen(table_end) ||
	    strcmp(key + PACK_ID_CHARS, table_end) != 0)
		return false;
	snprintf(id, PACK_ID_CHARS + 1, "%.*s", PACK_ID_CHARS, key);
	return pack_id_ok(id);
}

bool
key_is_image(const char *key, struct store_name *name)
{
	char text[STORE_NAME_MAX + 16], back[REMOTE_KEY_BYTES];
	const char *slash = strrchr(key, '/');
	struct err ignored;
	uint32_t version;

	if (slash == NULL || slash == key || slash - key > STORE_NAME_MAX ||
	    sscanf(slash + 1, "%10" SCNu32, &version) != 1 || version == 0)
		return false;
	snprintf(text, sizeof text, "%.*s", (int)(slash - key), key);
	if (store_name_get(name, text, &ignored) != 0)
		return false;
	name->version = version;
	key_of_image(name, back);
	return strcmp(back + strlen("images/"), key) == 0;
}
