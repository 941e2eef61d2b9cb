/* keys.c: makes the keys of a store's objects, and reads them back.  Called by all parts
 * of the store, in any thread. */
#include "emustore/store/keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/random_bytes.h"

enum { VERSION_DIGITS = 10 };

void
key_random(char out[KEY_RANDOM_CHARS + 1])
{
	uint64_t chance[2];

	random_bytes(chance, sizeof chance);
	snprintf(out, KEY_RANDOM_CHARS + 1, "%016" PRIx64 "%016" PRIx64, chance[0], chance[1]);
}

void
key_of_pack(const char *id, char out[KEY_BYTES])
{
	snprintf(out, KEY_BYTES, KEYS_PACKS "%.64s.pack", id);
}

void
key_of_table(const char *id, char out[KEY_BYTES])
{
	snprintf(out, KEY_BYTES, KEYS_TABLES "%.64s.toc", id);
}

void
key_of_condemned(const char *id, char out[KEY_BYTES])
{
	snprintf(out, KEY_BYTES, KEYS_CONDEMNED "%.64s", id);
}

void
key_of_image(const struct store_name *n, char out[KEY_BYTES])
{
	snprintf(out, KEY_BYTES, KEYS_IMAGES "%s/%0*" PRIu32, n->name, VERSION_DIGITS,
	    n->version);
}

static bool
key_is(const char *key, const char *end, char id[PACK_ID_CHARS + 1])
{
	if (strlen(key) != PACK_ID_CHARS + strlen(end) ||
	    strcmp(key + PACK_ID_CHARS, end) != 0)
		return false;
	snprintf(id, PACK_ID_CHARS + 1, "%.*s", PACK_ID_CHARS, key);
	return pack_id_ok(id);
}

bool
key_is_table(const char *key, char id[PACK_ID_CHARS + 1])
{
	return key_is(key, ".toc", id);
}

bool
key_is_pack(const char *key, char id[PACK_ID_CHARS + 1])
{
	return key_is(key, ".pack", id);
}

bool
key_is_image(const char *key, struct store_name *name)
{
	char text[STORE_NAME_MAX + 16], back[KEY_BYTES];
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
	return strcmp(back + strlen(KEYS_IMAGES), key) == 0;
}
