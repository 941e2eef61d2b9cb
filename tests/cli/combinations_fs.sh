#!/usr/bin/env bash
# What is stored (-s, -B, -I, -x, -Z, -F, -c, -M, relocations) with every codec, seal, and as
# a delta: installed, it is what the plainest image of the same options makes.
. "$(dirname "$0")/combine_lib.sh"
requires mke2fs debugfs sfdisk
python3 - << 'PY'
import os, random
r = random.Random(3)
os.mkdir("files")
words = [r.randbytes(r.randint(2, 9)) for _ in range(500)]
for i in range(12):
    open(f"files/t{i}", "wb").write(b"".join(r.choice(words) for _ in range(r.randint(1, 20000))))
open("files/noise", "wb").write(r.randbytes(300000))
PY

# Two partitions, and what is changed in both until the next day.
truncate -s 12M a; poison poisoned $((12 << 20))
printf 'label: dos\nstart=2048,size=8192,type=83\nstart=12288,size=12288,type=83\n' | sfdisk -q a 2> sfdisk || fail "sfdisk: $(cat sfdisk)"
for at in 2048 12288; do mke2fs -q -F -t ext4 -E offset=$((at * 512)),nodiscard -d files a 4m 2> /dev/null; done
cp --sparse=always a b
for at in 2048 12288; do
	printf 'rm t3\nrm t7\nwrite files/t5 again\n' | debugfs -w -f - "b?offset=$((at * 512))" > debugfs 2>&1 || fail "debugfs: $(cat debugfs)"
done
unfold() {	# OUT IMAGE SEAL [IMAGE SEAL]...: onto a disk of something else
	local out=$1; shift
	cp poisoned "$out"
	while [ $# -gt 0 ]; do "$BIN/imageunzip" -q --in-place $(open "$2") "$1" "$out" || return 1; shift 2; done
}
i=0 times="1 2"; instrumented && times=1
# try DAY1 DAY2 OPTIONS: with two codecs and seals, in turn, so that all of them come.
try() {
	local a=$1 b=$2 codec seal next; shift 2
	ok "$*: the plainest" "$BIN/imagezip" -q "$@" "$a" p.a
	ok "$*: of the other day" "$BIN/imagezip" -q "$@" "$b" p.b
	unfold want.a p.a plain || fail "$*"
	unfold want.b p.b plain || fail "$*"
	for _ in $times; do
		codec=${CODECS[$((i % 3))]} seal=${SEALS[$((i % 4))]} next=${SEALS[$((i / 4 % 4))]} i=$((i + 1))
		ok "$*, $codec, $seal" "$BIN/imagezip" -q "$@" --codec=$codec $(seal $seal) -U sig "$a" x.a
		ok "$*, $codec, $seal: verified" verifies x.a $seal
		ok "$*, $codec, $seal: installed" unfold got x.a $seal
		ok "$*, $codec, $seal: the same" cmp want.a got
		ok "$*, $codec, $seal, -H $next" "$BIN/imagezip" -q "$@" --codec=$codec $(seal $next) -H sig "$b" d
		ok "$*, $codec, $seal, -H $next: verified" verifies d $next
		ok "$*, $codec, $seal, -H $next: installed" unfold got x.a $seal d $next
		# What the base stores and is free by now stays: only what the image stores counts.
		ok "$*, $codec, $seal, -H $next: the same" "$BIN/imagehash" -q p.b got
	done
}
for o in "" "--disk" "-r" "-s 1" "-s 2 -x" "-s 1 -N" "-s 1 -L" "-B 2" "-B 1 -x" "-I 1 -Z" "-R 2 -F 0" "-Z -F 1000000" "-F 0 -x" \
    "-c 13000 -F 0" "-A 100 --gaps=skip --outside=store" "-5 -M"; do
	try a b $o
done
echo "ok: $n: what is stored"

# -M: what free inodes hold is zeros, the same ones in every form.
if command -v makefs > /dev/null; then
	ffs() { python3 "$TOP/tests/helpers/ffs_read.py" "$@"; }
	for v in 1 2; do
		makefs -t ffs -s 8m -f 500 -o version=$v ufs.a files > makefs 2>&1 || fail "makefs: $(cat makefs)"
		ffs stain ufs.a; cp ufs.a ufs.b; ffs remove ufs.b 3
		for o in "-M -F 1000000" "-M -Z" "-M -x -F 0"; do try ufs.a ufs.b $o; done
		"$BIN/imagezip" -q -M -F 1000000 ufs.a x; cp ufs.a got; "$BIN/imageunzip" -q --in-place x got
		cp ufs.a want; ffs blank want > blanked
		ok "UFS$v: and those are the free ones" cmp want got
	done
	echo "ok: $n: with -M"
else echo "no makefs: left out"; fi
finish
