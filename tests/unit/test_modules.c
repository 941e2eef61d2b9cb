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

static const char aliases[] = "# Aliases extracted from modules themselves.\n"
			      "alias fs-ext4 ext4\n"
			      "alias virtio:d00000001v* virtio_net\n"
			      "alias pci:v00008086d0000100Esv*sd*bc*sc*i* e1000\n"
			      "alias scsi:t-0x00* sd_mod\n"
			      "alias usb:v0BDAp815[236]d*dc*dsc*dp*ic*isc*ip*in* noise";
static const char inside[] = "nvme.alias=pci:v*d*sv*sd*bc01sc08i02*\0nvme.license=GPL\0"
			     "acpi.alias=acpi*:VMBUS:*";

static bool
drives(struct modules *m, const char *device, const char *a, size_t alen, struct err *e)
{
	struct buf ab = { .base = (uint8_t *)(uintptr_t)a, .len = alen };
	struct buf ib = { .base = (uint8_t *)(uintptr_t)inside, .len = sizeof inside - 1 };
	struct device d;

	return device_parse(&d, device, e) == 0 && drivers_for(m, &d, &ab, &ib, e) == 0;
}

static void
test_devices(void)
{
	size_t n = strlen(aliases);
	struct modules m;
	struct device d;
	struct err e;

	T_CHECK(read_texts(&m, dep, strlen(dep), builtin, &e) == 0);
	/* By its name for drivers, whatever drives it here. */
	T_CHECK(drives(&m, "eth0,other,virtio:d00000001v00001AF4", aliases, n, &e));
	T_CHECK(is_chosen(&m, "virtio_net") && modules_chosen(&m) == 1);
	T_CHECK(drives(&m, "sda,sd_mod,scsi:t-0x00", aliases, n, &e) && is_chosen(&m, "sd_mod"));
	T_CHECK(drives(&m, "eth1,r8152,usb:v0BDAp8153d3000dcFFdscFFdp00icFFiscFFip00in00", aliases, n, &e));
	/* In the kernel itself, by name, or as it says there; the last line has no end. */
	T_CHECK(drives(&m, "sda,crc-t10dif,pci:v1", aliases, n, &e));
	T_CHECK(drives(&m, "sda,x,pci:v0d0sv0sd0bc01sc08i02", aliases, n, &e));
	T_CHECK(drives(&m, "eth0,hv_vmbus,acpi:VMBUS:", aliases, n, &e));
	/* The list names a module that is not there. */
	T_CHECK(!drives(&m, "eth0,e1000,pci:v00008086d0000100Esv1sd1bc02sc00i00", aliases, n, &e));
	T_CHECK(e.kind == ERR_UNSUPPORTED && strcmp(e.text, "has no driver for eth0, which e1000 drives "
		"here: pci:v00008086d0000100Esv1sd1bc02sc00i00") == 0);
	/* A driver of that name that does not know the device, as an older one. */
	T_CHECK(!drives(&m, "eth0,virtio_net,virtio:d00000011v1", aliases, n, &e));
	T_CHECK(!drives(&m, "eth0,virtio_net,virtio:d00000001v00001AF4", "alias x y\n", 10, &e));
	/* Names of drivers alone. */
	T_CHECK(drives(&m, "usb1,noise", aliases, n, &e) && is_chosen(&m, "noise"));
	T_CHECK(!drives(&m, "usb1,usbcore,", aliases, n, &e));
	T_CHECK(strcmp(e.text, "has no driver for usb1, which usbcore drives here") == 0);
	T_CHECK(drives(&m, "eth0,virtio_net,virtio:d00000011v1", "", 0, &e));
	modules_free(&m);
	T_CHECK(device_parse(&d, "eth0", &e) != 0 && e.kind == ERR_USAGE);
	T_CHECK(device_parse(&d, ",a,b", &e) != 0 && device_parse(&d, "", &e) != 0);
	T_CHECK(device_parse(&d, "eth0,a,of:Ca,b", &e) == 0 && strcmp(d.modalias, "of:Ca,b") == 0);
}

/* Each beginning of the list of names, in memory of exactly its size, and lines that are too long. */
static void
test_aliases_truncated(void)
{
	size_t found = 0;

	for (size_t n = 1; n <= strlen(aliases); n++) {
		char *exactly = malloc(n);
		struct modules m;
		struct err e;
		if (exactly == NULL || read_texts(&m, dep, strlen(dep), builtin, &e) != 0)
			return;
		memcpy(exactly, aliases, n);
		found += drives(&m, "eth0,x,virtio:d00000001v00001AF4", exactly, n, &e);
		memset(exactly, '*', n);
		T_CHECK(!drives(&m, "eth0,x,virtio:d00000001v00001AF4", exactly, n, &e));
		modules_free(&m);
		free(exactly);
	}
	/* The whole name of the module is needed. */
	size_t until = (size_t)(strstr(aliases, "virtio_net") - aliases) + strlen("virtio_net");
	T_CHECK(found == strlen(aliases) - until + 1);
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
	test_devices();
	test_aliases_truncated();
	test_names();
	test_truncated();
	test_plain();
	return t_done();
}
