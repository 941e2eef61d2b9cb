/* places.c: from the options of controllerd to paths and addresses (places.h).  control.c calls
 * this, in the program's first thread. */
#include "controller/run/places.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/hostport.h"
#include "common/base/readable.h"
#include "common/wire/addr.h"
#include "controller/http/token.h"

enum { KEY_NAME_MAX = 200 };

/* The path that is given, or the usual one. */
static int
choose(char out[PATH_BYTES], const char *given, const char *folder, const char *name, struct err *e)
{
	if (given == NULL)
		return path_in(out, folder, name, e);
	return snprintf(out, PATH_BYTES, "%s", given) < PATH_BYTES
	           ? 0
	           : err_set(e, ERR_USAGE, "%.100s...: the path is too long", given);
}

static int
must_be(const char *path, int mode, struct err *e)
{
	return access(path, mode) == 0 ? 0 : err_os(e, "%s", path);
}

/* A folder that netboot/setup makes. */
static int
must_be_made(const char *folder, int mode, struct err *e)
{
	if (must_be(folder, mode, e) == 0)
		return 0;
	return e->os == ENOENT ? err_set(e, ERR_ABSENT, "%s: there is no such folder; netboot/setup makes it", folder) : -1;
}

/* The beginning of a file, as a string; of one that is not there, an empty one. */
static int
read_text(const char *path, char *text, size_t cap, struct err *e)
{
	int fd = readable_open(path, e);

	text[0] = '\0';
	if (fd < 0)
		return e->os == ENOENT ? 0 : -1;
	ssize_t n = read(fd, text, cap - 1);
	if (n < 0)
		err_os(e, "%s", path);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n < 0 ? -1 : 0;
}

/* "frisbee.report=10.9.0.1" in the file that netboot/setup has filled in. */
static int
find_address(const struct control_config *c, char out[16], struct err *e)
{
	static const char word[] = "frisbee.report=";
	char path[PATH_BYTES], text[4096];

	if (c->address != NULL) {
		snprintf(out, 16, "%s", c->address);
		return strlen(c->address) < 16 ? 0 : err_set(e, ERR_USAGE, "--address: \"%.40s\" is no IPv4 address", c->address);
	}
	if (path_in(path, c->netboot, "boot/environment.ipxe", e) != 0)
		return -1;
	if (read_text(path, text, sizeof text, e) != 0)
		return -1;
	const char *at = strstr(text, word);
	if (at == NULL)
		return err_set(e, ERR_USAGE, "%s does not name this host (netboot/setup writes it): --address is needed", path);
	at += sizeof word - 1;
	snprintf(out, 16, "%.*s", (int)strspn(at, "0123456789."), at);
	return 0;
}

/* "127.0.0.1:8484" or an address alone. */
static int
find_web(struct places *p, const struct control_config *c, struct err *e)
{
	struct hostport at;

	if (hostport_read(&at, c->listen, 0, CONTROL_PORT, e) != 0 ||
	    addr_parse(at.host, p->web_address, e) != 0)
		return err_ctx(e, "--listen");
	p->web_port = at.port;
	if (p->web_address[0] != 127 && c->token_file == NULL)
		return err_set(e, ERR_USAGE, "--listen=%s opens the page to other hosts: --token-file has to say who may change something", c->listen);
	return 0;
}

/* The name is a word of each order, of which a blank would make two. */
static int
check_key_name(const char *name, struct err *e)
{
	for (const char *c = name; *c != '\0'; c++)
		if (!isalnum((unsigned char)*c) && strchr("=.,:_+@%-", *c) == NULL)
			return err_set(e, ERR_USAGE,
			    "--group-key: an order cannot name the file \"%.100s\": letters, digits and = . , : _ + @ %% - only", name);
	return strlen(name) <= KEY_NAME_MAX ? 0 : err_set(e, ERR_USAGE, "--group-key: \"%.40s...\": the name is too long for an order", name);
}

/* Where an mfrisbeed of this controller's own sends. */
static int
find_groups(struct places *p, const struct control_config *c, struct err *e)
{
	uint8_t g[4];

	if (c->master != NULL && (c->group != NULL || c->port != 0 || c->store != NULL))
		return err_set(e, ERR_USAGE, "with --master, the configuration of that mfrisbeed has group, port and store");
	p->group = c->group != NULL ? c->group : "239.192.77.1";
	p->port = (uint16_t)(c->port != 0 ? c->port : CONTROL_GROUP_PORT);
	if (addr_parse(p->group, g, e) != 0)
		return err_ctx(e, "--group");
	if (g[0] < 224 || g[0] > 239 || g[3] > 255 - SWAP_RUNNING_MAX)
		return err_set(e, ERR_USAGE, "--group: \"%.40s\" is no multicast group with %d more behind it", p->group, SWAP_RUNNING_MAX);
	return 0;
}

static int
find_orders(struct places *p, const struct control_config *c, struct err *e)
{
	struct orders_config *o = &p->orders;

	*o = (struct orders_config){ .folder = p->folder_of_orders, .address = p->address };
	if (c->group_key == NULL)
		return 0;
	const char *slash = strrchr(c->group_key, '/');
	snprintf(p->group_key, sizeof p->group_key, "%s", slash != NULL ? slash + 1 : c->group_key);
	o->group_key = p->group_key;
	return check_key_name(p->group_key, e);
}

int
places_find(struct places *p, const struct control_config *c, struct err *e)
{
	char token[TOKEN_TEXT_BYTES];

	*p = (struct places){ 0 };
	if (choose(p->state, c->state, c->netboot, "controller", e) != 0 ||
	    choose(p->nodes, c->nodes, c->netboot, "nodes", e) != 0 ||
	    path_in(p->images, c->netboot, "images", e) != 0 ||
	    path_in(p->folder_of_orders, c->netboot, "boot/orders", e) != 0 ||
	    choose(p->token, c->token_file, p->state, "token", e) != 0)
		return -1;
	if (must_be_made(p->images, R_OK | X_OK, e) != 0 ||
	    must_be_made(p->folder_of_orders, W_OK | X_OK, e) != 0 ||
	    (c->token_file != NULL && token_first(p->token, token, e) != 0) ||
	    (c->power != NULL && must_be(c->power, X_OK, e) != 0))
		return -1;
	if (find_address(c, p->address, e) != 0)
		return -1;
	if (addr_parse(p->address, p->address_bytes, e) != 0)
		return err_ctx(e, "--address");
	return find_web(p, c, e) == 0 && find_groups(p, c, e) == 0 ? find_orders(p, c, e) : -1;
}
