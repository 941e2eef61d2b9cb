#!/usr/bin/env bash
# LVM2: PVs, groups and volumes made by LVM's own tools, without a device mapper:
# filesystems are written into the extents' places.  Then vgck, pvck, e2fsck.
. "$(dirname "$0")/lib.sh"
requires pvcreate vgcreate lvcreate vgcfgbackup vgcfgrestore losetup mke2fs dumpe2fs e2fsck debugfs mkswap python3
[ "$(id -u)" = 0 ] || skip "LVM's tools need root and loop devices"
CLEANUP+=('for l in "${LOOPS[@]}"; do losetup -d "$l"; done 2> /dev/null')
LOOPS=()
export LVM_SYSTEM_DIR=$T/lvm LVM_SUPPRESS_FD_WARNINGS=1
mkdir -p "$T/lvm"
make_files "$T/files" 9 60

# attach FILE...: loop devices, the only ones that LVM sees.
attach() {
	local f l; LOOPS=()
	for f; do l=$(losetup -f --show "$f") || skip "no loop devices"; LOOPS+=("$l"); done
	cat > "$T/lvm/lvm.conf" << CONF
devices { filter=[ $(printf '"a|^%s$|", ' "${LOOPS[@]}") "r|.*|" ] use_devicesfile=0 obtain_device_list_from_udev=0 external_device_info_source="none" }
global { activation=0 locking_dir="$T/lvm/lock" event_activation=0 use_lvmpolld=0 use_lvmlockd=0 }
backup { backup=0 archive=0 }
activation { udev_sync=0 udev_rules=0 monitoring=0 }
CONF
}
detach() { local l; for l in "${LOOPS[@]}"; do losetup -d "$l"; done; LOOPS=(); }
lvm_do() { "$@" > "$T/lvm.out" 2>&1 || { fail "$*: $(cat "$T/lvm.out")"; return 1; }; }
new_pv() {	# FILE SIZE PVCREATE-OPTIONS...: and a group on it
	local f=$1 size=$2; shift 2
	rm -f "$f"; truncate -s "$size" "$f"; attach "$f"
	lvm_do pvcreate -y "$@" "${LOOPS[0]}" && lvm_do vgcreate -s 512k vg "${LOOPS[0]}"
}
volume() { lvm_do lvcreate -y -an -Zn -Wn "$@"; }
# What LVM says of the first PV, for lvm_lv.py: INFO
report() {
	local json="--reportformat json --units s --nosuffix"
	{
		pvs $json -o pe_start,vg_extent_size "${LOOPS[0]}" | tr -d '\n'; echo
		pvs $json --segments -o pvseg_start,pvseg_size,segtype "${LOOPS[0]}" | tr -d '\n'; echo
		lvs $json -a --segments -o lv_name,seg_start,seg_size,stripe_size,seg_pe_ranges vg | tr -d '\n'; echo
	} 2> /dev/null | sed "s|${LOOPS[0]}:|first:|g; s|/dev/loop[0-9]*:|other:|g" > "$1"
}
lv() { python3 "$TOP/tests/helpers/lvm_lv.py" "$@"; }
# An ext4 of the size of a volume, with files: IMG BYTES
ext4() {
	rm -f "$1"; truncate -s "$2" "$1"; mke2fs -q -F -t ext4 -b 1024 -E nodiscard -d "$T/files" "$1"
	debugfs -w -R "rm /many/$(cd "$T/files/many" && echo file-0003*)" "$1" 2> /dev/null; e2fsck -fy "$1" > /dev/null 2>&1
	dumpe2fs "$1" 2> /dev/null | sed -n 's/^  Free blocks: //p' | tr ', ' '\n\n' | awk -F- 'NF { print $1 * 2, (($2 == "" ? $1 : $2) - $1 + 1) * 2 }' > "$1.free"
}
random() { head -c "$2" /dev/urandom > "$1"; }
# The target as LVM and e2fsck see it: WHAT PV [ext4 volumes]
sound() {
	local what=$1 v; shift
	attach "$T/target"
	check "$what: pvck" quietly pvck "${LOOPS[0]}"
	check "$what: vgck" quietly vgck vg
	report "$T/info2"; detach
	check "$what: the volumes are the same" cmp "$T/info" "$T/info2"
	for v; do
		lv get "$T/info" "$T/target" "$v" "$T/got"
		check "$what: e2fsck $v" quietly e2fsck -fn "$T/got"
		rm -rf "$T/tree"; mkdir "$T/tree"; debugfs -R "rdump / $T/tree" "$T/got" > /dev/null 2>&1
		rm -f "$T"/tree/many/file-0003*; rmdir "$T/tree/lost+found"
		check "$what: every file of $v" diff -r -x 'file-0003*' "$T/files" "$T/tree"
	done
}

# Two ext4 of two pieces each, swap, raw data, a hole where a volume was.
new_pv "$T/pv" 40M
volume -L 8M -n root vg; volume -L 2M -n gone vg; volume -L 6M -n home vg; volume -L 3M -n swap vg
volume -l 4 -n data vg
lvm_do lvextend -L +4M vg/root; lvm_do lvextend -L +2M vg/home; lvm_do lvremove -y vg/gone
report "$T/info"; detach
ext4 "$T/root" 12M; ext4 "$T/home" 8M; random "$T/data" 2M
truncate -s 3M "$T/swap"; mkswap -q "$T/swap" 2> /dev/null; echo "64 $((3 * 2048 - 64))" > "$T/swap.free"
for v in root home swap data; do lv put "$T/info" "$T/pv" $v "$T/$v"; done
lv free "$T/info" root "$T/root.free" home "$T/home.free" swap "$T/swap.free" > "$T/free"
fs_case lvm2 "linear volumes in pieces" "$T/pv" "$T/free"
check "linear: says what it kept" grep -q "of 4 logical volumes, kept: data (no known filesystem)" <(said_of warning "$T/pv")
check "linear: no window has data of two pieces" [ -z "$(lv crossing "$T/info" "$T/case.ndz")" ]
sound "linear" root home
lv get "$T/info" "$T/target" data "$T/got"; check "linear: raw data" cmp "$T/data" "$T/got"

# Behind an NBD server, which the confined processes that read the ext4 cannot reach themselves.
if command -v nbdkit > /dev/null && command -v nbdinfo > /dev/null; then
	BIN=$BIN T=$T nbdkit -r -U - file "$T/pv" --run '"$BIN/imagezip" -q -i --json -F 0 "$uri" > "$T/nbd.json"' || fail "an NBD server"
	n=$(json "$T/nbd.json" 'partitions[0].skipped_sectors')
	check "linear, behind an NBD server: $n sectors are skipped" [ "$n" = "$(said_of skipped_sectors "$T/pv")" ]
fi

# The same as a partition, which does not start at 0.
{ head -c 1M /dev/zero; cat "$T/pv"; } > "$T/disk"
echo '2048,,8e' | sfdisk -q "$T/disk" > /dev/null 2>&1
awk '{ print $1 + 2048, $2 }' "$T/free" > "$T/free2"
fs_case lvm2 "in a partition" "$T/disk" "$T/free2"

# A system that is suspended in a volume, and an ext4 behind the PV, which it may have
# mounted.
cp "$T/pv" "$T/pv2"; cp "$T/swap" "$T/swap2"
printf S1SUSPEND | dd of="$T/swap2" bs=1 seek=4086 conv=notrunc status=none
lv put "$T/info" "$T/pv2" swap "$T/swap2"
for pv in pv pv2; do
	{ head -c 1M /dev/zero; cat "$T/$pv" "$T/home"; } > "$T/disk2"
	truncate -s 60M "$T/disk2"
	printf 'start=2048,size=81920,type=8e\nsize=16384,type=83\n' | sfdisk -q \
	    "$T/disk2" > /dev/null 2>&1 || fail sfdisk
	"$BIN/growfs" --dry-run "$T/disk2" > "$T/said.$pv" 2>&1
done
check "nobody is suspended: $(cat "$T/said.pv")" \
    grep -q "partition 2: ext4 of .* can be grown" "$T/said.pv"
check "suspended in a volume: $(cat "$T/said.pv2")" \
    grep -q "left alone: a system is suspended in partition 1" "$T/said.pv2"

# A volume that became a virtual machine's disk: its old filesystem counts for nothing.
cp "$T/pv" "$T/pv2"; cp "$T/root" "$T/root2"; echo 2048,,83 | sfdisk -q --wipe never "$T/root2" > /dev/null 2>&1
lv put "$T/info" "$T/pv2" root "$T/root2"; lv free "$T/info" home "$T/home.free" swap "$T/swap.free" > "$T/free2"
fs_damaged lvm2 "one volume is a disk with a table" "$T/pv2" "$T/free2"
check "a volume with a table: says so" grep -q "root (stored completely: .* and a partition table)" <(said_of warning "$T/pv2")

# A damaged filesystem in one volume: that volume is kept, the others are not.
cp "$T/pv" "$T/pv2"; debugfs -w -R "set_super_value state 3" "$T/root" 2> /dev/null
lv put "$T/info" "$T/pv2" root "$T/root"; lv free "$T/info" home "$T/home.free" swap "$T/swap.free" > "$T/free2"
fs_damaged lvm2 "one volume's filesystem has errors" "$T/pv2" "$T/free2"
check "one damaged volume: the others are looked into" [ "$(said_of skipped_sectors "$T/pv2")" = "$(awk '{ n += $2 } END { print n }' "$T/free2")" ]

# Striped, on two parts of one disk: LVM makes that only from a text.
new_pv "$T/pv" 24M --metadatacopies 2
volume -L 8M -n root vg
lvm_do vgcfgbackup -f "$T/text" vg
sed -i 's/stripe_count = 1.*/stripe_count = 2\n stripe_size = 32/; s/"pv0", 0$/"pv0", 20, "pv0", 3/' "$T/text"
lvm_do vgcfgrestore -f "$T/text" vg
report "$T/info"; detach
ext4 "$T/root" 8M; lv put "$T/info" "$T/pv" root "$T/root"; lv free "$T/info" root "$T/root.free" > "$T/free"
fs_case lvm2 "striped; two metadata areas" "$T/pv" "$T/free" && sound "striped" root
# The first metadata area's header broken: the second one counts.
cp "$T/pv" "$T/pv2"; spoil_byte "$T/pv2" 4200
check "first metadata area damaged: the second serves" [ "$(said_of skipped_sectors "$T/pv2")" = "$(said_of skipped_sectors "$T/pv")" ]

# The text goes round its ring many times; the newest counts.
new_pv "$T/pv" 16M --metadatasize 256k
volume -L 4M -n root vg
for i in $(seq 60); do lvm_do vgchange --addtag "tag$i-with-a-name-that-takes-space-in-the-text" vg; done
report "$T/info"; detach
ext4 "$T/root" 4M; lv put "$T/info" "$T/pv" root "$T/root"; lv free "$T/info" root "$T/root.free" > "$T/free"
fs_case lvm2 "metadata changed 60 times" "$T/pv" "$T/free" && sound "60 changes" root

# Volumes that others are made from: their ext4 must not be looked into.
new_pv "$T/pv" 40M
volume -L 4M -n root vg; volume -L 2M -n cow vg; volume -L 4M -n tdata vg; volume -L 1M -n tmeta vg
volume -L 4M -n img0 vg; volume -L 512k -n rmeta0 vg; volume -L 4M -n corig vg; volume -L 4M -n fine vg
lvm_do vgcfgbackup -f "$T/text" vg; report "$T/info"
python3 - "$T/text" << 'PY'
import re, sys
s = open(sys.argv[1]).read()
def lv(name, status, body):
    return f'{name} {{\nid = "{name:x<6.6}-aaaa-bbbb-cccc-dddd-eeee-ffffff"\nstatus = [{status}]\nflags = []\nsegment_count = 1\nsegment1 {{\nstart_extent = 0\nextent_count = 8\n{body}\n}}\n}}\n'
extra = lv("snapshot0", '"READ", "WRITE", "VISIBLE"', 'type = "snapshot"\nchunk_size = 8\norigin = "root"\ncow_store = "cow"')
extra += lv("pool", '"READ", "WRITE", "VISIBLE"', 'type = "thin-pool"\nmetadata = "tmeta"\npool = "tdata"\ntransaction_id = 0\nchunk_size = 128')
extra += lv("mirror", '"READ", "WRITE", "VISIBLE"', 'type = "raid1"\ndevice_count = 1\nregion_size = 1024\nraids = ["rmeta0", "img0"]')
extra += lv("cached", '"READ", "WRITE", "VISIBLE"', 'type = "cache"\ncache_pool = "pool"\norigin = "corig"')
s = re.sub(r"(logical_volumes \{\n)", lambda m: m.group(1) + extra, s)
open(sys.argv[1], "w").write(s)
PY
detach
ext4 "$T/inside" 4M
for v in root tdata img0 corig; do lv put "$T/info" "$T/pv" $v "$T/inside"; done
ext4 "$T/fine" 4M; lv put "$T/info" "$T/pv" fine "$T/fine"
# Into the metadata area by hand: LVM would look for what the text leaves out.
set_text() {	# PV TEXT
	python3 - "$1" "$2" << 'PY'
import struct, sys, zlib
crc = lambda b: ~zlib.crc32(b, ~0xf597a6cf & 0xffffffff) & 0xffffffff
text = open(sys.argv[2], "rb").read() + b"\0"
with open(sys.argv[1], "r+b") as f:
    f.seek(4096); head = bytearray(f.read(512))
    struct.pack_into("<QQII", head, 40, 65536, len(text), crc(text), 0)
    struct.pack_into("<I", head, 0, crc(head[4:]))
    f.seek(4096); f.write(head); f.seek(4096 + 65536); f.write(text)
PY
}
set_text "$T/pv" "$T/text"
lv free "$T/info" fine "$T/fine.free" > "$T/free"
fs_case lvm2 "snapshot, thin pool, RAID, cache: raw" "$T/pv" "$T/free"
check "parts of others: says so" grep -q "root (another volume is made from it)" <(said_of warning "$T/pv")

# The same and more with LVM's own eyes on the text: vgcfgrestore takes it, lvs names the type.
new_pv "$T/pv" 40M
for i in 0 1 2 3 4 5 6 7; do volume -L 4M -n part$i vg; done; volume -L 4M -n fine vg
lvm_do vgcfgbackup -f "$T/base" vg; report "$T/info"; detach
for v in 0 1 2 3 4 5 6 7; do lv put "$T/info" "$T/pv" part$v "$T/inside"; done; lv put "$T/info" "$T/pv" fine "$T/fine"
lv free "$T/info" fine "$T/fine.free" > "$T/free"
parts=""; for v in 0 1 2 3 4 5 6 7; do parts="$parts part$v $T/inside.free"; done
lv free "$T/info" fine "$T/fine.free" $parts > "$T/free.all"
check "linear parts: looked into" [ "$(said_of skipped_sectors "$T/pv")" = "$(awk '{ n += $2 } END { print n }' "$T/free.all")" ]
for kind in raid0 raid1 raid5_ls raid10 thin cache writecache mirror snapshot pvmove vdo; do
	cp "$T/pv" "$T/pv2"; cp "$T/base" "$T/text2"; python3 "$TOP/tests/helpers/lvm_types.py" "$T/text2" $kind 8; attach "$T/pv2"
	lvm_do vgcfgrestore --force -y -f "$T/text2" vg
	lvs -a --noheadings -o lv_name,segtype,origin vg 2> /dev/null | tr -d '[]' > "$T/lvs"; detach
	case $kind in
	snapshot) check "$kind: LVM says so" grep -q 'cow .*part1' "$T/lvs"; sed -i '/^ *part1 /d' "$T/lvs" ;;
	pvmove) check "$kind: LVM says so" grep -q pvmove0 "$T/lvs"; sed -i '/^ *part0 /d' "$T/lvs" ;;
	*) check "$kind: LVM says so" grep -q " $kind" "$T/lvs" ;;
	esac
	# What is no part of it is looked into, nothing else.
	lv free "$T/info" fine "$T/fine.free" $(awk -v free="$T/inside.free" '/^ *part/ { print $1, free }' "$T/lvs") > "$T/free"
	fs_damaged lvm2 "a volume of type $kind" "$T/pv2" "$T/free"
	check "$kind: the others are looked into" [ "$(said_of skipped_sectors "$T/pv2")" = "$(awk '{ n += $2 } END { print n }' "$T/free")" ]
done

# What the text may not say.
new_pv "$T/pv" 40M
volume -L 4M -n root vg; volume -L 4M -n fine vg
lvm_do vgcfgbackup -f "$T/text" vg; report "$T/info"; detach
lv put "$T/info" "$T/pv" fine "$T/fine"; lv put "$T/info" "$T/pv" root "$T/inside"
set_text "$T/pv" "$T/text"; lv free "$T/info" fine "$T/fine.free" root "$T/inside.free" > "$T/free"
changed() {	# WHAT SED-EXPRESSION PART-OF-THE-WARNING
	sed "$2" "$T/text" > "$T/text2"; cp "$T/pv" "$T/pv2"; set_text "$T/pv2" "$T/text2"
	check "$1: the text differs" [ -n "$(cmp "$T/text" "$T/text2")" ]
	fs_damaged lvm2 "$1" "$T/pv2" "$T/free"
	check "$1: stored completely" said_zero "$T/pv2"
	check "$1: says why" grep -q "$3" <(said_of warning "$T/pv2")
}
changed "two volumes on one extent" '0,/"pv0", 8$/s//"pv0", 7/' "the same extent"
changed "extents behind the end" 's/pe_count = .*/pe_count = 100000/' "outside the partition"
changed "unknown type on the disk" 's/type = "striped"/type = "strange"/' "unknown type"
changed "not its volume group" '/pv0 {/,/}/s/id = "....../id = "zzzzzz/' "does not list it"
changed "braces do not match" 's/logical_volumes {/logical_volumes { {/' "damaged"
cp "$T/pv" "$T/pv2"; spoil_byte "$T/pv2" $((4096 + 65536 + 500))
fs_damaged lvm2 "checksum of the text wrong" "$T/pv2" "$T/free"; check "checksum: stored completely" said_zero "$T/pv2"
cp "$T/pv" "$T/pv2"; truncate -s 20M "$T/pv2"
fs_damaged lvm2 "cut short" "$T/pv2" "$T/free"; check "cut short: stored completely" said_zero "$T/pv2"

# LVM inside a volume; a volume on two disks.
new_pv "$T/inner" 6M; detach
rm -f "$T/pv" "$T/pvb"; truncate -s 16M "$T/pv" "$T/pvb"; attach "$T/pv" "$T/pvb"
lvm_do pvcreate -y "${LOOPS[@]}"; lvm_do vgcreate -s 512k vg "${LOOPS[@]}"
volume -L 6M -n inner vg "${LOOPS[0]}"; volume -L 4M -i 2 -n wide vg; volume -L 4M -n root vg "${LOOPS[0]}"
report "$T/info"; detach
ext4 "$T/root" 4M; lv put "$T/info" "$T/pv" inner "$T/inner"; lv put "$T/info" "$T/pv" root "$T/root"
lv free "$T/info" root "$T/root.free" > "$T/free"
fs_case lvm2 "LVM inside; striped over two disks" "$T/pv" "$T/free"
check "says so" grep -q "inner (LVM inside LVM), wide (partly on other disks)" <(said_of warning "$T/pv")

# A PV of no group.
truncate -s 8M "$T/pv3"; attach "$T/pv3"; lvm_do pvcreate -y "${LOOPS[0]}"; detach; : > "$T/free"
fs_damaged lvm2 "no volume group" "$T/pv3" "$T/free"; check "no volume group: stored completely" said_zero "$T/pv3"
finish
