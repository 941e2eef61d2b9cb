# stream_lib.sh: what the tests of streaming disks share; after nbd_lib.sh and a_disk sda.
export TOP
DISK_BYTES=$((26 << 20))	# 2 MiB more than the image's
# new_target TABLE: a disk full of 0xa5, and in $T/model what an ordinary installation makes of it.
new_target() {
	poison "$T/disk" $DISK_BYTES
	installed_on "$T/disk" "$T/model"
	rm -f "$T/table"
	[ "$1" != disk ] || hide_table "$T/model"
}
# installed_on DISK MODEL: what an ordinary installation makes of such a disk.
installed_on() { cp "$1" "$2" && "$BIN/imageunzip" -q --in-place "$T/sda.ndz" "$2" || fail "imageunzip"; }
# hide_table FILE: where the table is while a disk is streamed, it shows zeros.
hide_table() { head -c $TABLE_BYTES /dev/zero | dd of="$1" bs=64k oflag=seek_bytes seek=$TABLE_AT conv=notrunc iflag=fullblock status=none; }
# The table of a_disk's image has 5 frames of 4 KiB, in front of the last 64 sectors.
TABLE_BYTES=$((5 * 4096)); TABLE_AT=$((DISK_BYTES - 64 * 512 - TABLE_BYTES))
# nbdkit writes its number before it makes the status socket.
# serve TABLE KEY=VALUE...: the disk at $T/sock, with nbdkit's number in $server.  IMAGE_AT and DISK_AT are others than the files.
serve() { begin_to_serve "$@" || fail "not served: $(cat "$T/nbd.log")"; }
begin_to_serve() {
	local table=(table="$1"); shift
	[ "${table[0]}" != table=disk ] || table=()
	rm -f "$T/pid" "$T/sock" "$T/status"
	nbdkit -f -t 18 -U "$T/sock" -P "$T/pid" "$PLUGIN" "${IMAGE_AT:-$T/sda.ndz}" disk="${DISK_AT:-$T/disk}" "${table[@]}" "$@" 2> "$T/nbd.log" & server=$!
	CLEANUP+=("kill -9 $server 2> /dev/null; wait $server 2> /dev/null")
	[[ " $* " = *" status=$T/status "* ]] && waits_at=$T/status || waits_at=
	begins $server is_served
}
is_served() { [ -s "$T/pid" ] && { [ -z "$waits_at" ] || listens_at "$waits_at"; }; }
stop() { kill $server; wait $server; }
# The first 4 KiB of a disk that is not complete are the installer's marker.
marked() { check "the marker" [ "$(head -c 14 "$T/disk")" = "NDZ unfinished" ]; }
# same_but_header TABLE: the disk below is the model.  Where the table was, two headers are left.
same_but_header() {
	[ "$1" != disk ] || { hide_table "$T/disk"; hide_table "$T/model"; }
	cmp "$T/disk" "$T/model"
}
