/* The marks of a streaming disk whose server is killed.  By a seed, a server in a process of its own
 * is sent writes, zeros and reads, and is killed at any time; another one goes on with the same
 * files.  What was answered is there, flushed or not, and what was not answered is asked again.
 * The image for other machines stays what it was.  A boot is replayed, too, in which the server is
 * killed at each request.  Also: the form of the file of marks, and what is refused.
 *
 *	test_marks [KILLS [SEED]] */
#include "stream/table/marks.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/whole.h"
#include "stream/disk/streamed.h"
#include "stream/disk/streamed_impl.h"
#include "tests/random.h"
#include "tests/t.h"
#include "tests/tmp.h"
#include "tests/unit/memdisk.h"

enum {
	FRAME_SECTORS_ = 8 * PIECE_BITS,
	IMAGE_SECTORS = 2 * FRAME_SECTORS_ + 500,
	DISK_SECTORS = IMAGE_SECTORS + 1024, /* the table is behind the image */
	PLACES = 4,
	PLACE_SECTORS = 64,
	PLACE_BYTES = PLACE_SECTORS * SECTOR_BYTES,
	KILLS_OF_DISK = 10, /* then another disk begins */
	BOOT_REQUESTS = 300,
	PAGE = 4096,
	REQUESTS_MOST = 40,
	OPENING_MOST_US = 6000,
};

/* The first sectors of the disk, and those around the borders of frames and of pieces. */
static const uint64_t places[PLACES] = { 0, FRAME_SECTORS_ - 32, 2 * FRAME_SECTORS_ - 32,
	PIECE_BITS - 32 };

static char folder[64], disk_path[220], marks_path[220];
static uint8_t model[PLACES][PLACE_BYTES]; /* what the disk shows */
static struct mem image_mem;
static const char *problem;

static bool
is_stored(uint64_t sector)
{
	return sector < IMAGE_SECTORS && sector % 13 < 9;
}

/* What the image has in a byte. */
static uint8_t
image_byte(uint64_t at)
{
	uint64_t sector = at / SECTOR_BYTES;

	return is_stored(sector) ? (uint8_t)(1 + sector % 120) : 0;
}

static void
make_image(void)
{
	size_t bytes = (size_t)IMAGE_SECTORS * SECTOR_BYTES;
	uint8_t *b = malloc(bytes);

	if (b == NULL)
		abort();
	for (uint64_t s = 0; s < IMAGE_SECTORS; s++)
		memset(b + s * SECTOR_BYTES, image_byte(s * SECTOR_BYTES), SECTOR_BYTES);
	image_mem = mem_of(b, bytes);
}

static struct export *
open_source(void)
{
	struct export_config cfg = { .cache_bytes = 0 };
	struct export *source;
	struct rangeset set;
	struct err e;

	rangeset_init(&set);
	for (uint64_t at = 0; at < IMAGE_SECTORS; at++)
		if (is_stored(at))
			rangeset_add(&set, (struct range){ at, 1 }, &e);
	rangeset_seal(&set);
	if (export_open_disk(&source, mem_open(&image_mem, "image", DISK_BLOCK), &set, &cfg, &e) !=
	    0)
		abort();
	return source;
}

/* The server. */

enum ask { ASK_WRITE, ASK_ZERO, ASK_READ, ASK_READ_IMAGE, ASK_FLUSH };

struct request {
	enum ask what;
	uint32_t bytes;
	uint64_t at;
	uint8_t data[PLACE_BYTES];
};

static void
tell(void *arg, const char *sentence)
{
	(void)arg, (void)sentence;
}

static int
open_device(struct streamed **d, struct export *source, bool fill, bool anew, struct err *e)
{
	struct streamed_config cfg = { .disk = disk_path,
		.marks = marks_path,
		.anew = anew,
		.no_fill = !fill,
		.fill_rate = 4 << 20,
		.tell = tell };

	return streamed_open(d, source, &cfg, e);
}

static int
obey(struct streamed *d, struct request *q, struct err *e)
{
	switch (q->what) {
	case ASK_WRITE: return streamed_write(d, q->data, q->bytes, q->at, e);
	case ASK_ZERO: return streamed_zero(d, q->bytes, q->at, e);
	case ASK_READ: return streamed_read(d, q->data, q->bytes, q->at, e);
	case ASK_READ_IMAGE: return streamed_read_image(d, q->data, q->bytes, q->at, e);
	case ASK_FLUSH: return streamed_flush(d, e);
	}
	return -1;
}

/* Receive all n bytes.  false: the other side has ended. */
static bool
receive(int fd, void *to, size_t n)
{
	return recv(fd, to, n, MSG_WAITALL) == (ssize_t)n;
}

static _Noreturn void
serve(int fd, bool fill, bool anew)
{
	static struct request q;
	struct streamed *d;
	struct err e;

	if (open_device(&d, open_source(), fill, anew, &e) != 0 || streamed_start(d, &e) != 0) {
		fprintf(stderr, "# %s\n", e.text);
		_exit(1);
	}
	while (receive(fd, &q, sizeof q))
		if (obey(d, &q, &e) != 0 || write_whole(fd, &q, sizeof q) != 0) {
			fprintf(stderr, "# %s\n", e.text);
			_exit(1);
		}
	_exit(streamed_close(d, &e) != 0);
}

static int server_fd = -1;
static pid_t server;

/* Every server is asked to begin anew, as whoever starts a killed one again would do. */
static void
start_server(bool fill)
{
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) != 0)
		abort();
	fflush(stdout);
	server = fork();
	if (server < 0)
		abort();
	if (server == 0) {
		close(fd[0]);
		serve(fd[1], fill, true);
	}
	close(fd[1]);
	server_fd = fd[0];
}

/* Returns how the server has ended. */
static int
end_server(bool kill_it)
{
	int status;

	if (kill_it)
		kill(server, SIGKILL);
	close(server_fd);
	if (waitpid(server, &status, 0) != server)
		abort();
	return status;
}

static void
ask(const struct request *q)
{
	if (write_whole(server_fd, q, sizeof *q) != 0)
		problem = "the server takes no request";
}

static void
await(struct request *answer)
{
	if (problem == NULL && !receive(server_fd, answer, sizeof *answer))
		problem = "the server does not answer";
}

/* The client. */

static struct request
some_request(unsigned *place)
{
	static const enum ask asks[] = { ASK_WRITE, ASK_WRITE, ASK_WRITE, ASK_ZERO, ASK_READ,
		ASK_READ_IMAGE, ASK_FLUSH };
	struct request q = { .what = asks[draw(draw(4) == 0 ? 7 : 6)] };
	uint64_t in = draw(PLACE_BYTES);

	q.bytes = (uint32_t)(1 + draw(draw(2) == 0 ? 3000 : PLACE_BYTES));
	if (draw(2) == 0) {
		in = in / SECTOR_BYTES * SECTOR_BYTES;
		q.bytes = (q.bytes + SECTOR_BYTES - 1) / SECTOR_BYTES * SECTOR_BYTES;
	}
	q.bytes = q.bytes < PLACE_BYTES - in ? q.bytes : (uint32_t)(PLACE_BYTES - in);
	*place = (unsigned)draw(PLACES);
	q.at = places[*place] * SECTOR_BYTES + in;
	if (q.what == ASK_WRITE)
		draw_bytes(q.data, q.bytes);
	return q;
}

/* The model has what will be answered, since a request that is not answered comes again. */
static void
note(const struct request *q, unsigned place)
{
	uint8_t *at = model[place] + (q->at - places[place] * SECTOR_BYTES);

	if (q->what == ASK_WRITE)
		memcpy(at, q->data, q->bytes);
	if (q->what == ASK_ZERO)
		memset(at, 0, q->bytes);
}

static void
compare(const struct request *answer, unsigned place)
{
	const uint8_t *right = model[place] + (answer->at - places[place] * SECTOR_BYTES);
	bool same = true;

	if (problem != NULL)
		return;
	if (answer->what == ASK_READ)
		same = memcmp(answer->data, right, answer->bytes) == 0;
	for (uint32_t i = 0; answer->what == ASK_READ_IMAGE && i < answer->bytes && same; i++)
		same = answer->data[i] == image_byte(answer->at + i);
	if (!same)
		problem = answer->what == ASK_READ
		              ? "a read returns something else"
		              : "the image for other machines has something else";
}

/* Read everything, without any cache in between, and compare. */
static void
compare_all(enum ask what)
{
	static struct request q;

	for (unsigned place = 0; place < PLACES && problem == NULL; place++) {
		q = (struct request){
			.what = what, .bytes = PLACE_BYTES, .at = places[place] * SECTOR_BYTES
		};
		ask(&q);
		await(&q);
		compare(&q, place);
	}
}

static void
make_disk(void)
{
	int fd = open(disk_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int marks = open(marks_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || marks < 0 || ftruncate(fd, (off_t)DISK_SECTORS * SECTOR_BYTES) != 0)
		abort();
	close(fd);
	close(marks);
	for (unsigned p = 0; p < PLACES; p++)
		for (size_t i = 0; i < PLACE_BYTES; i++)
			model[p][i] = image_byte(places[p] * SECTOR_BYTES + i);
}

/* Servers that are killed, too, while they take over, or have just done so. */
static void
kill_amid_opening(bool fill)
{
	while (draw(3) == 0) {
		start_server(fill);
		usleep((useconds_t)draw(OPENING_MOST_US));
		end_server(true);
	}
}

/* Some requests, of which the last one may not be answered before the server is killed; another
 * server is asked it again. */
static void
kill_once(bool fill)
{
	static struct request q;
	unsigned place = 0;

	for (uint64_t n = 1 + draw(REQUESTS_MOST); n > 0 && problem == NULL; n--) {
		q = some_request(&place);
		note(&q, place);
		ask(&q);
		if (n > 1 || draw(2) == 0) {
			static struct request answer;
			await(&answer);
			compare(&answer, place);
		} else {
			usleep((useconds_t)draw(400));
		}
	}
	end_server(true);
	kill_amid_opening(fill);
	start_server(fill);
	ask(&q);
	await(&q);
	compare(&q, place);
	compare_all(ASK_READ);
	compare_all(ASK_READ_IMAGE);
}

/* End the server in order.  Returns false when this seed has found a problem. */
static bool
ends_well(uint64_t seed)
{
	int status = end_server(problem != NULL);
	struct stat st;

	if (problem == NULL && status != 0)
		problem = "the server does not end in order";
	if (problem == NULL && (stat(marks_path, &st) != 0 || st.st_size != 0))
		problem = "there are marks of a server that has ended in order";
	if (problem != NULL)
		printf("# seed %llu: %s\n", (unsigned long long)seed, problem);
	return problem == NULL;
}

static bool
disk_with_kills(uint64_t seed, unsigned kills)
{
	draw_seed = seed;
	problem = NULL;
	make_disk();
	bool fill = draw(3) == 0;
	start_server(fill);
	for (unsigned i = 0; i < kills && problem == NULL; i++)
		kill_once(fill);
	return ends_well(seed);
}

/* What a kernel asks while a system starts: pages of files in order, and now and then one of a
 * journal, which is a ring, some zeros and a flush. */
static struct request
boot_request(unsigned i, unsigned *place)
{
	static const enum ask asks[] = { ASK_READ, ASK_READ, ASK_WRITE, ASK_READ, ASK_ZERO,
		ASK_WRITE, ASK_READ, ASK_READ, ASK_WRITE, ASK_READ, ASK_FLUSH };
	struct request q = { .what = asks[i % (sizeof asks / sizeof *asks)], .bytes = PAGE };

	*place = i % PLACES;
	q.at = places[*place] * SECTOR_BYTES + (uint64_t)(i / PLACES) * PAGE % PLACE_BYTES;
	if (q.what == ASK_WRITE)
		draw_bytes(q.data, q.bytes);
	return q;
}

/* Kill the server, by turns, when it may have the request, when it may be at it, and when it has
 * answered; another one is asked again. */
static void
kill_at(unsigned i)
{
	static struct request answer;
	unsigned place;
	struct request q = boot_request(i, &place);

	note(&q, place);
	ask(&q);
	if (i % 3 == 1)
		usleep((useconds_t)draw(400));
	if (i % 3 == 2) {
		await(&answer);
		compare(&answer, place);
	}
	end_server(true);
	start_server(true);
	ask(&q);
	await(&answer);
	compare(&answer, place);
}

static bool
boot_killed_at_each(uint64_t seed)
{
	draw_seed = seed;
	problem = NULL;
	make_disk();
	start_server(true);
	for (unsigned i = 0; i < BOOT_REQUESTS && problem == NULL; i++)
		kill_at(i);
	compare_all(ASK_READ);
	compare_all(ASK_READ_IMAGE);
	return ends_well(seed);
}

/* What is refused. */

/* Does opening the disk fail like this? */
static bool
is_refused(enum err_kind kind, const char *sentence)
{
	struct export *source = open_source();
	struct streamed *d;
	struct err e = { .text = "it is opened" };
	bool right = open_device(&d, source, false, true, &e) != 0 && e.kind == kind &&
	             strstr(e.text, sentence) != NULL;

	if (!right)
		printf("# %s\n", e.text);
	export_close(source);
	return right;
}

/* A disk with marks of a server that was killed, and that has written 0x77 to the second sector. */
static void
leave_marks(void)
{
	static struct request q = { .what = ASK_WRITE, .bytes = SECTOR_BYTES, .at = 40 * SECTOR_BYTES };

	make_disk();
	start_server(false);
	memset(q.data, 0x77, SECTOR_BYTES);
	ask(&q);
	await(&q);
	end_server(true);
}

static void
put_byte(uint64_t at, uint8_t byte)
{
	int fd = open(marks_path, O_RDWR | O_CLOEXEC);

	if (fd < 0 || pwrite(fd, &byte, 1, (off_t)at) != 1)
		abort();
	close(fd);
}

static void
refused(void)
{
	struct stat st;

	problem = NULL;
	leave_marks();
	put_byte(512, 1);
	T_CHECK(is_refused(ERR_REFUSED, "a flush had failed"));
	put_byte(512, 0);
	put_byte(40, 99);
	T_CHECK(is_refused(ERR_FORMAT, "damaged"));
	leave_marks();
	put_byte(MARKS_HEAD_BYTES + 8, 2);
	T_CHECK(is_refused(ERR_FORMAT, "damaged"));
	leave_marks();
	T_CHECK(stat(marks_path, &st) == 0 && truncate(marks_path, st.st_size - 1) == 0);
	T_CHECK(is_refused(ERR_FORMAT, "damaged"));
	unlink(marks_path);
	T_CHECK(is_refused(ERR_ABSENT, "marks"));
}

/* Another server still serves the disk: what it still writes would come too late. */
static void
refused_beside_another(void)
{
	leave_marks();
	start_server(false);
	compare_all(ASK_READ_IMAGE);
	T_CHECK(is_refused(ERR_REFUSED, "another program"));
	problem = NULL;
	end_server(true);
}

static bool flush_fails;

static int
fail_flush(struct mem *m, enum mem_access what, struct range bytes)
{
	(void)m, (void)bytes;
	return flush_fails && what == MEM_SYNC ? EIO : 0;
}

/* Nobody goes on where a flush has failed: the next one would not know that writes are lost. */
static void
refused_behind_failed_flush(void)
{
	const uint64_t bytes = (uint64_t)DISK_SECTORS * SECTOR_BYTES;
	struct mem disk = mem_of(calloc(1, bytes), bytes);
	struct streamed_config cfg = {
		.disk = "disk", .marks = marks_path, .no_fill = true, .tell = tell
	};
	struct export *source = open_source();
	struct streamed *d;
	struct err e;

	make_disk();
	disk.before = fail_flush;
	flush_fails = false;
	if (streamed_open_on(&d, source, &cfg, mem_open(&disk, "disk", DISK_BLOCK), NULL, &e) != 0)
		abort();
	flush_fails = true;
	T_CHECK(streamed_flush(d, &e) != 0);
	streamed_close(d, &e);
	T_CHECK(is_refused(ERR_REFUSED, "a flush had failed"));
	export_close(source);
	free(disk.b);
}

/* The marks of one disk, and another disk; and a disk that was served without them. */
static void
refused_elsewhere(void)
{
	char other[230];
	struct streamed *d;
	struct export *source = open_source();
	struct streamed_config cfg = { .disk = disk_path, .no_fill = true, .tell = tell };
	struct err e;

	snprintf(other, sizeof other, "%s.kept", marks_path);
	leave_marks();
	T_CHECK(rename(marks_path, other) == 0);
	leave_marks();
	T_CHECK(rename(other, marks_path) == 0);
	T_CHECK(is_refused(ERR_REFUSED, "another disk"));
	leave_marks();
	if (T_CHECK(streamed_open(&d, source, &cfg, &e) == 0)) {
		/* Killed: neither flushed nor closed. */
		d->opened = false;
		streamed_close(d, &e);
	}
	T_CHECK(is_refused(ERR_REFUSED, "without them"));
	export_close(source);
}

/* A power cut would take the data and leave the marks. */
static void
refused_on_disk(void)
{
	char kept[sizeof marks_path], place[sizeof marks_path - 10];
	struct statfs fs;

	if (!tmp_folder(place, sizeof place, "marks"))
		abort();
	strcpy(kept, marks_path);
	snprintf(marks_path, sizeof marks_path, "%s/marks", place);
	make_disk();
	if (statfs(marks_path, &fs) != 0)
		abort();
	T_CHECK(fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC ||
		is_refused(ERR_USAGE, "tmpfs"));
	unlink(marks_path);
	rmdir(place);
	strcpy(marks_path, kept);
}

/* The form. */

static void
form_of_head(void)
{
	uint8_t head[MARKS_HEAD_BYTES];
	struct marks_head h = { .sequence = 7, .frames = 9, .slots = 3, .failed = true }, got;
	const uint64_t bytes = MARKS_HEAD_BYTES + 3 * MARKS_SLOT_BYTES;
	bool taken = false;

	memset(h.id, 0x5a, sizeof h.id);
	marks_head_put(&h, head);
	T_CHECK(marks_head_get(&got, head, sizeof head, bytes) && got.sequence == 7 &&
		got.frames == 9 && got.slots == 3 && got.failed &&
		memcmp(got.id, h.id, sizeof h.id) == 0);
	for (size_t n = 0; n < sizeof head; n++)
		taken |= marks_head_get(&got, head, n, bytes);
	for (size_t i = 0; i < 512; i++) {
		head[i] ^= 1;
		taken |= marks_head_get(&got, head, sizeof head, bytes);
		head[i] ^= 1;
	}
	taken |= marks_head_get(&got, head, sizeof head, bytes + 1);
	T_CHECK(!taken);
}

static void
form_of_slot(void)
{
	uint8_t slot[MARKS_SLOT_BYTES] = { 0 };
	struct marks_head h = { .sequence = 1, .frames = 5, .slots = 1 };
	uint64_t number = 4;
	struct marks_frame f;
	bool taken = false;

	T_CHECK(marks_slot_get(&f, &h, slot, sizeof slot) == 0);
	memcpy(slot, &number, sizeof number);
	slot[10] = 1;
	slot[11] = 0x81;
	slot[12] = 0x42;
	T_CHECK(marks_slot_get(&f, &h, slot, sizeof slot) == 1 && f.number == 4 &&
		f.local == 0x81 && f.bits[0] == 0x42);
	slot[8] = 1;
	T_CHECK(marks_slot_get(&f, &h, slot, sizeof slot) == 1);
	for (size_t n = 0; n < sizeof slot; n++)
		taken |= marks_slot_get(&f, &h, slot, n) != -1;
	T_CHECK(!taken);
	h.frames = 4;
	T_CHECK(marks_slot_get(&f, &h, slot, sizeof slot) == -1);
}

static void
remove_all(void)
{
	char made[230];

	snprintf(made, sizeof made, "%s.partial", marks_path);
	unlink(made);
	unlink(marks_path);
	unlink(disk_path);
	rmdir(folder);
}

int
main(int argc, char **argv)
{
	unsigned kills = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 200;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	bool right = true;

	form_of_head();
	form_of_slot();
	strcpy(folder, "/dev/shm/marks-XXXXXX");
	if (mkdtemp(folder) == NULL) {
		printf("# no tmpfs: %s\n", strerror(errno));
		return t_done();
	}
	snprintf(disk_path, sizeof disk_path, "%s/disk", folder);
	snprintf(marks_path, sizeof marks_path, "%s/marks", folder);
	signal(SIGPIPE, SIG_IGN);
	make_image();
	for (unsigned i = 0; i < kills; i += KILLS_OF_DISK)
		right &= disk_with_kills(seed++, KILLS_OF_DISK);
	T_CHECK(right);
	T_CHECK(boot_killed_at_each(seed));
	refused();
	refused_beside_another();
	refused_behind_failed_flush();
	refused_elsewhere();
	refused_on_disk();
	remove_all();
	free(image_mem.b);
	return t_done();
}
