/* The list of a master's images: those of the configuration, of its store and of its folders, each once; what is hidden, is not
 * finished, or is outside, is in no list; and there are no more than fit. */
#include "mfrisbeed/master/catalog.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emustore/store/put.h"
#include "mfrisbeed/master/storelist.h"
#include "tests/unit/golden.h"
#include "tests/unit/scratch.h"

static char listed[4000];
static unsigned nlisted;
static struct err e;
static const struct buf *stored; /* what the store has */

static void
see(void *arg, const char *name, const struct catalog_entry *x)
{
	(void)arg;
	nlisted++;
	if (strlen(listed) < sizeof listed - 300)
		sprintf(listed + strlen(listed), "%s %s;", name, x->store != NULL ? x->place : x->bytes == 3 ? "3" : "?");
}

static void
put(const char *name)
{
	FILE *f = fopen(in_scratch(name), "w");

	if (f == NULL || fputs("abc", f) < 0 || fclose(f) != 0)
		abort();
}

/* -1, or whether there are more. */
static int
list(const char *more_statements)
{
	struct settings s;
	char text[2000], images[300], uploads[300];
	bool more = false;

	strcpy(images, in_scratch("images"));
	strcpy(uploads, in_scratch("uploads"));
	snprintf(text, sizeof text, "images %s\nuploads %s\ngroup 239.1.1.1\nallow 127.0.0.1\n%s", images, uploads, more_statements);
	listed[0] = '\0';
	nlisted = 0;
	T_CHECK(settings_parse(&s, text, strlen(text), "conf", &e) == 0);
	int rc = catalog_each(&s, stored, see, NULL, &more, &e);
	settings_free(&s);
	return rc == 0 ? more : -1;
}

static void
test_each_once(void)
{
	T_CHECK(mkdir(in_scratch("images"), 0700) == 0 && mkdir(in_scratch("images/sub"), 0700) == 0);
	T_CHECK(mkdir(in_scratch("images/.old"), 0700) == 0 && mkdir(in_scratch("uploads"), 0700) == 0);
	put("outside.ndz");
	put("images/b.ndz"), put("images/a.ndz"), put("images/sub/c.ndz"), put("images/a.ndz.sig"), put("images/c.img");
	put("images/.h.ndz"), put("images/.old/d.ndz"), put("images/e.ndz.partial"), put("images/.ndz");
	put("uploads/a.ndz"), put("uploads/up.ndz");
	T_CHECK(symlink("b.ndz", in_scratch("images/link.ndz")) == 0);
	T_CHECK(symlink("../outside.ndz", in_scratch("images/out.ndz")) == 0);
	T_CHECK(mkdir(in_scratch("images/folder.ndz"), 0700) == 0);
	T_CHECK(symlink("sub", in_scratch("images/tosub")) == 0 && symlink("../uploads", in_scratch("images/toup")) == 0);
	T_CHECK(symlink(".", in_scratch("images/again")) == 0);
	T_CHECK(list("store /db\nimage win store:windows:7\nimage gone /nonexistent\n") == 0);
	T_CHECK(strcmp(listed, "win windows:7;a.ndz 3;b.ndz 3;link.ndz 3;sub/c.ndz 3;tosub/c.ndz 3;up.ndz 3;") == 0);
	char named[400];
	snprintf(named, sizeof named, "image b.ndz %s\n", in_scratch("images/c.img"));
	T_CHECK(list(named) == 0);
	T_CHECK(strcmp(listed, "b.ndz 3;a.ndz 3;link.ndz 3;sub/c.ndz 3;tosub/c.ndz 3;up.ndz 3;") == 0);
}

/* What the store has is listed without a statement, once; no file stands for such a name. */
static void
test_store(void)
{
	static const char names[] = "lab/web\0lab/web:1\0lab/web:2\0win\0win:1";
	const struct buf all = { .base = (uint8_t *)names, .len = sizeof names };
	static const char *const bad[] = { "store:", "store:../a", "store:a:x", "store:.a" };
	struct catalog_entry x;
	struct settings s;
	char text[600], *path;
	bool replaces;

	stored = &all;
	put("images/store:win.ndz"), put("images/store:win-.a.ndz");
	T_CHECK(list("store /db\nimage store:win:1 store:old\n") == 0);
	T_CHECK(strcmp(listed, "store:win:1 old;store:lab/web lab/web;store:lab/web:1 lab/web:1;store:lab/web:2 lab/web:2;"
			       "store:win win;a.ndz 3;b.ndz 3;link.ndz 3;sub/c.ndz 3;tosub/c.ndz 3;up.ndz 3;") == 0);
	T_CHECK(list("") == 0 && strstr(listed, "web") == NULL && strstr(listed, "store:win.ndz 3;") != NULL);
	stored = NULL;
	remove(in_scratch("images/store:win.ndz")), remove(in_scratch("images/store:win-.a.ndz"));
	snprintf(text, sizeof text, "store /db\nuploads %s\ngroup 239.1.1.1\nallow 127.0.0.1\n", in_scratch("uploads"));
	T_CHECK(settings_parse(&s, text, strlen(text), "conf", &e) == 0);
	T_CHECK(catalog_find(&x, &s, "store:any:7", &e) == 0 && strcmp(x.store, "/db") == 0 && strcmp(x.place, "any:7") == 0);
	catalog_entry_free(&x);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		T_CHECK(catalog_find(&x, &s, bad[i], &e) != 0 && e.kind == ERR_ABSENT);
	T_CHECK(catalog_upload_path(&path, &replaces, &s, "store:any", &e) != 0 && e.kind == ERR_USAGE);
	settings_free(&s);
}

/* A store that has an image. */
static void
make_store(void)
{
	struct recipe_image about = { .name = { .name = "win", .version = 1 } };
	struct put_config c = { .jobs = 1 };
	struct put_stats stats;
	struct store s;
	struct put *p;
	size_t len = 0;
	uint8_t *image = golden_load("ext2", &len);

	T_CHECK(store_init(in_scratch("store"), 0, 0, &e, &e) == 0);
	T_CHECK(store_open(&s, in_scratch("store"), STORE_WRITE, &e) == 0 && store_begin(&s, &e) == 0);
	T_CHECK(put_begin(&p, &s, &about, &c, &e) == 0);
	for (size_t at = 0; at + NDZ_CHUNK_BYTES <= len; at += NDZ_CHUNK_BYTES)
		T_CHECK(put_copy(p, image + at, &e) == 0);
	T_CHECK(put_end(p, &about, &stats, &e) == 0 && store_commit(&s, &e) == 0);
	put_free(p);
	store_close(&s);
	free(image);
}

/* Asks this store, and waits for its answer. */
static const struct buf *
names_in(struct storelist *x, struct loop *loop, const char *store)
{
	const struct buf *names;
	int rc = storelist_ask(x, in_scratch(store), false, &names, &e);

	T_CHECK(rc == 0);
	while (rc == 0) {
		while (!storelist_collect(x))
			loop_once(loop, -1);
		rc = storelist_ask(x, in_scratch(store), true, &names, &e);
	}
	T_CHECK(rc == 1);
	return names;
}

/* A store that cannot be read is asked in another thread, and the answer says so; whoever asks next asks it anew.  What it
 * has said before is known still, and what another store has said is not. */
static void
test_no_store(void)
{
	const struct buf *names;
	struct storelist *x;
	struct loop loop;

	T_CHECK(loop_open(&loop, &e) == 0 && storelist_new(&x, &loop, &e) == 0);
	for (int i = 0; i < 2; i++) {
		names = names_in(x, &loop, "nostore");
		T_CHECK(names->len == 0 && e.kind == ERR_IO && strstr(e.text, "nostore") != NULL);
	}
	make_store();
	names = names_in(x, &loop, "store");
	T_CHECK(names->len == sizeof "win\0win:1" && e.kind == ERR_NONE);
	T_CHECK(rename(in_scratch("store"), in_scratch("store.away")) == 0);
	names = names_in(x, &loop, "store");
	T_CHECK(names->len == sizeof "win\0win:1" && e.kind == ERR_IO);
	names = names_in(x, &loop, "nostore");
	T_CHECK(names->len == 0 && e.kind == ERR_IO);
	T_CHECK(rename(in_scratch("store.away"), in_scratch("store")) == 0);
	T_CHECK(storelist_ask(x, in_scratch("store"), false, &names, &e) == 0);
	names = names_in(x, &loop, "nostore"); /* named while the other one is asked */
	T_CHECK(names->len == 0 && e.kind == ERR_IO);
	storelist_free(x);
	loop_close(&loop);
}

static void
test_more(void)
{
	T_CHECK(list("parent boss /kept\n") == 1);
	for (int i = 0; i < CATALOG_MOST; i++) {
		char name[40];
		snprintf(name, sizeof name, "images/sub/%d.ndz", i);
		put(name);
	}
	T_CHECK(list("") == 1 && nlisted == CATALOG_MOST);
	T_CHECK(rename(in_scratch("images"), in_scratch("away")) == 0);
	T_CHECK(list("") == -1 && e.kind == ERR_IO && strstr(e.text, "images") != NULL);
}

/* The folder may be a link, and its path may end in a slash, as files below it are found. */
static void
test_path_of_folder(void)
{
	static const char *const paths[] = { "linked", "other/", "linked/", "other//" };
	char statements[400];

	T_CHECK(mkdir(in_scratch("other"), 0700) == 0 && mkdir(in_scratch("other/sub"), 0700) == 0);
	T_CHECK(symlink("other", in_scratch("linked")) == 0);
	put("other/x.ndz"), put("other/sub/y.ndz");
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		snprintf(statements, sizeof statements, "images %s\n", in_scratch(paths[i]));
		T_CHECK(list(statements) == 0);
		T_CHECK(strcmp(listed, "sub/y.ndz 3;x.ndz 3;a.ndz 3;up.ndz 3;") == 0);
	}
}

int
main(void)
{
	scratch_init();
	test_each_once();
	test_store();
	test_no_store();
	test_path_of_folder();
	test_more();
	return t_done();
}
