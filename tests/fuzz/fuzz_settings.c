/* Configurations of a master server: whatever is accepted can be asked who may do what. */
#include <stdlib.h>

#include "mfrisbeed/master/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

enum { BYTES_MAX = 4096 };

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static const uint8_t host[4] = { 10, 1, 2, 3 };
	struct settings s;
	struct err e = { 0 };

	if (bytes > BYTES_MAX)
		return 0;
	if (settings_parse(&s, (const char *)data, bytes, "text", &e) == 0) {
		struct settings_wish w = { .host = host, .name = "lab/web" };
		settings_may(&s, &w);
		w.upload = true;
		settings_may(&s, &w);
		if (s.nrules == 0 || s.groups == 0)
			abort();
	} else if (e.kind == ERR_NONE || e.text[0] == '\0') {
		abort();
	}
	settings_free(&s);
	return 0;
}
