/* An image that is read back: its signature, one that differs at the first, at the last or in no sector, and an
 * image that is cut off anywhere. */
#include "imagezip/capture/readback.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/image/write/sigimage.h"
#include "tests/t.h"
#include "tests/tmp.h"
#include "tests/unit/golden.h"

static bool
differs(const char *path, const struct sig *s, uint32_t sector)
{
	char wanted[64];
	struct err e;

	snprintf(wanted, sizeof wanted, "from sector %u on", sector);
	return readback_check(path, s, &e) != 0 && e.kind == ERR_FORMAT && strstr(e.text, wanted) != NULL;
}

static void
signatures(const char *path)
{
	struct sectors *image;
	struct sig s;
	struct err e;

	if (!T_CHECK(sectors_open(&image, path, &e) == 0))
		return;
	T_CHECK(sig_of_image(&s, image, SIG_SHA1, SIG_BLOCK_SECTORS, NULL, NULL, &e) == 0 && s.n > 1);
	sectors_close(image);
	T_CHECK(readback_check(path, &s, &e) == 0);
	s.records[0].chunk++; /* it only informs people */
	T_CHECK(readback_check(path, &s, &e) == 0);
	for (size_t i = 0; i < s.n; i += s.n - 1) {
		s.records[i].hash[19] ^= 1;
		T_CHECK(differs(path, &s, s.records[i].start));
		s.records[i].hash[19] ^= 1;
	}
	s.n--;
	T_CHECK(differs(path, &s, s.records[s.n].start)); /* the image has more than was stored */
	s.n++;
	T_CHECK(readback_check(path, &s, &e) == 0);
	sig_free(&s);
}

static bool
put(const char *path, const uint8_t *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	bool right = fd >= 0 && write(fd, bytes, n) == (ssize_t)n;

	return close(fd) == 0 && right;
}

/* Truncations in steps that meet no border of chunks. */
static void
truncations(const char *path, const uint8_t *bytes, size_t n)
{
	struct sig s = { .version = SIG_VERSION, .hash = SIG_SHA1, .block_sectors = SIG_BLOCK_SECTORS };
	struct err e;

	for (size_t len = 0; len < n; len += 65521)
		T_CHECK(put(path, bytes, len) && readback_check(path, &s, &e) != 0 && e.kind == ERR_FORMAT);
	unlink(path);
	T_CHECK(readback_check(path, &s, &e) != 0 && e.kind != ERR_FORMAT); /* it is not there */
}

int
main(void)
{
	char folder[200], path[220];
	size_t n;
	uint8_t *bytes = golden_load("ext2", &n);

	if (!tmp_folder(folder, sizeof folder, "readback"))
		return 1;
	snprintf(path, sizeof path, "%s/image", folder);
	T_CHECK(put(path, bytes, n));
	signatures(path);
	truncations(path, bytes, n);
	free(bytes);
	rmdir(folder);
	return t_done();
}
