#!/usr/bin/env bash
# The examples of --help and of the man pages, run as they are written, with files for
# the disks.  What needs a network of machines is run by the lab.
. "$(dirname "$0")/lib.sh"
requires python3 sfdisk mke2fs e2fsck
export PATH=$BIN:$PATH
# Two disks of 24 MB with two partitions, the second a filesystem; images of them.
mkdir "$T/d" "$T/w"; head -c 2000000 /dev/urandom > "$T/d/file"
truncate -s 24M "$T/sda.orig"; printf 'start=2048,size=8192,type=83\nstart=10240,size=32768,type=83\n' | sfdisk -q "$T/sda.orig"
truncate -s 16M "$T/fs"; mke2fs -q -F -d "$T/d" "$T/fs"
dd if="$T/fs" of="$T/sda.orig" bs=1M seek=5 conv=notrunc status=none
cd "$T/w" || exit 1
# All that the examples read.
mkdir usb
cp "$T/sda.orig" sda; cp sda sdb; cp "$T/fs" root.ext4; cp "$T/fs" sdb2
imagezip -q sda sda.ndz || fail "imagezip sda"
imagezip -q root.ext4 root.ndz; imagezip -q --codec=zstd root.ext4 zstd.ndz
for i in disk a old emulab monday u; do cp sda.ndz $i.ndz; done; cp root.ndz home.ndz
for i in disk monday root; do imagehash -c $i.ndz > /dev/null; done; cp root.ndz.sig root.sig
change() { cp sda later; spoil_byte later "$1"; imagezip -q -U "" later "$2"; }
change 9000000 friday.ndz; change 11000000 third.ndz; change 15000000 fourth.ndz
imagedelta -q monday.ndz friday.ndz week.ndz; imagedelta -q friday.ndz third.ndz next.ndz
imagedelta -q monday.ndz third.ndz tue.ndz; imagedelta -q third.ndz fourth.ndz wed.ndz
emustore --store store init > /dev/null; for i in 1 2 3; do emustore -q --store store put ubuntu24 u.ndz; done
for i in a b c; do cp "$TOP/tests/fuzz/corpus/order/record" $i.record; done
imagekey --sign-key lab > /dev/null; mkdir "$T/signed"
for i in disk sda; do imagerezip -q --sign lab.key $i.ndz "$T/signed/$i.ndz"; done
cp -a "$T/w" "$T/prepared"
fresh() {	# EXAMPLE: but for what it makes
	find "$T/w" -mindepth 1 -delete; cp -a "$T/prepared/." "$T/w"
	case $1 in
	*--sign-key*) rm lab.key lab.pub ;;
	*--verify-key*) cp "$T/signed"/* . ;;
	*init*) rm -r store ;;
	*"-s 5"*) truncate -s 48M sdb; printf 'start=43008,type=5\nstart=45056,size=40000,type=83\n' | sfdisk -q -a sdb ;;
	esac
}
ssh() { shift; sh -c "$*"; }; export -f ssh
run() {	# PROGRAM EXAMPLE
	local line=$2
	case $line in frisbee*|*frisbee://*|*s3://*|*nbd://*|*https://*|*"| ..."|"streamdisk --ro"*|"streamdisk bootimage"*|"streamdisk --table"*|"streamdisk status"*|*/dev/nbd*|*--changed-since*|*--shrink*) return ;; esac	# fs/shrink.sh has --shrink, streamdisk.sh and streamdisk_to.sh attach, bootimage.sh needs a kernel, nbd_http.sh has servers, changed_since.sh a tracker
	line=${line//\/dev\/sd/sd}; line=${line//\/srv\//}; line=${line//\/mnt\//}; line=${line/tar xf -/cat > tarred}
	fresh "$line"
	check "$1: $2" quietly bash -c "set -o pipefail; $line"
}
lines() { python3 - "$TOP" "$BIN" << 'PY'
import re, subprocess, sys
top, bin = sys.argv[1:]
for p in "imagezip imageunzip imagedump imagehash imagedelta imagerezip imagekey emustore streamdisk".split():
    text = subprocess.run([bin + "/" + p, "--help"], capture_output=True, text=True).stdout
    seen = []
    for line in text.split("\nExamples:\n")[1].split("\n\n")[0].splitlines():
        seen.append(re.split(r"  +", line.strip())[0])
    examples = re.search(r"^\.Sh EXAMPLES\n(.*?)^\.Sh ", open(f"{top}/man/{p}.8").read(), re.M | re.S)[1]
    for line in examples.splitlines(True):
        if line.startswith(".It Li ") and re.match(r".It Li (image|emustore|streamdisk|ssh|cat)", line):
            seen.append(line[7:].rstrip("\n").replace("\\(dq", '"').replace("\\-", "-"))
    for s in dict.fromkeys(seen):
        print(p + "\t" + s)
PY
}
n=0
while IFS=$'\t' read -r p line; do run "$p" "$line"; n=$((n + 1)); done < <(lines)
check "$n examples" [ $n -gt 40 ]
finish
