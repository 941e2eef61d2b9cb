#!/usr/bin/env bash
# An image in a bucket as a disk: of a pack no more is fetched than is read of the file for the
# same reads; what is kept of it is compared with the image, and so is what a server says.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nbd_lib.sh"
. "$(dirname "$0")/store_lib.sh"
requires sfdisk mke2fs
hostile_server
a_disk sda
export EMUSTORE=s3://bucket/disks
es init && es -q put sda "$T/sda.ndz" || fail "a store"
reads() { "$PYTHON" "$TOP/tests/helpers/nbd_reads.py" "$@"; }
here=(image=store:sda "store=$EMUSTORE" cache=1M)
check "of a bucket no more is read than of a file" reads bucket "$PLUGIN" "$T/sda.ndz" \
	"$T/s/sent" "${here[@]}"
rm "$T/s/sent"
random="'$PYTHON' '$TOP/tests/helpers/nbd_reads.py' random \$unixsocket '$T/sda.out' 200"
any_part() { nbd "$random" "${here[@]}"; }
spoil() {	# FILE...: some bytes in the middle of each
	local f
	for f; do
		printf XXXX | dd of="$f" bs=1 seek=$(($(stat -c %s "$f") / 2)) conv=notrunc status=none
	done
}
rm -rf "$T/cache"; check "any part of it" any_part
spoil "$T"/cache/*/blocks/*; check "what is kept and was damaged is fetched again" any_part
rm -rf "$T/cache"; echo "less /packs/ 1" > "$T/s/fault"
check "an answer that is too short: asked again" any_part
rm -rf "$T/cache"; echo "digest /packs/ 5" > "$T/s/fault"
check "answers with other bytes: asked again" any_part
rm -rf "$T/cache"; : > "$T/s/fault"
lies="nbdinfo --size \$uri > /dev/null; echo digest /packs/ > '$T/s/fault'"
if nbd "$lies; nbdcopy \$uri '$T/copied'" "${here[@]}"; then fail "only wrong bytes came out"
else check "a server that has only wrong bytes is named: $(tail -n 1 "$T/nbd.log")" \
	grep -q "sda:1: chunk.*the SHA-256 of its block" "$T/nbd.log"; fi
finish
