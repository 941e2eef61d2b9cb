#!/usr/bin/env python3
"""Logical volumes without a device mapper: by what LVM's own tools report.

lvm_lv.py put INFO PV LV IMG   write IMG into the extents of a volume
lvm_lv.py get INFO PV LV IMG   read them into IMG
lvm_lv.py free INFO [LV FREE]...   the PV's free extents, and the volumes' free
    space (FREE: lines "first count" in sectors), as sectors of the PV
lvm_lv.py crossing INFO IMAGE   fragments of an image of the PV that are not zero,
    and have sectors on both sides of where a piece of a volume begins or ends
INFO is the reports of pvs, pvs --segments, lvs --segments, as JSON lines, of one
PV in a volume group.
"""
import json
import re
import sys

from fragments import fragments


def load(path):
    reports = [json.loads(line) for line in open(path)]
    pv, pvsegs, lvsegs = [next(iter(r["report"][0].values())) for r in reports]
    return pv[0], pvsegs, lvsegs


def pieces(info, lv):
    """(LV sector, PV sector, count) of a volume on this PV alone."""
    pv, _, lvsegs = info
    start, extent = int(pv["pe_start"]), int(pv["vg_extent_size"])
    for s in lvsegs:
        if s["lv_name"] != lv:
            continue
        at, size = int(s["seg_start"]), int(s["seg_size"])
        areas = [start + int(a) * extent for a in re.findall(r":(\d+)-", s["seg_pe_ranges"])]
        stripe = int(s["stripe_size"]) or size
        for i in range(size // stripe):
            yield at + i * stripe, areas[i % len(areas)] + i // len(areas) * stripe, stripe


def copy(info, pv, lv, img, put):
    with open(pv, "r+b") as p, open(img, "rb" if put else "wb") as f:
        for at, to, n in pieces(info, lv):
            src, dst = (f, p) if put else (p, f)
            src.seek((at if put else to) * 512)
            dst.seek((to if put else at) * 512)
            left = n * 512
            while left > 0 and (data := src.read(min(left, 1 << 20))):
                dst.write(data)
                left -= len(data)


def free(info, volumes):
    pv, pvsegs, _ = info
    start, extent = int(pv["pe_start"]), int(pv["vg_extent_size"])
    for s in pvsegs:
        if s["segtype"] == "free":
            print(start + int(s["pvseg_start"]) * extent, int(s["pvseg_size"]) * extent)
    for lv, path in zip(volumes[::2], volumes[1::2]):
        where = list(pieces(info, lv))
        for line in open(path):
            off, n = map(int, line.split())
            for at, to, count in where:
                lo, hi = max(off, at), min(off + n, at + count)
                if lo < hi:
                    print(to + lo - at, hi - lo)


def crossing(info, image):
    pv, pvsegs, _ = info
    start, extent = int(pv["pe_start"]), int(pv["vg_extent_size"])
    edges = {start + int(s["pvseg_start"]) * extent for s in pvsegs}
    for sectors, _, digest in fragments(image):
        for edge in edges:
            if digest and sectors[0] < edge <= sectors[-1]:
                print(sectors[0], sectors[-1], edge)


args = sys.argv[1:]
if args[0] == "free":
    free(load(args[1]), args[2:])
elif args[0] == "crossing":
    crossing(load(args[1]), args[2])
else:
    copy(load(args[1]), *args[2:], args[0] == "put")
