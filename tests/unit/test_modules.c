/* Lists of a kernel's modules: what is chosen with what, names, and texts that end anywhere. */
#include <stdlib.h>
#include <string.h>

#include "stream/boot/drivers.h"
#include "stream/boot/modules.h"
#include "tests/t.h"

static const char dep[] = "kernel/drivers/block/nbd.ko.xz:\n"
			  "kernel/drivers/md/dm-mod.ko.xz: kernel/drivers/dax/dax.ko.xz\n"
			  "kernel/drivers/dax/dax.ko.xz:\n"
			  "kernel/drivers/net/virtio_net.ko.xz:\n"
			  "kernel/drivers/scsi/bnx2fc/bnx2fc.ko.xz: kernel/drivers/scsi/sd_mod.ko.xz\n"
			  "kernel/drivers/scsi/sd_mod.ko.xz:\n"
			  "kernel/sound/noise.ko.xz:\n";
static const char builtin[] = "kernel/fs/ext4/ext4.ko\nkernel/lib/crc-t10dif.ko\n";

static int
read_texts(struct modules *m, const char *d, size_t dlen, const char *b, struct err *e)
{
	struct buf db = { .base = (uint8_t *)(uintptr_t)d, .len = dlen };
	struct buf bb = { .base = (uint8_t *)(uintptr_t)b, .len = strlen(b) };

	return modules_read(m, &db, &bb, e);
}

static bool
is_chosen(const struct modules *m, const char *name)
{
	char own[64];

	for (size_t i = 0; i < m->n; i++)
		if (strcmp(module_name(m->list[i].path, own, sizeof own), name) == 0)
			return m->list[i].chosen;
	return false;
}

static void
test_choice(void)
{
	struct modules m;
	struct err e;

	T_CHECK(read_texts(&m, dep, strlen(dep), builtin, &e) == 0 && m.n == 7);
	T_CHECK(drivers_need(&m, "ext4", &e) == 0 && modules_chosen(&m) == 3);
	T_CHECK(is_chosen(&m, "nbd") && is_chosen(&m, "dm_mod") && is_chosen(&m, "dax"));
	T_CHECK(drivers_need(&m, "xfs", &e) != 0 && e.kind == ERR_UNSUPPORTED);
	T_CHECK(strcmp(e.text, "has no module xfs") == 0);
	T_CHECK(!modules_choose(&m, "nothing"));
	T_CHECK(modules_choose(&m, "crc_t10dif") && modules_chosen(&m) == 3);
	drivers_all(&m);
	T_CHECK(is_chosen(&m, "virtio_net") && is_chosen(&m, "sd_mod"));
	T_CHECK(!is_chosen(&m, "noise") && !is_chosen(&m, "bnx2fc"));
	T_CHECK(drivers_listed(&m, "noise,nothing", &e) == 0 && is_chosen(&m, "noise"));
	modules_free(&m);
}

static void
test_names(void)
{
	char name[8];

	T_CHECK(strcmp(module_name("kernel/a/b-c.ko.zst", name, sizeof name), "b_c") == 0);
	T_CHECK(strcmp(module_name("plain", name, sizeof name), "plain") == 0);
	T_CHECK(strcmp(module_name("k/0123456789.ko", name, sizeof name), "0123456") == 0);
}

/* Each beginning of the list, in memory of exactly its size. */
static void
test_truncated(void)
{
	size_t right = 0;

	for (size_t n = 0; n <= strlen(dep); n++) {
		char *exactly = malloc(n > 0 ? n : 1);
		struct modules m;
		struct err e;
		if (exactly == NULL)
			return;
		memcpy(exactly, dep, n);
		if (read_texts(&m, exactly, n, builtin, &e) == 0) {
			right++;
			drivers_all(&m);
			modules_free(&m);
		} else
			T_CHECK(e.kind == ERR_FORMAT && m.list == NULL);
		free(exactly);
	}
	/* Lines that end behind their colon are right. */
	T_CHECK(right > 7 && right < strlen(dep));
}

/* What stands in a list when the endings of compressed files are gone. */
static bool
is_plain(const char *list, const char *wanted)
{
	size_t n = strlen(list);
	char *exactly = malloc(n > 0 ? n : 1);

	if (exactly == NULL)
		return false;
	memcpy(exactly, list, n);
	n = modules_plain(exactly, n);
	bool right = n == strlen(wanted) && memcmp(exactly, wanted, n) == 0;
	free(exactly);
	return right;
}

static void
test_plain(void)
{
	T_CHECK(is_plain("a/b.ko.xz: c.ko.zst d.ko.gz\n", "a/b.ko: c.ko d.ko\n"));
	T_CHECK(is_plain("a.ko.xz", "a.ko") && is_plain("", "") && is_plain("a.ko.", "a.ko."));
	T_CHECK(is_plain("a.ko: b.ko\n", "a.ko: b.ko\n"));
	T_CHECK(is_plain("a.ko.xzy b.ko.xz.gz c.xz", "a.ko.xzy b.ko.xz.gz c.xz"));
}

int
main(void)
{
	test_choice();
	test_names();
	test_truncated();
	test_plain();
	return t_done();
}
