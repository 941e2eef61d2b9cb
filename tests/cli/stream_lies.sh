#!/usr/bin/env bash
# A streaming disk whose source lies, while it is read: a damaged chunk, one in another one's place, another image, one cut short,
# one with a wrong signature.  A sentence says it, and nothing of that is put on the disk; the right image goes on.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nbd_lib.sh"
. "$(dirname "$0")/stream_lib.sh"
SIZE=$((6 << 20)) DISK_BYTES=$((8 << 20))
take random:$SIZE disk=rnd disk.ndz=sda.ndz
random_bytes $SIZE 2 > "$T/rnd2" && "$BIN/imagezip" -q -r "$T/rnd2" "$T/other.ndz" || fail "imagezip"
(cd "$T" && "$BIN/imagekey" --sign-key lab > /dev/null && "$BIN/imagekey" --sign-key another > /dev/null) || fail "imagekey"
for i in sda other; do "$BIN/imagerezip" -q --sign "$T/lab.key" "$T/$i.ndz" "$T/$i.signed.ndz" || fail "imagerezip"; done
new_target memory
lies() {	# WHAT IMAGE OTHER KEY=VALUE...
	timeout 300 "$PYTHON" -E -S "$TOP/tests/helpers/nbd_boot.py" lies "$PLUGIN" "$SHARED/$2" "$T/disk" "$SHARED/model" "$SHARED/$3" "${@:4}" > "$T/said" 2>&1
	local rc=$?
	cat "$T/said"
	check "$1" [ $rc = 0 ]
}
beside lies "an image" sda.ndz other.ndz
beside lies "one that is signed" sda.signed.ndz other.signed.ndz verify-key="$T/lab.pub"
cp "$T/disk" "$T/disk.was"
refused "sign" image="$T/sda.signed.ndz" verify-key="$T/another.pub" disk="$T/disk"
refused "sign" image="$T/sda.ndz" verify-key="$T/lab.pub" disk="$T/disk"
check "nothing was written" cmp "$T/disk" "$T/disk.was"
all_have_ended
finish
