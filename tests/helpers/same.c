/* same [-s] [-n BYTES] [-i SKIP[:SKIP]] FILE FILE: cmp(1) for scripts, which compare disks that are
 * mostly holes.  Where both files have holes it reads neither, and elsewhere it reads much at once:
 * cmp reads all of it, 4 KiB at a time.  It says only that both are the same.  Whatever else there
 * is to say, and whatever it does not know, is left to cmp itself, with the same arguments.
 * /dev/zero is a hole without an end.  tests/cli/lib.sh calls it. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 1 << 17 };

struct side {
	int fd; /* -1: zeros without an end */
	off_t skip, bytes; /* behind `skip` */
	off_t edge; /* up to here it is all data, or all hole */
	bool hole;
	uint8_t data[PIECE];
};

/* Opens a file or block device.  False: cmp must look at it. */
static bool
open_side(struct side *s, const char *path)
{
	struct stat st;

	s->fd = -1;
	s->bytes = INT64_MAX;
	s->edge = -1;
	if (strcmp(path, "/dev/zero") == 0)
		return true;
	if ((s->fd = open(path, O_RDONLY | O_CLOEXEC)) < 0 || fstat(s->fd, &st) != 0)
		return false;
	s->bytes = lseek(s->fd, 0, SEEK_END) - s->skip;
	return (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode)) && s->bytes >= 0;
}

/* Learns whether there is a hole at this place, and how far it or the data goes. */
static void
look(struct side *s, off_t at, off_t end)
{
	if (s->edge > at)
		return;
	s->hole = s->fd < 0;
	s->edge = end;
	if (s->hole)
		return;
	off_t data = lseek(s->fd, s->skip + at, SEEK_DATA);
	s->hole = data < 0 ? errno == ENXIO : data > s->skip + at;
	if (data < 0)
		return; /* the rest is a hole; or it is not known, and read */
	off_t edge = s->hole ? data : lseek(s->fd, data, SEEK_HOLE);
	if (edge > s->skip + at && edge - s->skip < end)
		s->edge = edge - s->skip;
}

static bool
read_piece(struct side *s, off_t at, size_t n)
{
	if (!s->hole)
		return pread(s->fd, s->data, n, s->skip + at) == (ssize_t)n;
	memset(s->data, 0, n);
	return true;
}

static off_t
least(off_t a, off_t b)
{
	return a < b ? a : b;
}

static bool
same(struct side *a, struct side *b, off_t end)
{
	for (off_t at = 0, n; at < end; at += n) {
		look(a, at, end);
		look(b, at, end);
		n = least(a->edge, b->edge) - at;
		if (a->hole && b->hole)
			continue;
		n = least(n, PIECE);
		if (!read_piece(a, at, (size_t)n) || !read_piece(b, at, (size_t)n) ||
		    memcmp(a->data, b->data, (size_t)n) != 0)
			return false;
	}
	return true;
}

/* A number of bytes, and where it ends.  False: it is none, or one as cmp alone reads it. */
static bool
number(const char *text, char **rest, off_t *n)
{
	bool plain = text[0] >= '1' && text[0] <= '9';

	*n = strtoll(text, rest, 10);
	return plain || (text[0] == '0' && *rest == text + 1);
}

static bool
skips(const char *text, struct side *a, struct side *b)
{
	char *rest;

	if (!number(text, &rest, &a->skip))
		return false;
	b->skip = a->skip;
	return *rest == '\0' ||
	       (*rest == ':' && number(rest + 1, &rest, &b->skip) && *rest == '\0');
}

/* The two files are argv[optind] and the next one then. */
static bool
understood(int argc, char **argv, struct side *a, struct side *b, off_t *most)
{
	char *rest;
	int opt;

	opterr = 0;
	while ((opt = getopt(argc, argv, "+sn:i:")) != -1)
		if (opt != 's' && !(opt == 'i' && skips(optarg, a, b)) &&
		    !(opt == 'n' && number(optarg, &rest, most) && *rest == '\0'))
			return false;
	return argc - optind == 2;
}

int
main(int argc, char **argv)
{
	static struct side a, b;
	static char cmp[] = "cmp";
	off_t most = INT64_MAX;

	if (understood(argc, argv, &a, &b, &most) && open_side(&a, argv[optind]) &&
	    open_side(&b, argv[optind + 1])) {
		off_t end = least(most, a.bytes), other = least(most, b.bytes);
		if (end == other && end != INT64_MAX && same(&a, &b, end))
			return 0;
	}
	argv[0] = cmp;
	execvp(cmp, argv);
	perror("cmp");
	return 2;
}
