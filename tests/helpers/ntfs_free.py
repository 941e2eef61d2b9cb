#!/usr/bin/env python3
"""ntfs_free.py IMG [NAME...]: what of an NTFS volume may be skipped.

Lines "first count" in sectors of 512 bytes: the clear bits of $Bitmap as ntfscat
reads it, checked against the free clusters that ntfsinfo counts, and the data of
the named files of the root as ntfscluster lists it; of hiberfil.sys, the first
4 KiB are left out.
"""
import re
import subprocess
import sys


def run(*args):
    return subprocess.run(args, capture_output=True, check=True).stdout


def file_runs(img, name):
    out = run("ntfscluster", "-f", "-F", name, img).decode()
    for data in out.split("0x80 - non-resident")[1:]:
        for vcn, lcn, length in re.findall(r"^\s+(\d+)\s+(\d+)\s+(\d+)$", data.split("0x")[0], re.M):
            yield int(vcn), int(lcn), int(length)


def main(img, names):
    info = run("ntfsinfo", "-f", "-m", img).decode(errors="replace")
    number = lambda what: int(re.search(what + r":?\s+(\d+)", info).group(1))
    each, total = number("Cluster Size") // 512, number("Volume Size in Clusters")
    bits = run("ntfscat", "-f", "-i", "6", img)
    clear = [c for c in range(total) if not bits[c // 8] >> c % 8 & 1]
    if len(clear) != number("Free Clusters"):
        sys.exit(f"{img}: {len(clear)} bits are clear, ntfsinfo says {number('Free Clusters')} clusters")
    start = None
    for c, after in zip(clear, clear[1:] + [None]):
        start = c if start is None else start
        if after != c + 1:
            print(start * each, (c + 1 - start) * each)
            start = None
    for name in names:
        for vcn, lcn, length in file_runs(img, name):
            keep = max(0, 8 - vcn * each) if name == "hiberfil.sys" else 0
            if keep < length * each:
                print(lcn * each + keep, length * each - keep)


main(sys.argv[1], sys.argv[2:])
