#!/usr/bin/env bash
# A partition that the image leaves out (imagezip -I) keeps every byte, whatever stands in it: what looks like
# the metadata of a whole disk is not taken for an old signature, and what is free to the image is not filled there.
. "$(dirname "$0")/lib.sh"
own_network "$@"
requires python3 sfdisk
pattern=0x5a5a5a5a

# plant FILE FROM TO: in these bytes of the disk, which end where the disk does: an md superblock of version 0.90, the
# uberblocks of a ZFS label, the metadata of Intel's RAID, and a backup GPT.
plant() {
	python3 - "$@" << 'PY'
import struct, sys
name, start, end = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with open(name, "r+b") as f:
    def put(at, data):
        assert start <= at and at + len(data) <= end
        f.seek(at); f.write(data)
    label = end // 262144 * 262144 - 524288
    for i in range(128):
        put(label + 131072 + i * 1024, struct.pack("<QQQQ", 0x00bab10c, 5000, 7 + i, 1))
    put((end & ~65535) - 65536, struct.pack("<13I", 0xa92b4efc, 0, 90, 0, 0, 0x11111111, 0, 1, (end - start) // 1024 - 64, 2, 2, 0, 0))
    put(end - 1024, b"Intel Raid ISM Cfg Sig. 1.0.00")
    put(end - 512, b"EFI PART")
PY
}
noise() { python3 -c 'import random, sys; sys.stdout.buffer.write(random.Random(int(sys.argv[1])).randbytes(int(sys.argv[2])))' "$@"; }
put_at() { dd of="$1" bs=512 seek="$2" conv=notrunc status=none; }	# FILE SECTOR < data

# A target is what was there before: its own system where the image has one, poison in all free space, and the
# partition that must stay, from sector FROM on.  prepare NAME FROM COUNT makes NAME.ndz of NAME, and NAME.old.
prepare() {	# NAME OPTIONS...
	"$BIN/imagezip" -q "${@:2}" "$T/$1" "$T/$1.ndz" 2> "$T/said" || fail "imagezip $*: $(cat "$T/said")"
}
part() { tail -c +$(($2 * 512 + 1)) "$1" | head -c $(($3 * 512)); }
kept() {	# WHAT NAME FROM COUNT: the partition has the bytes that it had
	local n
	n=$(cmp -l <(part "$T/$2.old" "$3" "$4") <(part "$T/tgt" "$3" "$4") | wc -l)
	check "$1: every byte of the partition is as it was" [ "$n" = 0 ]
}
install_onto() { cp "$T/$1.old" "$T/tgt"; "$BIN/imageunzip" --in-place "${@:2}" "$T/$1.ndz" "$T/tgt" 2> "$T/said" || fail "imageunzip $*: $(cat "$T/said")"; }
in_all_ways() {	# NAME FROM COUNT
	local way
	for way in "" -z "-p $pattern" --discard "--state=target --state-interval=0" "-z -n"; do
		install_onto $1 $way; kept "$1 ${way:-plain}" "$@"
	done
}

echo "== the last partition, which reaches to the end of the disk"
sectors=$((72 << 11))	# libblkid looks for ZFS from 64 MiB on
poison "$T/last.old" $((12 << 20)); truncate -s $((sectors * 512)) "$T/last.old"
plant "$T/last.old" $((20480 * 512)) $((sectors * 512))
cp "$T/last.old" "$T/last"
printf 'label: dos\n1: start=2048, size=18432, type=83\n2: start=20480, type=fd\n' | sfdisk -q "$T/last"
truncate -s 9M "$T/fs"; mke2fs -q -F -t ext4 "$T/fs"; put_at "$T/last" 2048 < "$T/fs"
prepare last -I 2
in_all_ways last 20480 $((sectors - 20480))
check "-z fills the free space of the other one" sh -c "install() { cp '$T/last.old' '$T/tgt' && '$BIN/imageunzip' -q -z --in-place '$T/last.ndz' '$T/tgt'; }; install; ! tail -c +$((2048 * 512 + 1)) '$T/tgt' | head -c 9M | LC_ALL=C grep -q -a \$(printf '\\245\\245\\245\\245')"

old="$((sectors - 20480)) sectors keep their old bytes, because the image stores nothing"
install_onto last -z; cp "$T/tgt" "$T/zeroed"
check "-z says which one it does not fill: $(grep "old bytes" "$T/said")" \
    grep -q "warning: $old .* partitions: 2 (--zero-all fills them, too)" "$T/said"
install_onto last --zero-all
check "--zero-all fills it" \
    cmp -s -i $((20480 * 512)):0 -n $(((sectors - 20480) * 512)) "$T/tgt" /dev/zero
check "and has nothing to warn of" eval '! grep -q "old bytes" "$T/said"'
check "what -z fills is the same" cmp -s -n $((20480 * 512)) "$T/tgt" "$T/zeroed"

echo "== the first partition, old alignment, where a btrfs has its magic"
poison "$T/first.old" $((24 << 20))
cp "$T/first.old" "$T/first"; truncate -s 12M "$T/first"; truncate -s 24M "$T/first"	# what is not zero at a disk's end is stored
printf 'label: dos\n1: start=63, size=16000, type=7\n2: start=16384, size=8192, type=83\n' | sfdisk -q "$T/first"
noise 3 $((8192 * 512)) | put_at "$T/first" 16384
prepare first -I 1
printf '_BHRfS_M' | dd of="$T/first.old" bs=1 seek=65600 conv=notrunc status=none
plant "$T/first.old" $((40960 * 512)) $((24 << 20))
in_all_ways first 63 16000
install_onto first
check "what no partition has is searched: $(grep -c wiped "$T/said") kinds" grep -q "wiped.*linux_raid_member" "$T/said"
check "an old backup GPT, too" grep -q "wiped.*backup GPT" "$T/said"
install_onto first --keep-stale
check "--keep-stale leaves all as it is" [ "$(cmp -l <(tail -c 2M "$T/first.old") <(tail -c 2M "$T/tgt") | wc -l)" = 0 ]
for z in "" -Z; do
	prepare first -I 1 -F 100000 $z
	install_onto first; kept "it is shorter than -F $z" first 63 16000
done

echo "== an old ZFS where nothing is any more: one line"
truncate -s 66M "$T/fs.old"; plant "$T/fs.old" 0 $((66 << 20))
"$BIN/imagezip" -q "$T/fs" "$T/fs.ndz"; install_onto fs
check "ZFS: $(grep zfs "$T/said")" [ "$(grep -c "zfs_member at sector [0-9]* and in [0-9]* more places" "$T/said")" = 1 ]
check "in $(wc -l < "$T/said") lines all of it" [ "$(wc -l < "$T/said")" -le 6 ]
check "nothing but the filesystem is left to find" [ "$(blkid -p -o value -s TYPE "$T/tgt" 2> /dev/null)" = ext4 ]

echo "== a logical partition"
poison "$T/logical.old" $((16 << 20))
plant "$T/logical.old" $((18432 * 512)) $((16 << 20))
cp "$T/logical.old" "$T/logical"
printf 'label: dos\n1: start=2048, size=30720, type=5\n5: start=4096, size=12288, type=83\n6: start=18432, size=14336, type=83\n' | sfdisk -q "$T/logical"
truncate -s 6M "$T/fs6"; mke2fs -q -F -t ext4 "$T/fs6"; put_at "$T/logical" 4096 < "$T/fs6"
prepare logical -I 6
in_all_ways logical 18432 14336
install_onto logical -z
check "-z fills the free space of the other one" sh -c "! tail -c +$((4096 * 512 + 1)) '$T/tgt' | head -c 6M | LC_ALL=C grep -q -a \$(printf '\\245\\245\\245\\245')"

if command -v makefs > /dev/null; then
	echo "== a partition of a disklabel inside the one partition of the disk"
	mkdir "$T/files"; noise 5 100000 > "$T/files/f"; makefs -t ffs -s 6m -o version=2 "$T/ufs" "$T/files" > /dev/null
	"$PYTHON" "$TOP/tests/helpers/bsdlabel_make.py" "$T/bsd" 40960 2048 freebsd "a:7:0:12288:$T/ufs" e:7:14000:24912
	poison "$T/bsd.old" $((20 << 20)); plant "$T/bsd.old" $((16048 * 512)) $((20 << 20))
	prepare bsd -I 1e
	in_all_ways bsd 16048 24912
	install_onto bsd -z
	check "-z fills the free space of the other one" sh -c "! tail -c +$(((2048 + 128) * 512 + 1)) '$T/tgt' | head -c 5M | LC_ALL=C grep -q -a \$(printf '\\245\\245\\245\\245')"
	"$BIN/imagezip" -q -s 1 -I 1e "$T/bsd" "$T/slice.ndz" 2> "$T/said" || fail "$(cat "$T/said")"
	for way in "" -z; do
		cp "$T/bsd.old" "$T/tgt"; dd if="$T/bsd" of="$T/tgt" bs=512 count=1 conv=notrunc status=none
		"$BIN/imageunzip" -q -s 1 $way "$T/slice.ndz" "$T/tgt" || fail "imageunzip -s 1 $way"
		kept "into the slice ${way:-plain}" bsd 16048 24912
	done
fi

echo "== a GPT whose last partition was made larger on this disk: --grow does that again, and it stays"
truncate -s 20M "$T/grown"; printf 'label: gpt\nstart=2048, size=8192\nstart=10240, size=24576\n' | sfdisk -q "$T/grown"
noise 4 $((8192 * 512)) | put_at "$T/grown" 2048
poison "$T/grown.old" $((28 << 20)); plant "$T/grown.old" $((20 << 20)) $((27 << 20))
prepare grown -I 2
# The image stores its own backup GPT, in the 33 sectors in front of 20 MiB.
for way in "" -z --discard; do
	install_onto grown --grow $way
	kept "grown ${way:-plain}" grown 10240 $((40960 - 33 - 10240))
	kept "grown ${way:-plain}, behind the end of the source" grown 40960 $((55296 - 40960))
done

echo "== frisbee, chunks in any order"
if command -v ip > /dev/null; then
	port=$((20000 + OWN_NUMBER % 12000))
	CLEANUP+=('[ -z "${SERVER:-}" ] || kill $SERVER 2> /dev/null')
	for name in last logical; do
		case $name in last) from=20480 count=$((sectors - 20480)) ;; logical) from=18432 count=14336 ;; esac
		rm -f "$T/where"; port=$((port + 1))
		"$BIN/frisbeed" -d --loopback -i 127.0.0.1 -m 239.192.7.11 -p $port -A "$T/where" -T 0 -W 400M "$T/$name.ndz" 2> "$T/server.log" & SERVER=$!
		begins $SERVER [ -s "$T/where" ] || fail "frisbeed: $(cat "$T/server.log")"
		for way in "" -z --discard "-z --state=$T/state"; do
			cp "$T/$name.old" "$T/tgt"
			"$BIN/frisbee" -q --loopback -i 127.0.0.1 -m 239.192.7.11 -p $port -T 240 --in-place $way "$T/tgt" || fail "frisbee $way"
			kept "frisbee $name ${way:-plain}" $name $from $count
		done
		cp "$T/$name.old" "$T/tgt"
		"$BIN/frisbee" -q --loopback -i 127.0.0.1 -m 239.192.7.11 -p $port -T 240 \
		    --in-place --zero-all "$T/tgt" || fail "frisbee --zero-all"
		check "frisbee $name --zero-all fills it" \
		    cmp -s -i $((from * 512)):0 -n $((count * 512)) "$T/tgt" /dev/zero
		kill $SERVER; wait $SERVER 2> /dev/null; SERVER=
	done
fi
finish
