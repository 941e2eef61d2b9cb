#!/usr/bin/env python3
"""What filesystem tests do with disks, bytes and lists of free space.

fscompare.py poison IMG FREE               free space becomes 0xee; prints its sectors
fscompare.py installed IMG TARGET FREE N   TARGET, 0xa5 before an installation of
    IMG, equals IMG except in FREE and in at most N sectors more, where it is
    untouched; nothing that is poisoned came along beyond single short ranges.
FREE has lines "first count" in sectors of 512 bytes.
"""
import sys

PIECE = 1 << 20


def ranges(path):
    with open(path) as f:
        return sorted((int(a) * 512, int(b) * 512) for a, b in (line.split() for line in f if line.strip()))


def poison(img, free):
    total = 0
    with open(img, "r+b") as f:
        for off, length in ranges(free):
            total += length // 512
            f.seek(off)
            while length > 0:
                f.write(b"\xee" * min(length, PIECE))
                length -= PIECE
    print(total)


def runs(free, at, length):
    """Of LENGTH bytes from AT on: (first, end, whether it is free), from AT's place on."""
    import bisect
    end, i = at + length, max(bisect.bisect_right(free, (at, sys.maxsize)) - 1, 0)
    done = at
    for first, n in free[i:]:
        first, last = max(first, done), min(first + n, end)
        if first >= end:
            break
        if first < last:
            if done < first:
                yield done - at, first - at, False
            yield first - at, last - at, True
            done = last
    if done < end:
        yield done - at, length, False


def installed(img, target, free_path, allowed):
    free = ranges(free_path)
    wrong = beyond = 0
    with open(img, "rb") as a, open(target, "rb") as b:
        at = 0
        while True:
            x, y = a.read(PIECE), b.read(PIECE)
            if len(x) != len(y):
                sys.exit(f"{target} is not as long as {img}")
            if not x:
                break
            for first, end, is_free in runs(free, at, len(x)) if x != y else ():
                # As a rule all of a run is right, which is seen at once.
                if x[first:end] == y[first:end] or is_free and y[first:end] == b"\xa5" * (end - first):
                    continue
                for i in range(first, end, 512):
                    if x[i:i + 512] == y[i:i + 512]:
                        continue
                    sector = (at + i) // 512
                    if y[i:i + 512] != b"\xa5" * 512:
                        print(f"sector {sector}: written wrongly")
                        wrong += 1
                    elif not is_free:
                        beyond += 1
                        if beyond > allowed and beyond < allowed + 10:
                            print(f"sector {sector}: skipped, but not listed as free")
            at += len(x)
    if wrong or beyond > allowed:
        sys.exit(f"{wrong} sectors are wrong, {beyond} were skipped that are not listed as free ({allowed} may be)")


if __name__ == "__main__":
    args = sys.argv[2:]
    {"poison": lambda: poison(*args),
     "installed": lambda: installed(args[0], args[1], args[2], int(args[3]))}[sys.argv[1]]()
