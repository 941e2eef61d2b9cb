/* A disk that only its process can read, lent to a child: what the child reads is what the disk
 * has, an unreadable sector is an error there, and nothing that a child asks harms the parent. */
#include "common/disk/disk_lent.h"

#include <sys/wait.h>
#include <unistd.h>

#include "tests/t.h"
#include "tests/unit/memdisk.h"

enum { BYTES = 300000 };

static uint8_t bytes[BYTES], got[BYTES];
static struct mem mem = { .b = bytes, .len = BYTES, .bad = SIZE_MAX };
static struct disk *disk;
static struct err e;

/* What run() says in a child that has borrowed the disk: 0..99; -1: it crashed. */
static int
in_child(int (*run)(struct disk *borrowed, int fd))
{
	struct disk_lent *l;
	struct disk *borrowed;
	int status = 0;

	T_CHECK(disk_lend(&l, disk, &borrowed, &e) == 0);
	pid_t child = fork();
	if (child == 0)
		_exit(run(borrowed, disk_lent_fd(l)));
	T_CHECK(waitpid(child, &status, 0) == child);
	disk_lent_end(l);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int
read_all(struct disk *d, int fd)
{
	(void)fd;
	if (disk_size_bytes(d) != BYTES || disk_sector_bytes(d) != disk_sector_bytes(disk))
		return 1;
	return disk_read(d, got, BYTES, 0, &e) == 0 && memcmp(got, bytes, BYTES) == 0 ? 0 : 2;
}

static int
read_odd(struct disk *d, int fd)
{
	(void)fd;
	if (disk_read(d, got, 777, 123457, &e) != 0 || memcmp(got, bytes + 123457, 777) != 0)
		return 1;
	if (disk_read_upto(d, got, 1000, BYTES - 10, &e) != 10)
		return 2;
	return disk_read_upto(d, got, 1000, BYTES + 10, &e) == 0 ? 0 : 3;
}

static int
read_bad(struct disk *d, int fd)
{
	(void)fd;
	if (disk_read(d, got, 512, 1024, &e) == 0)
		return 1;
	return disk_read(d, got, 512, 0, &e) == 0 && memcmp(got, bytes, 512) == 0 ? 0 : 2;
}

/* A question from nowhere, as long as can be, which is cut; and half of one. */
static int
ask_nonsense(struct disk *d, int fd)
{
	uint8_t question[16];
	uint8_t answer[8];

	(void)d;
	memset(question, 0xff, sizeof question);
	if (write(fd, question, sizeof question) != sizeof question ||
	    read(fd, answer, sizeof answer) != sizeof answer)
		return 1;
	if (peek(answer, 8) != 0)
		return 2;
	return write(fd, question, 5) == 5 ? 0 : 3;
}

/* It asks, and does not wait for the answer. */
static int
run_away(struct disk *d, int fd)
{
	uint8_t question[16] = { 0 };

	(void)d;
	question[9] = 0xff;
	for (int i = 0; i < 20; i++)
		if (write(fd, question, sizeof question) != sizeof question)
			return 1;
	return 0;
}

int
main(void)
{
	for (size_t i = 0; i < BYTES; i++)
		bytes[i] = (uint8_t)(i * 2654435761u >> 13);
	disk = mem_disk(&mem, DISK_FILE, 4096);
	T_CHECK(in_child(read_all) == 0);
	T_CHECK(in_child(read_odd) == 0);
	T_CHECK(in_child(ask_nonsense) == 0);
	T_CHECK(in_child(run_away) == 0);
	mem.bad = 1024;
	T_CHECK(in_child(read_bad) == 0);
	mem.bad = SIZE_MAX;
	T_CHECK(in_child(read_all) == 0);
	disk_close(disk, &e);
	return t_done();
}
