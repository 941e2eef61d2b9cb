/* The first block of dm-era's metadata, and the record of a tracked device. */
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dsync/track/record.h"
#include "dsync/track/superblock.h"
#include "tests/t.h"
#include "tests/unit/scratch.h"

static unsigned flushes;

/* What the library asks of the system. */
int
fsync(int fd)
{
	flushes++;
	return (int)syscall(SYS_fsync, fd);
}

/* The beginning of what era_restore(8) 0.9.0 makes of 2048 blocks of 128 sectors in era 5; zeros
 * follow up to byte 4095. */
static const uint8_t made[] = {
	0x2e, 0xde, 0x47, 0x5b, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x7b, 0x07, 0xc1, 0x7e,
	0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x09, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x80, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00,
	0x00, 0x08, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
};

static void
make_block(uint8_t block[SUPERBLOCK_BYTES])
{
	memset(block, 0, SUPERBLOCK_BYTES);
	memcpy(block, made, sizeof made);
}

static struct stream_id
id(int n)
{
	struct stream_id i;

	memset(&i, n, sizeof i);
	return i;
}

static void
test_superblock(void)
{
	uint8_t block[SUPERBLOCK_BYTES];
	struct stream_id seven = id(7), none = { 0 };
	struct superblock s;
	struct err e;

	make_block(block);
	T_CHECK(superblock_get(&s, block, &e) == 0);
	T_CHECK(!s.empty && s.block_sectors == 128 && s.blocks == 2048 && s.era == 5);
	T_CHECK(s.room_bytes == 1024 * 4096); /* era_restore had 4 MiB */
	T_CHECK(!stream_id_set(&s.generation));
	superblock_put(block, &seven);
	T_CHECK(superblock_get(&s, block, &e) == 0 && stream_id_same(&s.generation, &seven));
	superblock_put(block, &none);
	T_CHECK(memcmp(block, made, sizeof made) == 0);
	memset(block, 0, sizeof block);
	T_CHECK(superblock_get(&s, block, &e) == 0 && s.empty && s.room_bytes == UINT64_MAX);
}

/* Each changed byte is noticed. */
static void
test_damage(void)
{
	uint8_t block[SUPERBLOCK_BYTES];
	struct superblock s;
	struct err e;
	unsigned refused = 0;

	make_block(block);
	for (size_t i = 0; i < sizeof block; i++) {
		block[i] ^= 0x20;
		refused += superblock_get(&s, block, &e) != 0 && e.kind == ERR_FORMAT;
		block[i] ^= 0x20;
	}
	T_CHECK(refused == sizeof block);
	make_block(block);
	block[40] = 2; /* a version that is not known, with a right check sum */
	superblock_put(block, &(struct stream_id){ { 0 } });
	T_CHECK(superblock_get(&s, block, &e) != 0 && e.kind == ERR_UNSUPPORTED);
}

static void
put_file(const char *name, const void *bytes, size_t n)
{
	FILE *f = fopen(in_scratch(name), "w");

	if (f == NULL || fwrite(bytes, 1, n, f) != n || fclose(f) != 0)
		abort();
}

/* In a file, and as the packaged program reads it. */
static void
test_file(void)
{
	uint8_t block[SUPERBLOCK_BYTES], other[SUPERBLOCK_BYTES] = "something else";
	struct stream_id nine = id(9);
	struct superblock s;
	struct err e;

	make_block(block);
	put_file("meta", block, sizeof block);
	sh("truncate -s 4M meta");
	flushes = 0;
	T_CHECK(superblock_write(in_scratch("meta"), &nine, &e) == 0 && flushes > 0);
	T_CHECK(superblock_read(&s, in_scratch("meta"), &e) == 0);
	T_CHECK(stream_id_same(&s.generation, &nine) && s.era == 5);
	T_CHECK(s.room_bytes == 4 << 20);
	sh("truncate -s 8M meta"); /* what was made with 4 MiB uses no more */
	T_CHECK(superblock_read(&s, in_scratch("meta"), &e) == 0 && s.room_bytes == 4 << 20);
	sh("truncate -s 3M meta");
	T_CHECK(superblock_read(&s, in_scratch("meta"), &e) == 0 && s.room_bytes == 3 << 20);
	T_CHECK(superblock_clear(in_scratch("meta"), &e) == 0);
	T_CHECK(superblock_read(&s, in_scratch("meta"), &e) == 0 && s.empty);
	T_CHECK(superblock_write(in_scratch("meta"), &nine, &e) != 0 && e.kind == ERR_REFUSED);
	put_file("other", other, sizeof other);
	T_CHECK(superblock_write(in_scratch("other"), &nine, &e) != 0 && e.kind == ERR_FORMAT);
	T_CHECK(scratch_holds("other", other, sizeof other));
	put_file("short", other, 100);
	T_CHECK(superblock_read(&s, in_scratch("short"), &e) != 0);
}

/* era_check(8) accepts metadata with a generation, and refuses it with a wrong check sum. */
static void
test_checked(void)
{
	struct stream_id nine = id(9);
	struct err e;

	if (sh("command -v era_restore") != 0)
		return skip("era_check", "needs thin-provisioning-tools");
	sh("{ echo '<superblock uuid=\"\" block_size=\"128\" nr_blocks=\"9\" current_era=\"5\">';"
	   "echo '<era_array>'; for i in 0 1 2 3 4 5 6 7 8; do"
	   " echo \"<era block=\\\"$i\\\" era=\\\"2\\\"/>\"; done; echo '</era_array></superblock>'; } > x");
	T_CHECK(sh("truncate -s 4M real && era_restore -i x -o real && era_check real") == 0);
	T_CHECK(superblock_write(in_scratch("real"), &nine, &e) == 0);
	T_CHECK(sh("era_check real") == 0);
	sh("printf x | dd of=real bs=1 seek=20 conv=notrunc");
	T_CHECK(sh("era_check real") != 0);
}

static struct record
sample(void)
{
	struct record r = { .lock = -1 };
	struct err e;

	T_CHECK(record_begin(&r, scratch_dir, "disk", true, &e) == 0);
	strcpy(r.device, "/dev/sdb");
	strcpy(r.metadata, "/dev/sdc");
	r.block_sectors = 128, r.device_bytes = 1 << 30, r.beneath = true;
	r.identity = id(1), r.generation = id(2);
	strcpy(r.active, "boot.5");
	return r;
}

static void
test_record(void)
{
	struct record r = sample(), again, second;
	struct err e;

	T_CHECK(record_read(&r, &e) != 0 && e.kind == ERR_ABSENT);
	flushes = 0;
	T_CHECK(record_save(&r, &e) == 0 && flushes >= 2); /* content and name */
	T_CHECK(record_begin(&second, scratch_dir, "disk", true, &e) != 0 && e.kind == ERR_REFUSED);
	record_close(&second);
	record_close(&r);
	T_CHECK(record_begin(&again, scratch_dir, "disk", true, &e) == 0 && record_read(&again, &e) == 0);
	T_CHECK(strcmp(again.device, "/dev/sdb") == 0 && strcmp(again.metadata, "/dev/sdc") == 0);
	T_CHECK(again.block_sectors == 128 && again.device_bytes == 1 << 30 && again.beneath);
	T_CHECK(stream_id_same(&again.identity, &r.identity));
	T_CHECK(stream_id_same(&again.generation, &r.generation));
	T_CHECK(strcmp(again.active, "boot.5") == 0);
	T_CHECK(record_remove(&again, &e) == 0);
	T_CHECK(record_read(&again, &e) != 0 && e.kind == ERR_ABSENT);
	record_close(&again);
}

/* A record that is cut anywhere is either damaged, or has all that makes its tracker work. */
static void
test_cut_record(void)
{
	struct record r = sample(), cut;
	char text[2000];
	struct err e;
	unsigned wrong = 0, damaged = 0;

	T_CHECK(record_save(&r, &e) == 0);
	FILE *f = fopen(r.path, "r");
	size_t n = f != NULL ? fread(text, 1, sizeof text, f) : 0;
	if (f != NULL)
		fclose(f);
	for (size_t i = 0; i < n; i++) {
		put_file("track/disk", text, i);
		cut = (struct record){ .lock = -1, .path = r.path };
		if (record_read(&cut, &e) != 0)
			damaged++;
		else if (cut.block_sectors == 0 || cut.device[0] == '\0')
			wrong++;
	}
	T_CHECK(n > 150 && wrong == 0 && damaged > n / 2);
	record_close(&r);
}

int
main(void)
{
	scratch_init();
	test_superblock();
	test_damage();
	test_file();
	test_checked();
	test_record();
	test_cut_record();
	scratch_done();
	return t_done();
}
