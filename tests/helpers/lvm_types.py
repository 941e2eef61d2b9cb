"""The metadata of a volume group with a volume of a segment type: lvm_types.py TEXT TYPE EXTENTS_OF_A_PART
TEXT is vgcfgbackup's, of a group with the volumes part0 to part7 on its one disk, which become the
parts of a volume "top", and "fine", which stays."""
import re, sys

path, kind, extents = sys.argv[1], sys.argv[2], int(sys.argv[3])
text = open(path).read()


def uuid(n):
    return f"{n:06}-aaaa-bbbb-cccc-dddd-eeee-ffffff"


def volume(n, name, segment, count=extents, status='"READ", "WRITE", "VISIBLE"'):
    return f"""{name} {{
id = "{uuid(n)}"
status = [{status}]
flags = []
creation_time = 1700000000
creation_host = "host"
segment_count = 1
segment1 {{
start_extent = 0
extent_count = {count}
{segment}
}}
}}
"""


def rename(*names):
    """part0, part1, ... become hidden volumes of these names."""
    global text
    for i, name in enumerate(names):
        text = re.sub(rf"\bpart{i} {{(.*?)status = \[[^]]*\]", rf'{name} {{\1status = ["READ", "WRITE"]', text, count=1, flags=re.S)


def raid(devices, data, more=""):
    rename(*[f"top_{k}_{i}" for i in range(devices) for k in ("rmeta", "rimage")])
    members = ", ".join(f'"top_{k}_{i}"' for i in range(devices) for k in ("rmeta", "rimage"))
    return volume(1, "top", f'type = "{kind}"\ndevice_count = {devices}\n{more}\nregion_size = 1024\nraids = [{members}]', data * extents)


def thin():
    rename("pool_tmeta", "pool_tdata")
    made = volume(1, "pool", 'type = "thin-pool"\nmetadata = "pool_tmeta"\npool = "pool_tdata"\ntransaction_id = 1\nchunk_size = 128\ndiscards = "passdown"\nzero_new_blocks = 0')
    return made + volume(2, "top", 'type = "thin"\nthin_pool = "pool"\ntransaction_id = 0\ndevice_id = 1', 100)


def cache():
    rename("cpool_cdata", "cpool_cmeta", "top_corig")
    made = volume(1, "cpool", 'type = "cache-pool"\ndata = "cpool_cdata"\nmetadata = "cpool_cmeta"\nchunk_size = 128\nmetadata_format = 2\ncache_mode = "writeback"\npolicy = "smq"', status='"READ", "WRITE"')
    return made + volume(2, "top", 'type = "cache"\ncache_pool = "cpool"\norigin = "top_corig"')


def writecache():
    rename("fast_cvol", "top_wcorig")
    return volume(1, "top", 'type = "writecache"\norigin = "top_wcorig"\nwritecache = "fast_cvol"\nwritecache_block_size = 4096')


def mirror():
    rename("top_mimage_0", "top_mimage_1", "top_mlog")
    return volume(1, "top", 'type = "mirror"\nmirror_count = 2\nmirror_log = "top_mlog"\nregion_size = 1024\nmirrors = [\n"top_mimage_0", 0,\n"top_mimage_1", 0\n]')


def snapshot():
    rename("cow")
    return volume(1, "snapshot0", 'type = "snapshot"\nchunk_size = 8\norigin = "part1"\ncow_store = "cow"')


def pvmove():
    """part0 is being moved to where part1 was."""
    global text
    text = re.sub(r"\bpart1 {.*?\n\t\t}\n", "", text, count=1, flags=re.S)
    place = re.findall(r'"pv0", (\d+)', text)[0]
    head, tail = re.split(r"(?=\bpart0 {)", text, maxsplit=1)
    text = head + tail.replace(f'"pv0", {place}', '"pvmove0", 0', 1).replace('"VISIBLE"', '"VISIBLE", "LOCKED"', 1)
    return volume(1, "pvmove0", f'type = "mirror"\nmirror_count = 2\nextents_moved = 0\nregion_size = 1024\nmirrors = [\n"pv0", {place},\n"pv0", {int(place) + extents}\n]', status='"READ", "WRITE", "PVMOVE", "LOCKED"')


def vdo():
    rename("vpool_vdata")
    made = volume(1, "vpool", 'type = "vdo-pool"\ndata = "vpool_vdata"\nheader_size = 1024\nvirtual_extents = 20\nuse_compression = 1\nuse_deduplication = 1\nminimum_io_size = 4096\nblock_map_cache_size_mb = 128\nblock_map_era_length = 16380\nslab_size_mb = 2048\nuse_sparse_index = 0\nindex_memory_size_mb = 256\nmax_discard = 1\nack_threads = 1\nbio_threads = 4\nbio_rotation = 64\ncpu_threads = 2\nhash_zone_threads = 1\nlogical_threads = 1\nphysical_threads = 1\nwrite_policy = "auto"', status='"READ", "WRITE"')
    return made + volume(2, "top", 'type = "vdo"\nvdo_pool = "vpool"\nvdo_offset = 0', 20)


made = {
    "raid0": lambda: (rename("top_rimage_0", "top_rimage_1"), volume(1, "top", 'type = "raid0"\ndevice_count = 2\nstripe_size = 128\nraid0_lvs = ["top_rimage_0", "top_rimage_1"]', 2 * extents))[1],
    "raid1": lambda: raid(2, 1), "raid5_ls": lambda: raid(3, 2, "stripe_size = 128"), "raid10": lambda: raid(4, 2, "stripe_size = 128"),
    "thin": thin, "cache": cache, "writecache": writecache, "mirror": mirror, "snapshot": snapshot, "pvmove": pvmove, "vdo": vdo,
}[kind]()
text = re.sub(r"(logical_volumes {\n)", lambda m: m.group(1) + made, text, count=1)
open(path, "w").write(text)
