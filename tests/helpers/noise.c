/* noise.c: `noise BYTES SEED` writes so many random bytes, the same in every run.  BYTES
 * may end in K or M, as head(1) has them.  random_bytes() of cli/lib.sh calls it; one
 * thread. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/random.h"

enum { PIECE = 1 << 16 };

static uint64_t
bytes_of(const char *text)
{
	char *end;
	uint64_t n = strtoull(text, &end, 10);

	return *end == 'K' ? n << 10 : *end == 'M' ? n << 20 : n;
}

int
main(int argc, char **argv)
{
	static uint8_t piece[PIECE];

	if (argc != 3) {
		fputs("usage: noise BYTES SEED\n", stderr);
		return 2;
	}
	draw_seed = strtoull(argv[2], NULL, 10);
	for (uint64_t left = bytes_of(argv[1]), n; left > 0; left -= n) {
		n = left < PIECE ? left : PIECE;
		draw_bytes(piece, (size_t)n);
		if (fwrite(piece, 1, (size_t)n, stdout) != n)
			return 1;
	}
	return fflush(stdout) == 0 ? 0 : 1;
}
