"""The changes of a disk that bench/paper_dsync and bench/dsync_grain use: runs of blocks, (first, number)."""

BLOCK = 4096
# Figure 8: of 45,000 changed blocks so many are in runs of that many.  The paper's text has the first four and the longest run;
# the other 23,861 blocks are in runs between.
OF_FIGURE_8, LONGEST = {2: 1000, 3: 2500, 4: 2000, 5: 15000}, 639
BETWEEN = (6, 8, 12, 16, 24, 32, 48, 64, 96, 128)


def runs_of(blocks):
    """Blocks as runs."""
    out = []
    for b in sorted(blocks):
        if out and out[-1][0] + out[-1][1] == b:
            out[-1][1] += 1
        else:
            out.append([b, 1])
    return out


def lengths(total):
    """The lengths of the runs of so many blocks: those of figure 8, in proportion."""
    out, left = [], total
    for n, blocks in {LONGEST: LONGEST, **OF_FIGURE_8}.items():
        count = round(blocks * total / 45000 / n)
        out += [n] * count
        left -= n * count
    for i in range(left):
        n = BETWEEN[i % len(BETWEEN)]
        if n > left:
            break
        out.append(n)
        left -= n
    return out + ([left] if left > 1 else [])


def figure_8(n, total, r):
    """Runs of figure 8 at random places among n blocks; none touches another."""
    taken, out = bytearray(n), []
    for length in sorted(lengths(total), reverse=True):
        while True:
            first = r.randrange(1, n - length)
            if not any(taken[first - 1:first + length + 1]):
                break
        taken[first:first + length] = b"\1" * length
        out.append([first, length])
    return sorted(out)
