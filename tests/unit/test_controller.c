/* What the controller reads from others and writes for them: the body of a call, paths, frisbeed's
 * statistics, the file of nodes, tokens, orders, wake-on-LAN, connections of nodes that report. */
#include <arpa/inet.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/openfiles.h"
#include "controller/http/host.h"
#include "controller/http/images.h"
#include "controller/http/page.h"
#include "controller/http/route.h"
#include "controller/http/token.h"
#include "controller/http/wish.h"
#include "controller/nodes/orders.h"
#include "controller/nodes/power.h"
#include "controller/nodes/reports.h"
#include "controller/nodes/table.h"
#include "tests/t.h"
#include "tests/tmp.h"

static char folder[256];
static char synced[1000]; /* what the library has synced, each with a blank behind it */
static unsigned whole;    /* filesystems that were synced, with what others write there */

/* What the library asks of the system. */
int
syncfs(int fd)
{
	whole++;
	return (int)syscall(SYS_syncfs, fd);
}

int
fsync(int fd)
{
	char link[64], path[300] = "";
	size_t n = strlen(synced);

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	if (readlink(link, path, sizeof path - 1) > 0 && path[0] == '/')
		snprintf(synced + n, sizeof synced - n, "%s ", strrchr(path, '/') + 1);
	return (int)syscall(SYS_fsync, fd);
}

static bool
refused(const char *text)
{
	static struct swap_wish w;
	struct err e = { 0 };

	return wish_read(text, strlen(text), &w, &e) != 0 && e.kind == ERR_USAGE && e.text[0] != '\0';
}

static void
test_wish(void)
{
	static const char text[] = "{\"nodes\": \"n[1-3]\", \"image\": \"a.ndz\", \"request\": \"r\", \"words\": "
				   "\"frisbee.disk=sda\", \"stream\": true, \"bandwidth_bits_per_s\": 60000000000, \"wait\": 3, "
				   "\"until\": 2, \"orders\": \"/o\", \"timeout_s\": 90, \"tries\": 3}";
	static struct swap_wish w, again;
	struct err e;
	char *out = NULL;
	size_t n;

	T_CHECK(wish_read(text, strlen(text), &w, &e) == 0);
	T_CHECK(strcmp(w.nodes, "n[1-3]") == 0 && strcmp(w.image, "a.ndz") == 0 && w.stream && w.timeout_s == 90 && w.tries == 3);
	T_CHECK(w.sending.bandwidth_bits_per_s == 60000000000 && w.sending.wait == 3 && w.sending.until == 2 && strcmp(w.sending.orders, "/o") == 0);
	struct json *j = json_new();
	FILE *f = open_memstream(&out, &n);
	wish_write(j, &w);
	T_CHECK(json_show_on(j, f, &e) == 0 && fclose(f) == 0);
	T_CHECK(wish_read(out, n, &again, &e) == 0 && memcmp(&w, &again, sizeof w) == 0);
	free(out);
	unsigned taken = 0;
	for (size_t i = 0; i < strlen(text); i++) /* every truncation */
		taken += wish_read(text, i, &w, &e) == 0;
	T_CHECK(taken == 0);
	T_CHECK(wish_read("{\"nodes\":\"a\",\"image\":\"b\"} \n", 27, &w, &e) == 0 && w.tries == SWAP_TRIES && w.timeout_s == SWAP_TIMEOUT_S);
	static const char *const bad[] = { "", "null", "[]", "7", "{}", "{\"nodes\":\"a\"}", "{\"nodes\":1,\"image\":\"b\"}",
		"{\"nodes\":\"a\",\"image\":\"b\",\"x\":1}", "{\"nodes\":\"a\",\"image\":\"b\"}{}", "{\"nodes\":\"a\",\"image\":\"b\",\"tries\":0}",
		"{\"nodes\":\"a\",\"image\":\"b\",\"tries\":1.5}", "{\"nodes\":\"a\",\"image\":\"b\",\"wait\":0}",
		"{\"nodes\":\"a\",\"image\":\"b\",\"bandwidth_bits_per_s\":1e13}", "{\"nodes\":\"a\",\"image\":\"b\",\"orders\":7}", "{\"nodes\":\"a\",\"image\":\"b\",\"tries\":1e30}",
		"{\"nodes\":\"a\",\"image\":\"b\",\"tries\":\"2\"}", "{\"nodes\":\"a\",\"image\":\"b\",\"stream\":1}",
		"{\"nodes\":\"a\\u0000b\",\"image\":\"b\"}", "{'nodes':'a','image':'b'}", "{\"nodes\":\"\xff\",\"image\":\"b\"}",
		"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[" };
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		if (!T_CHECK(refused(bad[i])))
			printf("# %s\n", bad[i]);
	static char big[WISH_BYTES_MAX + 100];
	memset(big, ' ', sizeof big);
	T_CHECK(wish_read(big, sizeof big, &w, &e) != 0 && e.kind == ERR_USAGE);
}

static enum route_call
call(const char *method, const char *path, uint32_t *id)
{
	struct route r;

	route_find(method, path, &r);
	*id = r.id;
	return r.call;
}

static void
test_routes(void)
{
	uint32_t id;

	T_CHECK(call("GET", "/api/v1/sessions", &id) == ROUTE_SESSIONS && call("POST", "/api/v1/sessions", &id) == ROUTE_START);
	T_CHECK(call("GET", "/api/v1/sessions/7", &id) == ROUTE_SESSION && id == 7);
	T_CHECK(call("POST", "/api/v1/sessions/7/stop", &id) == ROUTE_STOP && id == 7);
	/* Nothing is changed by another method. */
	T_CHECK(call("GET", "/api/v1/sessions/7/stop", &id) == ROUTE_WRONG && call("PUT", "/api/v1/sessions", &id) == ROUTE_WRONG);
	T_CHECK(call("DELETE", "/api/v1/sessions/7", &id) == ROUTE_WRONG && call("POST", "/api/v1/nodes", &id) == ROUTE_WRONG);
	T_CHECK(call("GET", "/", &id) == ROUTE_PAGE && call("GET", "/page.css", &id) == ROUTE_PAGE);
	static const char *const none[] = { "/api/v1/sessions/0", "/api/v1/sessions/4294967296", "/api/v1/sessions/7/", "/api/v1/sessions/0x7",
		"/api/v1/sessions/-7", "/api/v1/sessions/ 7", "/api/v1/sessions/7/stopp", "/..", "/../etc/passwd", "/a/b", "", "x",
		"/api/v1/nodes/", "/api/v1/nodes/..", "/api/v1/nodes/a/b" };
	for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
		if (!T_CHECK(call("GET", none[i], &id) == ROUTE_NONE))
			printf("# %s\n", none[i]);
	T_CHECK(page_find("") != NULL && page_find("index.html") == page_find("") && page_find("../main.c") == NULL);
	T_CHECK(page_find("page.js")->end > page_find("page.js")->base);
}

static void
test_table(void)
{
	static const char text[] = "# nodes\nnode n1 52:54:00:00:00:0A\nnode n2 52-54-00-00-00-0b\n";
	static const char *const bad[] = { "node n1\n", "node n1 52:54:00:00:00\n", "node n1 52:54:00:00:00:0g\n",
		"node n1 52:54-00:00:00:0a\n", "node a/b 52:54:00:00:00:0a\n", "host n1 52:54:00:00:00:0a\n",
		"node a 52:54:00:00:00:0a\nnode b 52:54:00:00:00:0a\n", "node n1 52:54:00:00:00:0a x\n", "node n1 +2:54:00:00:00:0a\n",
		"node n1 -1:-1:-1:-1:-1:-1\n", "node n1 52-54-00-00-00--1\n" };
	struct swap w;
	struct err e;

	swap_init(&w, &(struct swap_config){ .salt = "a" });
	T_CHECK(table_parse(&w, text, strlen(text), "nodes", &e) == 0 && w.nnodes == 2);
	T_CHECK(w.nodes[0].mac[5] == 0x0a && w.nodes[1].mac[0] == 0x52 && swap_find_node(&w, "n2") == &w.nodes[1]);
	swap_free(&w);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		swap_init(&w, &(struct swap_config){ .salt = "a" });
		if (!T_CHECK(table_parse(&w, bad[i], strlen(bad[i]), "nodes", &e) != 0 && e.kind == ERR_FORMAT))
			printf("# %s", bad[i]);
		swap_free(&w);
	}
}

static void
put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	fputs(text, f);
	fclose(f);
}

static bool
has(const char *path, const char *text)
{
	char is[4096];
	FILE *f = fopen(path, "r");

	if (f == NULL)
		return text == NULL;
	is[fread(is, 1, sizeof is - 1, f)] = '\0';
	fclose(f);
	return text != NULL && strstr(is, text) != NULL;
}

/* A process that makes the token is ended by a signal at its first byte. */
static void
killed_while_it_makes(const char *path)
{
	struct err e;
	int how;
	pid_t child = fork();

	if (child == 0) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
		setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 0, 0 });
		(void)token_make(path, &e);
		_exit(0);
	}
	T_CHECK(child > 0 && waitpid(child, &how, 0) == child && WIFSIGNALED(how) && WTERMSIG(how) == SIGXFSZ);
}

/* A file of tokens, of which the first one has only the digit 0, the next one 1, and so on. */
static void
put_tokens(const char *path, const char *digits)
{
	char text[KEYFILE_BYTES_MAX], *to = text;

	to += sprintf(to, "# those of the lab\n\n");
	for (; *digits != '\0'; digits++, to += 64)
		to += sprintf(to, "%sFRISBEE-TOKEN-1 ", to[-1] == '\n' ? "" : "\n"), memset(to, *digits, 64);
	*to = '\0';
	put(path, text);
	chmod(path, 0600);
}

/* Does a header with a token of this digit count? */
static bool
counts(const char *path, char digit)
{
	char header[72] = "bearer ";

	memset(header + 7, digit, 64);
	header[71] = '\0';
	return token_counts(path, header);
}

/* A file that is cut has the tokens that are whole, or, cut within one, none. */
static void
test_tokens_cut(void)
{
	static struct keyfile_tokens t;
	char path[300], text[250];
	struct err e;

	snprintf(path, sizeof path, "%s/token", folder);
	put_tokens(path, "ab");
	FILE *f = fopen(path, "r");
	size_t all = f != NULL ? fread(text, 1, sizeof text, f) : 0, line = sizeof "FRISBEE-TOKEN-1" + 64;
	T_CHECK(f != NULL && fclose(f) == 0 && all < sizeof text);
	for (size_t n = all; n > 0; n--) {
		size_t want = n == all ? 2 : n == all - line || n == all - line - 1 ? 1 : 0;
		T_CHECK(truncate(path, (off_t)n) == 0);
		int rc = keyfile_read_tokens(path, &t, &e);
		T_CHECK(want > 0 ? rc == 0 && t.n == want : rc != 0 && e.kind == ERR_FORMAT);
	}
	unlink(path);
}

static void
test_tokens(void)
{
	char path[300], old[310], token[TOKEN_TEXT_BYTES], again[TOKEN_TEXT_BYTES], header[100];
	static struct keyfile_tokens t;
	struct err e;
	struct stat st;

	snprintf(path, sizeof path, "%s/token", folder);
	killed_while_it_makes(path);
	T_CHECK(token_make(path, &e) == 0 && stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
	T_CHECK(token_first(path, token, &e) == 0 && strlen(token) == 64);
	snprintf(header, sizeof header, "Bearer %s", token);
	T_CHECK(token_counts(path, header) && !token_counts(path, NULL) && !token_counts(path, token) && !token_counts(path, "Bearer "));
	T_CHECK(token_make(path, &e) == 0 && token_counts(path, header)); /* it stays */
	header[70] = '\0';
	T_CHECK(!token_counts(path, header));
	snprintf(header, sizeof header, "Bearer %s0", token);
	T_CHECK(!token_counts(path, header));
	put(path, "0123456789abcdef0123456789abcdef0123456789abcdef\n"); /* one of before */
	T_CHECK(token_first(path, again, &e) != 0 && e.kind == ERR_FORMAT && strstr(e.text, "line 1 is no token") != NULL);
	T_CHECK(token_make(path, &e) == 0 && token_first(path, again, &e) == 0 && strcmp(again, token) != 0);
	put_tokens(path, "0g"); /* a slip of the pen */
	T_CHECK(token_make(path, &e) == 0 && !counts(path, '0') && token_first(path, again, &e) == 0);
	snprintf(old, sizeof old, "%s.old", path);
	T_CHECK(access(path, F_OK) == 0 && keyfile_read_tokens(old, &t, &e) != 0 && strstr(e.text, "line 4 is no token") != NULL);
	T_CHECK(stat(old, &st) == 0 && (st.st_mode & 077) == 0 && unlink(old) == 0);
	put_tokens(path, "0123f");
	T_CHECK(token_first(path, token, &e) == 0 && token[0] == '0');
	T_CHECK(counts(path, '0') && counts(path, '3') && counts(path, 'f') && !counts(path, '4') && !counts(path, 'F'));
	put_tokens(path, "02"); /* some are withdrawn */
	T_CHECK(counts(path, '2') && !counts(path, '1') && !counts(path, 'f'));
	put_tokens(path, "0g");
	T_CHECK(!counts(path, '0') && token_first(path, token, &e) != 0 && strstr(e.text, "line 4 is no token") != NULL);
	put_tokens(path, "");
	T_CHECK(token_first(path, token, &e) != 0 && e.kind == ERR_FORMAT);
	put_tokens(path, "0");
	chmod(path, 0640);
	T_CHECK(!counts(path, '0'));
	unlink(path);
	T_CHECK(!counts(path, '0') && token_first(path, token, &e) != 0);
}

static void
test_host(void)
{
	static const char *const local[] = { "localhost", "LOCALHOST:80", "127.0.0.1", "127.0.0.1:8484", "10.9.0.1:1", "[::1]", "[fe80::1]:8484" };
	static const char *const other[] = { "", ":8484", "evil.example", "evil.example:8484", "localhost.", "localhost.evil", "127.0.0.1.evil", "127.1",
		"127.0.0.01", "::1", "[::1", "[::1].evil:80", "[]", "[localhost]", "[127.0.0.1]", " 127.0.0.1",
		"1234567890123456789012345678901234567890123456789012345678901234567890" };

	T_CHECK(host_is_local(NULL));
	for (size_t i = 0; i < sizeof local / sizeof local[0]; i++)
		T_CHECK(host_is_local(local[i]));
	for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
		if (!T_CHECK(!host_is_local(other[i])))
			printf("# %s\n", other[i]);
}

static void
test_orders(void)
{
	struct orders_config c = { .folder = folder, .address = "10.9.0.1", .report_port = 5101 };
	struct swap_wish wish = { .nodes = "n1", .image = "a.ndz", .words = "frisbee.disk=sda", .timeout_s = 600, .tries = 1 };
	char ipxe[300], grub[300], order[400];
	struct swap w;
	struct err e;
	uint32_t id;
	struct buf changed = { 0 };
	bool again;

	c.changed = &changed;
	snprintf(ipxe, sizeof ipxe, "%s/02-00-00-00-00-0a.ipxe", folder);
	snprintf(grub, sizeof grub, "%s/02:00:00:00:00:0a.cfg", folder);
	swap_init(&w, &(struct swap_config){ .salt = "cafe" });
	swap_add_node(&w, "n1", (uint8_t[]){ 2, 0, 0, 0, 0, 10 }, "", &e);
	put(ipxe, "#!ipxe\nset order frisbee.order=17-4 frisbee.action=capture\n"); /* somebody else's */
	T_CHECK(orders_settle(&c, &w, &w.nodes[0], &e) == 0 && has(ipxe, "frisbee.order=17-4"));
	T_CHECK(changed.len == 0);
	swap_start(&w, (struct swap_now){ 1, 1 }, &wish, &id, &again, &e);
	T_CHECK(orders_settle(&c, &w, &w.nodes[0], &e) == 0 && changed.len == 0); /* nobody knows where it is sent */
	swap_serves(&w, w.sessions[0], (uint8_t[]){ 239, 192, 77, 1 }, 7701);
	T_CHECK(orders_settle(&c, &w, &w.nodes[0], &e) == 0);
	T_CHECK(has(ipxe, "set order frisbee.order=cafe-1-1 frisbee.action=load frisbee.group=239.192.77.1 frisbee.port=7701 frisbee.server=10.9.0.1 "
			  "frisbee.image=a.ndz frisbee.report=10.9.0.1:5101 frisbee.onfail=reboot frisbee.disk=sda\nchain /environment.ipxe\n"));
	T_CHECK(has(grub, "set order=\"frisbee.order=cafe-1-1 "));
	size_t two = changed.len;
	T_CHECK(two == sizeof "02-00-00-00-00-0a.ipxe" + sizeof "02:00:00:00:00:0a.cfg");
	T_CHECK(orders_settle(&c, &w, &w.nodes[0], &e) == 0 && changed.len == two); /* it is right already */
	synced[0] = '\0';
	T_CHECK(orders_sync(&c, &e) == 0 && changed.len == 0);
	/* What the orders say, and then their names. */
	snprintf(order, sizeof order, "02-00-00-00-00-0a.ipxe 02:00:00:00:00:0a.cfg %s ",
	    strrchr(folder, '/') + 1);
	T_CHECK(strcmp(synced, order) == 0);
	swap_stop(&w, (struct swap_now){ 1, 1 }, id, &e);
	T_CHECK(orders_settle(&c, &w, &w.nodes[0], &e) == 0 && has(ipxe, NULL) && has(grub, NULL));
	T_CHECK(changed.len == two);
	synced[0] = '\0';
	T_CHECK(orders_sync(&c, &e) == 0);
	snprintf(order, sizeof order, "%s ", strrchr(folder, '/') + 1);
	T_CHECK(strcmp(synced, order) == 0); /* the files are gone */
	T_CHECK(whole == 0);
	for (unsigned i = 0; i < 100; i++)
		buf_bytes(&changed, "02-00-00-00-00-0a.ipxe", 23);
	T_CHECK(orders_sync(&c, &e) == 0 && whole == 1 && changed.len == 0); /* so many are synced at once */
	symlink("nowhere", ipxe); /* no order of this controller is one */
	T_CHECK(mkdir(grub, 0700) == 0 && orders_settle(&c, &w, &w.nodes[0], &e) == 0);
	unlink(ipxe);
	rmdir(grub);
	c.folder = ipxe; /* which is not there */
	T_CHECK(orders_sync(&c, &e) != 0);
	swap_free(&w);
}

/* Orders are called by the UUID or the serial number of a node that has one in the table; so are machines. */
static void
test_orders_by_smbios(void)
{
	struct orders_config c = { .folder = folder, .address = "10.9.0.1", .report_port = 5101 };
	struct swap_wish wish = { .nodes = "n1", .image = "a.ndz", .words = "frisbee.hostname=table frisbee.disk=sda", .timeout_s = 600, .tries = 1 };
	static const char uuid[] = "4c4c4544-0042-3510-8054-b4c04f4a3132";
	char own[300], grub[300], card[300];
	struct swap w;
	struct err e;
	uint32_t id;
	bool again;

	snprintf(own, sizeof own, "%s/%s.ipxe", folder, uuid);
	snprintf(grub, sizeof grub, "%s/%s.cfg", folder, uuid);
	snprintf(card, sizeof card, "%s/02-00-00-00-00-0a.ipxe", folder);
	swap_init(&w, &(struct swap_config){ .salt = "cafe" });
	T_CHECK(swap_add_node(&w, "n1", (uint8_t[]){ 2, 0, 0, 0, 0, 10 }, uuid, &e) == 0);
	T_CHECK(swap_add_node(&w, "n2", (uint8_t[]){ 2, 0, 0, 0, 0, 11 }, "serial:B7", &e) == 0);
	T_CHECK(swap_start(&w, (struct swap_now){ 1, 1 }, &wish, &id, &again, &e) == 0);
	swap_serves(&w, w.sessions[0], (uint8_t[]){ 239, 192, 77, 1 }, 7701);
	put(card, "#!ipxe\nset order frisbee.order=17-4 frisbee.action=capture\n"); /* somebody else's */
	T_CHECK(orders_settle(&c, &w, &w.nodes[0], &e) != 0 && e.kind == ERR_USAGE && has(own, NULL));
	T_CHECK(orders_settle(&c, &w, &w.nodes[1], &e) == 0); /* it is to have none */
	unlink(card);
	T_CHECK(orders_settle(&c, &w, &w.nodes[0], &e) == 0 && has(card, NULL));
	T_CHECK(has(own, " frisbee.onfail=reboot frisbee.hostname=n1 frisbee.disk=sda\n") && has(grub, "set order="));
	T_CHECK(orders_sweep(&c, &w, &e) == 0 && has(own, "cafe-1-1"));
	/* Another machine has the UUID, too: nothing is left of that order. */
	w.nodes[0].doubted = true;
	T_CHECK(orders_settle(&c, &w, &w.nodes[0], &e) == 0 && has(own, NULL) && has(grub, NULL) && has(card, "cafe-1-1"));
	put(own, "#!ipxe\nset order frisbee.order=cafe-1-1 frisbee.action=load\n");
	T_CHECK(orders_sweep(&c, &w, &e) == 0 && has(own, NULL) && has(card, "cafe-1-1"));
	swap_stop(&w, (struct swap_now){ 1, 1 }, id, &e);
	T_CHECK(orders_settle(&c, &w, &w.nodes[0], &e) == 0 && has(card, NULL));
	swap_free(&w);
}

/* Nobody knows whether an order is there that cannot be read: a node that is done may not hear that it is gone. */
static void
test_orders_unread(void)
{
	struct orders_config c = { .folder = folder, .address = "10.9.0.1" };
	struct rlimit before, none;
	char ipxe[300];
	struct swap w;
	struct err e = { 0 };

	snprintf(ipxe, sizeof ipxe, "%s/02-00-00-00-00-0a.ipxe", folder);
	put(ipxe, "#!ipxe\nset order frisbee.order=cafe-1-1 frisbee.action=load\n");
	swap_init(&w, &(struct swap_config){ .salt = "cafe" });
	swap_add_node(&w, "n1", (uint8_t[]){ 2, 0, 0, 0, 0, 10 }, "", &e);
	getrlimit(RLIMIT_NOFILE, &before);
	none = before;
	none.rlim_cur = 3; /* a stranger has all others */
	setrlimit(RLIMIT_NOFILE, &none);
	int rc = orders_settle(&c, &w, &w.nodes[0], &e);
	setrlimit(RLIMIT_NOFILE, &before);
	T_CHECK(rc != 0 && strstr(e.text, "Too many open files") != NULL);
	T_CHECK(orders_settle(&c, &w, &w.nodes[0], &e) == 0 && has(ipxe, NULL));
	swap_free(&w);
}

/* The file of nodes was changed while no controller ran: what it has ordered for a machine that is no node is
 * removed, and nothing else. */
static void
test_old_orders(void)
{
	struct orders_config c = { .folder = folder, .address = "10.9.0.1" };
	static const char own[] = "#!ipxe\nset order frisbee.order=cafe-1-1 frisbee.action=load\n";
	static const char *const names[] = { "02-00-00-00-00-0a.ipxe", "02-00-00-00-00-0b.ipxe", "02:00:00:00:00:0b.cfg",
		"02-00-00-00-00-0c.ipxe", "default.ipxe", "02-00-00-00-00-0b.ipxe~" };
	char path[6][300];
	struct swap w;
	struct err e;

	for (int i = 0; i < 6; i++) {
		snprintf(path[i], sizeof path[i], "%s/%s", folder, names[i]);
		put(path[i], i != 3 ? own : "set order frisbee.order=beef-1-1 frisbee.action=load\n");
	}
	swap_init(&w, &(struct swap_config){ .salt = "cafe" });
	swap_add_node(&w, "n1", (uint8_t[]){ 2, 0, 0, 0, 0, 10 }, "", &e);
	T_CHECK(orders_sweep(&c, &w, &e) == 0 && has(path[1], NULL) && has(path[2], NULL));
	T_CHECK(has(path[0], own) && has(path[3], "beef") && has(path[4], own) && has(path[5], own));
	for (int i = 0; i < 6; i++)
		unlink(path[i]);
	c.folder = path[0];
	T_CHECK(orders_sweep(&c, &w, &e) != 0 && e.kind != ERR_NONE);
	swap_free(&w);
}

static struct jtree *
said(const char *text)
{
	struct jtree *j = NULL;
	struct err e;

	T_CHECK(jtree_read(&j, text, strlen(text), &e) == 0);
	return j;
}

/* What mfrisbeed says of the images is passed on; without it, the last of it stays, and a sentence says so. */
static void
test_images(void)
{
	static const char text[] = "{\"ok\": true,\"images\": [{\"name\": \"a.ndz\",\"bytes\": 7,\"modified\": 9,"
				   "\"version\": \"9\"},{\"name\": \"s\",\"store\": \"db:3\"},{\"bytes\": \"x\"}]}";
	struct images x = { 0 };

	T_CHECK(!images_are_said(&x, 1));
	images_take(&x, 1, said(text), NULL);
	T_CHECK(strcmp(x.text, "{\"images\": [{\"name\": \"a.ndz\",\"version\": \"9\",\"bytes\": 7,\"modified\": 9},"
			       "{\"name\": \"s\",\"store\": \"db:3\"},{}]}\n") == 0);
	T_CHECK(images_have(&x, "a.ndz") && images_have(&x, "s") && !images_have(&x, "b") && !images_may_have(&x, "b"));
	T_CHECK(images_are_said(&x, 1) && !images_are_said(&x, 2) && x.changed == 1);
	images_take(&x, 2, said(text), NULL);
	T_CHECK(x.changed == 1 && images_are_said(&x, 2));
	images_take(&x, 3, NULL, "it is away");
	T_CHECK(x.changed == 2 && images_are_said(&x, 9) && images_have(&x, "a.ndz") && images_may_have(&x, "b"));
	T_CHECK(strstr(x.text, "],\"away\": \"mfrisbeed does not say which images there are: it is away\"}") != NULL);
	images_take(&x, 4, said("{\"images\": [],\"more\": true}"), NULL);
	T_CHECK(strcmp(x.text, "{\"images\": []}\n") == 0 && images_may_have(&x, "b") && !images_have(&x, "b"));
	images_free(&x);
}

static void
test_magic(void)
{
	uint8_t packet[102];

	power_magic((uint8_t[]){ 1, 2, 3, 4, 5, 6 }, packet);
	T_CHECK(packet[0] == 0xff && packet[5] == 0xff && packet[6] == 1 && packet[11] == 6 && packet[101] == 6 && packet[96] == 1);
}

static int
connect_to(uint16_t port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
		abort();
	return fd;
}

static int
count_report(void *arg, const struct swap_report *report, const uint8_t ip[4], struct err *e)
{
	unsigned *taken = arg;

	(void)report, (void)ip, (void)e;
	++*taken;
	return 0;
}

/* Whoever opens connections and says nothing does not take the answer from a node that has reported. */
static void
test_reports_flood(void)
{
	enum { SILENT = 1024, FILES = 4096 };
	static const char said[] = "report 02-00-00-00-00-01 5a17-1-1 done well\n";
	static int silent[SILENT];
	struct loop loop;
	struct reports *r;
	struct rlimit most;
	struct err e;
	char answer[16] = "";
	unsigned taken = 0;

	openfiles_allow(FILES);
	if (getrlimit(RLIMIT_NOFILE, &most) != 0 || most.rlim_cur < FILES) {
		puts("# the limit of open files is too low for connections that say nothing");
		return;
	}
	T_CHECK(loop_open(&loop, &e) == 0);
	T_CHECK(reports_open(&r, &loop, (uint8_t[]){ 127, 0, 0, 1 }, 0, count_report, &taken, &e) == 0);
	int node = connect_to(reports_port(r));
	T_CHECK(send(node, said, sizeof said - 1, 0) == (ssize_t)sizeof said - 1);
	for (int i = 0; i < 100 && taken == 0; i++)
		loop_once(&loop, 100);
	T_CHECK(taken == 1);
	for (int i = 0; i < SILENT; i++) {
		silent[i] = connect_to(reports_port(r));
		loop_once(&loop, 100);
	}
	reports_answer(r, 7, NULL);
	T_CHECK(recv(node, answer, sizeof answer - 1, 0) == 5 && strcmp(answer, "ok 7\n") == 0);
	for (int i = 0; i < SILENT; i++)
		close(silent[i]);
	close(node);
	reports_close(r);
	loop_close(&loop);
}

int
main(void)
{
	if (!tmp_folder(folder, sizeof folder, "controller"))
		return 1;
	test_wish();
	test_routes();
	test_table();
	test_tokens();
	test_tokens_cut();
	test_host();
	test_orders();
	test_orders_by_smbios();
	test_orders_unread();
	test_old_orders();
	test_images();
	test_magic();
	test_reports_flood();
	T_CHECK(rmdir(folder) == 0);
	return t_done();
}
