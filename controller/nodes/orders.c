/* orders.c: writes and removes the orders of nodes (orders.h).  The controller's loop calls this
 * after the state was saved, in the program's first thread. */
#include "controller/nodes/orders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/lock.h"
#include "common/base/path.h"
#include "common/base/replace.h"
#include "common/wire/addr.h"

enum {
	ORDER_TEXT_BYTES = 2048,
	NAME_BYTES = SMBIOS_BYTES + 8,
	/* Names of changed files, those of 32 nodes.  Beside somebody who writes much to the same
	 * filesystem, 2 files are synced 7 to 143 times as fast as all of it, and 256 are not. */
	EACH_BYTES = 64 * 24,
};

/* The action of a session, and what it works with. */
static void
action_of(const struct orders_config *c, const struct swap_session *s, char *out, size_t cap)
{
	char group[ADDR_TEXT_MAX];

	addr_text(s->group, group);
	if (s->capture)
		snprintf(out, cap, "capture frisbee.capture=%s frisbee.server=%s frisbee.port=%d",
		    s->replace ? "replace" : "new", c->address, ORDERS_CAPTURE_PORT);
	else if (s->stream)
		snprintf(out, cap, "stream frisbee.source=frisbee://%s@%s:%u", c->address, group,
		    s->port);
	else
		snprintf(out, cap, "load frisbee.group=%s frisbee.port=%u frisbee.server=%s", group,
		    s->port, c->address);
}

/* The further words of its session, with a blank before each; frisbee.hostname=table stands for the
 * name that the file of nodes has.  -1: they are too long. */
static int
own_words(const struct swap_session *s, const struct swap_node *n, char *out, size_t cap)
{
	static const char table[] = "frisbee.hostname=table";
	const size_t before = strlen("frisbee.hostname=");
	size_t len = 0;

	out[0] = '\0';
	for (const char *at = s->words; *at != '\0' && len < cap; at += strspn(at, " ")) {
		size_t k = strcspn(at, " ");
		bool named = k == sizeof table - 1 && memcmp(at, table, k) == 0;
		len += (size_t)snprintf(out + len, cap - len, " %.*s%s", (int)(named ? before : k), at, named ? n->name : "");
		at += k;
	}
	return len < cap ? 0 : -1;
}

/* What the node is told, on one line. */
static int
words_of(const struct orders_config *c, const struct swap *w, const struct swap_node *n,
    char *out, size_t cap)
{
	const struct swap_session *s = swap_find_session(w, n->session);
	char order[SWAP_ORDER_BYTES], what[200], key[300] = "", words[SWAP_WORDS_BYTES + SWAP_NAME_BYTES];

	if (s == NULL || own_words(s, n, words, sizeof words) != 0)
		return -1;
	swap_order_name(w, n, order);
	action_of(c, s, what, sizeof what);
	if (c->group_key != NULL && !s->capture)
		snprintf(key, sizeof key, " frisbee.group-key=%.200s", c->group_key);
	int len = snprintf(out, cap,
	    "frisbee.order=%s frisbee.action=%s frisbee.image=%s frisbee.report=%s:%u "
	    "frisbee.onfail=reboot%s%s",
	    order, what, s->image, c->address, c->report_port, key, words);
	return len > 0 && (size_t)len < cap ? 0 : -1;
}

/* The controller writes plain files, so whatever else has such a name is none of its orders. */
static bool
is_no_file(int why)
{
	return why == ENOENT || why == ELOOP || why == EISDIR;
}

/* Reads a file of an order; what is longer counts as different.  -1: errno says why. */
static ssize_t
read_order(const char *path, char *text, size_t cap)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = fd >= 0 ? read(fd, text, cap - 1) : -1;
	int why = errno;

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	errno = why;
	return n;
}

static void
note_change(const struct orders_config *c, const char *name)
{
	if (c->changed != NULL)
		buf_bytes(c->changed, name, strlen(name) + 1);
}

/* Makes one file be this text; NULL: no order of this controller is to be there. */
static int
settle_file(const struct orders_config *c, const struct swap *w, const char *name,
    const char *text, struct err *e)
{
	char path[PATH_BYTES], is[ORDER_TEXT_BYTES + 200], mark[64];

	if (path_in(path, c->folder, name, e) != 0)
		return -1;
	ssize_t n = read_order(path, is, sizeof is);
	if (text != NULL && n >= 0 && strcmp(is, text) == 0)
		return 0;
	if (text != NULL) {
		note_change(c, name);
		/* orders_sync() syncs those of all nodes together. */
		return replace_file(path, text, strlen(text), 0644, REPLACE_UNSYNCED, e);
	}
	if (n < 0)
		return is_no_file(errno) ? 0 : err_os(e, "%s", path);
	snprintf(mark, sizeof mark, "frisbee.order=%s-", w->config.salt);
	if (strstr(is, mark) == NULL)
		return 0;
	note_change(c, name);
	return unlink(path) == 0 || errno == ENOENT ? 0 : err_os(e, "%s", path);
}

/* The names of a node's two files: what the node is known by, as iPXE and GRUB write that. */
static void
names_of(const struct swap_node *n, char ipxe[NAME_BYTES], char grub[NAME_BYTES])
{
	const uint8_t *m = n->mac;

	if (swap_by_smbios(n)) {
		snprintf(ipxe, NAME_BYTES, "%s.ipxe", n->smbios);
		snprintf(grub, NAME_BYTES, "%s.cfg", n->smbios);
		return;
	}
	snprintf(ipxe, NAME_BYTES, "%02x-%02x-%02x-%02x-%02x-%02x.ipxe", m[0], m[1], m[2], m[3], m[4], m[5]);
	snprintf(grub, NAME_BYTES, "%02x:%02x:%02x:%02x:%02x:%02x.cfg", m[0], m[1], m[2], m[3], m[4], m[5]);
}

/* The order by what the node is not known by: none of this controller is to be there; and where
 * somebody else's is, the node would have two. */
static int
settle_other(const struct orders_config *c, const struct swap *w, const struct swap_node *n, bool wanted,
    struct err *e)
{
	struct swap_node other = *n;
	char path[PATH_BYTES], ipxe[NAME_BYTES], grub[NAME_BYTES];

	if (n->smbios[0] == '\0')
		return 0;
	other.doubted = swap_by_smbios(n);
	other.of_two = false;
	names_of(&other, ipxe, grub);
	if (settle_file(c, w, ipxe, NULL, e) != 0 || settle_file(c, w, grub, NULL, e) != 0 ||
	    path_in(path, c->folder, ipxe, e) != 0)
		return -1;
	if (!wanted || !swap_by_smbios(n) || access(path, F_OK) != 0)
		return 0;
	return err_set(e, ERR_USAGE, "it has another order, %s, which somebody else has given", ipxe);
}

int
orders_settle(const struct orders_config *c, const struct swap *w, const struct swap_node *n,
    struct err *e)
{
	char words[ORDER_TEXT_BYTES], ipxe[ORDER_TEXT_BYTES + 100], grub[ORDER_TEXT_BYTES + 100];
	char ipxe_name[NAME_BYTES], grub_name[NAME_BYTES];
	const struct swap_session *s = swap_find_session(w, n->session);
	bool wanted = swap_wants_order(n) && (s == NULL || swap_has_place(s));

	if (wanted && words_of(c, w, n, words, sizeof words) != 0)
		return err_set(e, ERR_USAGE, "%s: its order is too long", n->name);
	if (wanted) {
		snprintf(ipxe, sizeof ipxe, "#!ipxe\nset order %s\nchain /environment.ipxe\n", words);
		snprintf(grub, sizeof grub, "set order=\"%s\"\n", words);
	}
	names_of(n, ipxe_name, grub_name);
	if (settle_other(c, w, n, wanted, e) != 0)
		return -1;
	if (settle_file(c, w, ipxe_name, wanted ? ipxe : NULL, e) != 0)
		return -1;
	return settle_file(c, w, grub_name, wanted ? grub : NULL, e);
}

/* Is it the name of an order for a machine that is no node? */
static bool
is_of_no_node(const struct swap *w, const char *name)
{
	char ipxe[NAME_BYTES], grub[NAME_BYTES];
	struct swap_node machine = { 0 };
	const char *end = strrchr(name, '.');
	struct err ignored;
	unsigned m[6];

	if (end != NULL && smbios_read(name, (size_t)(end - name), machine.smbios, &ignored) != 0 &&
	    sscanf(name, "%2x%*c%2x%*c%2x%*c%2x%*c%2x%*c%2x", &m[0], &m[1], &m[2], &m[3], &m[4], &m[5]) == 6)
		for (int i = 0; i < 6; i++)
			machine.mac[i] = (uint8_t)m[i];
	names_of(&machine, ipxe, grub);
	if (strcmp(name, ipxe) != 0 && strcmp(name, grub) != 0)
		return false;
	const struct swap_node *n = swap_same_machine(w, &machine);
	if (n == NULL)
		return true;
	names_of(n, ipxe, grub);
	return strcmp(name, ipxe) != 0 && strcmp(name, grub) != 0;
}

int
orders_sweep(const struct orders_config *c, const struct swap *w, struct err *e)
{
	DIR *d = opendir(c->folder);
	const struct dirent *f;
	int rc = 0;

	if (d == NULL)
		return err_os(e, "%s", c->folder);
	while ((f = readdir(d)) != NULL)
		if (is_of_no_node(w, f->d_name) && settle_file(c, w, f->d_name, NULL, e) != 0)
			rc = -1;
	closedir(d);
	return rc;
}

static int
begin_writing(int fd)
{
	return sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

/* Does this with each changed file that is there. */
static int
each_changed(const struct orders_config *c, int (*what)(int fd), struct err *e)
{
	const char *name = (const char *)c->changed->base, *end = name + c->changed->len;
	char path[PATH_BYTES];
	int rc = 0;

	for (; rc == 0 && name < end; name += strlen(name) + 1) {
		if (path_in(path, c->folder, name, e) != 0)
			return -1;
		int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		if (fd < 0 ? !is_no_file(errno) : what(fd) != 0)
			rc = err_os(e, "%s", path);
		if (fd >= 0)
			close(fd);
	}
	return rc;
}

static int
sync_folder(const struct orders_config *c, int (*sync)(int fd), struct err *e)
{
	int fd = open(c->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fd >= 0 && sync(fd) == 0 ? 0 : err_os(e, "%s", c->folder);

	if (fd >= 0)
		close(fd);
	return rc;
}

/* All are on their way to the disk before the first one is waited for. */
static int
sync_files(const struct orders_config *c, struct err *e)
{
	struct err ignored;

	(void)each_changed(c, begin_writing, &ignored); /* where that is possible */
	return each_changed(c, fsync, e);
}

int
orders_sync(const struct orders_config *c, struct err *e)
{
	bool many = c->changed != NULL && (!buf_ok(c->changed) || c->changed->len > EACH_BYTES);
	int rc = c->changed != NULL && !many ? sync_files(c, e) : 0;

	if (rc == 0)
		rc = sync_folder(c, many ? syncfs : fsync, e);
	if (c->changed != NULL)
		buf_free(c->changed);
	return rc;
}

int
orders_lock(const struct orders_config *c, int *fd, struct err *e)
{
	*fd = open(c->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*fd < 0)
		return err_os(e, "%s", c->folder);
	int got = lock_try(*fd, false);
	if (got == 1)
		return 0;
	close(*fd);
	*fd = -1;
	return got == 0 ? err_set(e, ERR_REFUSED, "%s: another controllerd writes its orders there", c->folder) : 0;
}
