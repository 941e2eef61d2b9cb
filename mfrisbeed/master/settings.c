/* settings.c: reads the configuration file of a master server, and decides who may do what
 * (settings.h).  main.c and master.c read the file when the program starts and at SIGHUP, and
 * answer.c asks for decisions, in the program's first thread. */
#include "mfrisbeed/master/settings.h"

#include <fnmatch.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/grow.h"
#include "common/base/keyfile.h"
#include "common/base/number.h"
#include "common/base/statements.h"
#include "common/base/zero.h"
#include "common/wire/addr.h"

enum {
	GROUPS_DEFAULT = 256,
	GROUPS_MAX = 65536,
	IDLE_S_DEFAULT = 180, /* the time for which sessions of Emulab's master linger */
	RATE_MIN = 10000,
};
#define UPLOAD_MAX_DEFAULT UINT64_C(20000000000) /* as that of Emulab's master */
#define RATE_MAX UINT64_C(1000000000000)
static const char state_default[] = "/var/lib/mfrisbeed";
static const char in_store[] = SETTINGS_IN_STORE;

static int
set_text(char **to, const char *text, struct err *e)
{
	char *copy = strdup(text);

	if (copy == NULL)
		return err_nomem(e, "the settings");
	free(*to);
	*to = copy;
	return 0;
}

/* Defines the function of a statement whose only operand is a text. */
#define TEXT_STATEMENT(field) \
	static int take_##field( \
	    void *arg, const struct statement *l, struct err *e) \
	{ \
		struct settings *s = arg; \
		return set_text(&s->field, l->words[1], e); \
	}

TEXT_STATEMENT(folder)
TEXT_STATEMENT(store)
TEXT_STATEMENT(state)

static int
take_image(void *arg, const struct statement *l, struct err *e)
{
	struct settings *s = arg;
	struct settings_image x = { 0 };
	const char *place = l->words[2];

	for (size_t i = 0; i < s->nimages; i++)
		if (strcmp(s->images[i].name, l->words[1]) == 0)
			return err_set(
			    e, ERR_USAGE, "image %s is named twice", l->words[1]);
	if (grow_array(&s->images, &s->image_cap, s->nimages, sizeof x, "the settings", e) != 0)
		return -1;
	x.in_store = strncmp(place, in_store, sizeof in_store - 1) == 0;
	if (set_text(&x.name, l->words[1], e) != 0)
		return -1;
	s->images[s->nimages++] = x;
	return set_text(&s->images[s->nimages - 1].place,
	    place + (x.in_store ? sizeof in_store - 1 : 0), e);
}

/* Takes n groups from s->group on, which is named `first`.  Of the usual number there may be fewer;
 * a number that the user has chosen must be there. */
static int
set_groups(struct settings *s, uint64_t n, bool chosen, const char *first, struct err *e)
{
	const uint8_t *g = s->group;
	uint32_t left = UINT32_C(0xf0000000) -
	                ((uint32_t)g[0] << 24 | (uint32_t)g[1] << 16 | (uint32_t)g[2] << 8 | g[3]);

	if (chosen && n > left)
		return err_set(e, ERR_USAGE,
		    "from %s on there are only %u multicast groups", first, left);
	s->groups = n < left ? (uint32_t)n : left;
	return 0;
}

/* Takes "7701", or "7701+", the port of the first of the groups. */
static int
set_port(struct settings *s, const char *text, struct err *e)
{
	size_t n = strlen(text);
	char number[8];
	uint64_t port;

	s->port_each = n > 0 && text[n - 1] == '+';
	n -= s->port_each;
	snprintf(number, sizeof number, "%.*s", (int)(n < sizeof number ? n : sizeof number), text);
	if (number_uint(number, s->port_each, UINT16_MAX, &port, e) != 0)
		return -1;
	s->port = (uint16_t)port;
	return 0;
}

static int
take_group(void *arg, const struct statement *l, struct err *e)
{
	struct settings *s = arg;
	uint64_t n = GROUPS_DEFAULT;
	bool chosen = false;

	if (addr_parse(l->words[1], s->group, e) != 0)
		return -1;
	if (s->group[0] < 224 || s->group[0] > 239)
		return err_set(
		    e, ERR_USAGE, "%s is not a multicast address", l->words[1]);
	for (size_t i = 2; i < l->n; i++) {
		const char *count = statement_value(l->words[i], "count");
		const char *at = statement_value(l->words[i], "port");
		if (count == NULL && at == NULL)
			return statement_unknown(l, i, e);
		if (count != NULL ? number_uint(count, 1, GROUPS_MAX, &n, e) != 0
				  : set_port(s, at, e) != 0)
			return -1;
		chosen |= count != NULL;
	}
	if (set_groups(s, n, chosen, l->words[1], e) != 0)
		return -1;
	if (s->port_each && s->port + s->groups - 1 > UINT16_MAX)
		return err_set(e, ERR_USAGE, "from %u on there are no %u ports", s->port, s->groups);
	return 0;
}

static int
take_rights(struct settings_rule *r, const char *word)
{
	bool all = strcmp(word, "all") == 0;

	r->load = all || strcmp(word, "load") == 0;
	r->replace = strcmp(word, "replace") == 0;
	r->upload = all || r->replace || strcmp(word, "upload") == 0;
	return r->load || r->upload ? 0 : -1;
}

/* Takes the words from the `first` one on: a token and patterns of names. */
static int
take_names(struct settings_rule *r, const struct statement *l, size_t first, struct err *e)
{
	for (size_t i = first; i < l->n; i++) {
		const char *token = statement_value(l->words[i], "token");
		if (set_text(token != NULL ? &r->token_file : &r->names[r->nnames++],
			token != NULL ? token : l->words[i], e) != 0)
			return -1;
	}
	return 0;
}

static int
take_allow(void *arg, const struct statement *l, struct err *e)
{
	struct settings *s = arg;
	struct settings_rule r = { .load = true };
	size_t first = l->n > 2 && take_rights(&r, l->words[2]) == 0 ? 3 : 2;

	if (first == 2)
		r.load = true;
	if (allow_add(&r.net, l->words[1], e) != 0 ||
	    grow_array(&s->rules, &s->rule_cap, s->nrules, sizeof r, "the settings", e) != 0)
		return -1;
	r.names = calloc(l->n - first + 1, sizeof *r.names);
	if (r.names == NULL)
		return err_nomem(e, "the settings");
	s->rules[s->nrules] = r;
	return take_names(&s->rules[s->nrules++], l, first, e);
}

static int
take_uploads(void *arg, const struct statement *l, struct err *e)
{
	struct settings *s = arg;

	for (size_t i = 2; i < l->n; i++) {
		const char *max = statement_value(l->words[i], "max");
		if (max == NULL)
			return statement_unknown(l, i, e);
		if (number_size(max, 1, INT64_MAX, &s->upload_max, e) != 0)
			return -1;
	}
	return set_text(&s->uploads, l->words[1], e);
}

static int
set_short(char *to, size_t cap, const char *text, struct err *e)
{
	if (strlen(text) >= cap)
		return err_set(e, ERR_USAGE, "\"%.40s...\" is too long", text);
	strcpy(to, text);
	return 0;
}

static int
take_iface(void *arg, const struct statement *l, struct err *e)
{
	struct settings *s = arg;

	return set_short(s->iface, sizeof s->iface, l->words[1], e);
}

static int
take_parent(void *arg, const struct statement *l, struct err *e)
{
	struct settings *s = arg;
	struct fetch_parent *p = &s->parent;

	for (size_t i = 3; i < l->n; i++) {
		const char *token = statement_value(l->words[i], "token");
		const char *iface = statement_value(l->words[i], "interface");
		if (token == NULL && iface == NULL)
			return statement_unknown(l, i, e);
		if (token != NULL ? set_short(p->token_file, sizeof p->token_file, token, e) != 0
				  : set_short(p->iface, sizeof p->iface, iface, e) != 0)
			return -1;
	}
	return set_short(p->host, sizeof p->host, l->words[1], e) == 0
	           ? set_text(&s->parent_folder, l->words[2], e)
	           : -1;
}

static int
take_rate(void *arg, const struct statement *l, struct err *e)
{
	struct settings *s = arg;

	return number_rate(l->words[1], RATE_MIN, RATE_MAX, &s->rate, e);
}

static int
take_idle(void *arg, const struct statement *l, struct err *e)
{
	struct settings *s = arg;

	return number_uint(l->words[1], 1, 1000000, &s->idle_s, e);
}

static const struct statement_kind statements[] = {
	{ "image", 3, 3, take_image },
	{ "images", 2, 2, take_folder },
	{ "store", 2, 2, take_store },
	{ "group", 2, 4, take_group },
	{ "interface", 2, 2, take_iface },
	{ "allow", 2, STATEMENT_WORDS_MAX, take_allow },
	{ "parent", 3, 5, take_parent },
	{ "uploads", 2, 3, take_uploads },
	{ "rate", 2, 2, take_rate },
	{ "idle", 2, 2, take_idle },
	{ "state", 2, 2, take_state },
	{ 0 },
};

static int
begin(struct settings *s, struct err *e)
{
	*s = (struct settings){ .groups = GROUPS_DEFAULT,
		.idle_s = IDLE_S_DEFAULT,
		.upload_max = UPLOAD_MAX_DEFAULT };
	return set_text(&s->state, state_default, e);
}

/* Errors that show only when the whole file was read. */
static int
check_whole(const struct settings *s, const char *name, struct err *e)
{
	const struct settings_image *x = NULL;

	for (size_t i = 0; i < s->nimages; i++)
		if (s->images[i].in_store)
			x = &s->images[i];
	if (x != NULL && s->store == NULL)
		return err_set(e, ERR_FORMAT,
		    "%s: image %s is in a store, but no \"store\" is named", name,
		    x->name);
	if (is_zero(s->group, sizeof s->group))
		return err_set(e, ERR_FORMAT, "%s: no \"group\" is named", name);
	if (s->nrules == 0)
		return err_set(e, ERR_FORMAT,
		    "%s: there is no \"allow\", so all requests would be refused",
		    name);
	if (s->nimages == 0 && s->folder == NULL && s->uploads == NULL &&
	    s->parent_folder == NULL && s->store == NULL)
		return err_set(e, ERR_FORMAT,
		    "%s: it names neither images nor a folder for them", name);
	return 0;
}

int
settings_parse(
    struct settings *s, const char *text, size_t bytes, const char *name, struct err *e)
{
	if (begin(s, e) != 0 || statements_parse(statements, s, text, bytes, name, e) != 0)
		return -1;
	return check_whole(s, name, e);
}

int
settings_tokens(const struct settings *s, struct err *e)
{
	const char *of_parent = s->parent.token_file;
	uint8_t token[MASTER_TOKEN_BYTES];
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < s->nrules; i++)
		if (s->rules[i].token_file != NULL)
			rc = keyfile_read_secret(
			    s->rules[i].token_file, KEYFILE_TOKEN, token, e);
	if (rc == 0 && of_parent[0] != '\0')
		rc = keyfile_read_secret(of_parent, KEYFILE_TOKEN, token, e);
	OPENSSL_cleanse(token, sizeof token);
	return rc;
}

int
settings_read(struct settings *s, const char *path, struct err *e)
{
	if (begin(s, e) != 0 || statements_read(statements, s, path, e) != 0)
		return -1;
	return check_whole(s, path, e);
}

void
settings_free(struct settings *s)
{
	for (size_t i = 0; i < s->nimages; i++) {
		free(s->images[i].name);
		free(s->images[i].place);
	}
	for (size_t i = 0; i < s->nrules; i++) {
		for (size_t k = 0; k < s->rules[i].nnames; k++)
			free(s->rules[i].names[k]);
		free(s->rules[i].names);
		free(s->rules[i].token_file);
	}
	free(s->images);
	free(s->rules);
	free(s->folder);
	free(s->store);
	free(s->uploads);
	free(s->state);
	free(s->parent_folder);
	*s = (struct settings){ 0 };
}

void
settings_written(const struct settings *s, const char *paths[SETTINGS_WRITTEN_MAX])
{
	paths[0] = s->state;
	paths[1] = s->uploads;
	paths[2] = s->parent_folder;
	paths[3] = NULL;
	for (size_t i = 0; i < s->nrules; i++)
		if (s->rules[i].replace)
			paths[3] = s->folder;
}

static bool
covers(const struct settings_rule *r, const struct settings_wish *w)
{
	bool may = w->replace ? r->replace : w->upload ? r->upload : r->load;

	if (!may || !allow_has(&r->net, w->host))
		return false;
	for (size_t i = 0; i < r->nnames; i++)
		if (fnmatch(r->names[i], w->name, 0) == 0)
			return true;
	return r->nnames == 0;
}

/* Has the client proved that it has a token that is in the file now? */
static bool
is_proved(const struct settings_rule *r, const struct settings_wish *w)
{
	struct keyfile_tokens t;
	struct err ignored;
	bool yes = false;

	if (w->proved == NULL || keyfile_read_tokens(r->token_file, &t, &ignored) != 0)
		return false;
	for (size_t i = 0; i < t.n; i++)
		yes |= w->proved(w->arg, t.token[i]);
	OPENSSL_cleanse(&t, sizeof t);
	return yes;
}

enum settings_verdict
settings_may(const struct settings *s, const struct settings_wish *w)
{
	enum settings_verdict v = SETTINGS_NO;

	for (size_t i = 0; i < s->nrules; i++) {
		const struct settings_rule *r = &s->rules[i];
		if (!covers(r, w))
			continue;
		if (r->token_file == NULL || is_proved(r, w))
			return SETTINGS_YES;
		v = SETTINGS_WITH_TOKEN;
	}
	return v;
}
