#!/usr/bin/env bash
# docs/restore.md, with the commands that stand there: a disk is lost, and a new machine, whose disk held something else, gets it
# back from the copy that dsync has kept and nbdkit serves.  Once it streams: the disk is used while it comes back, goes on after a
# power cut, and the machine starts from it.  Once it is loaded whole.
. "$(dirname "$0")/stream_lib.sh"
OFFSET=$((2048 * 512))	# of the filesystem on the disk
requires nbdcopy e2fsck
vm_bootable
# on_page WORDS: the command of the page that begins with these, with this test's own names.
on_page() {
	local line
	line=$(grep -m 1 -F "    # $1" "$TOP/docs/restore.md") || { fail "the page has no command \"$1\"" >&2; return 1; }
	sed 's/^ *# //; s/   .*//' <<< "$line" | sed "s|192.0.2.9|$2|; s|/dev/mapper/mydev|$T/copy|; s|/dev/sda|/dev/vda|"
}
serves() {	# OPTION...: for nbdkit, behind the command
	# shellcheck disable=SC2046	# the command is words
	$(on_page "nbdkit -f -r" 127.0.0.1) "$@" 2> "$LOGS/restore-nbdkit.log" & server=$!; PIDS+=($!)
	begins $server is_served || { fail "nbdkit: $(cat "$LOGS/restore-nbdkit.log")"; finish; }
}
is_served() { nbdinfo --size nbd://127.0.0.1/ > /dev/null 2>&1; }
guest() {	# NAME WHAT
	vm_guest "$1" "what=$2" -m 768 -netdev user,id=n -device virtio-net-pci,netdev=n,romfile= \
	    -drive "file=$T/a,format=raw,if=virtio,cache=unsafe"
}
starts_from_its_disk() {	# NAME COMMAND WHAT-IT-SAYS
	machine "$1"; vm_sees "$1" 300 'node login:'
	vm_types "$1" root; vm_sees "$1" 60 '# '; vm_types "$1" "$2; poweroff"
	vm_sees "$1" 60 "$3"; vm_ends "$1" 60
}

echo "== a disk, and its copy; the disk is lost"
check "the copy" quietly "$BIN/dsync" --dmmerge="$BIN/dmmerge" --since=scan:"$T/state" init "$D/disk" "$T/copy"
"$BIN/dmmerge" --status "$T/copy" > "$T/stdout"; check "it is consistent" grep -qx "condition consistent" "$T/stdout"

vm_ramdisk "$TOP/tests/vm/restore_guest" "$BIN/streamdisk" "$BIN/../lib/nbdkit-ndz-plugin.so" nbdkit nbdcopy e2fsck <<- 'I'
	drivers/md/dm-mod.ko
	drivers/block/nbd.ko
	drivers/block/virtio_blk.ko
	drivers/net/virtio_net.ko
	drivers/virtio
	fs/ext4
	crypto/crc32c_generic.ko
I
mkdir "$T/page"
for words in modprobe "streamdisk nbd://192.0.2.9/ /dev/sda" "streamdisk status" nbdcopy; do on_page "$words" 10.0.2.2; done > "$T/page/page"
cat "$T/page/page"
(cd "$T/page" && echo page | cpio --quiet -o -H newc) >> "$T/initrd"

echo "== streamed"
poison "$T/a" $((200 << 20))
serves --filter=rate rate=4M	# bits in a second, so that most is absent when the machine is used
guest stream stream
vm_sees stream 300 'RESTORE: in use'
check "no failure so far" sh -c "! grep -a '^FAIL' '$LOGS/stream.log'"
echo "== a power cut"
kill -9 "${VM_PID[stream]}"; wait "${VM_PID[stream]}" 2> /dev/null; vm_said stream
kill $server; wait $server 2> /dev/null; serves
guest again again
vm_guest_is_good again 600 RESTORE
starts_from_its_disk own "cat /made-here; md5sum < /boot/initrd" "written before the cut"
tree_of "$T/a" "$T/tree"
for d in boot etc srv; do check "/$d is as it was" diff -r --no-dereference "$D/files/$d" "$T/tree/$d"; done
check "what was written while it came back" [ "$(cat "$T/tree/made-here")" = "written before the cut
and after it" ]

echo "== loaded whole"
poison "$T/a" $((200 << 20))
guest whole whole
vm_guest_is_good whole 600 RESTORE
check "every byte of the copy" cmp -n "$(stat -c %s "$T/copy")" "$T/copy" "$T/a"
starts_from_its_disk loaded "echo it is \$(hostname)" "it is node"
check "the copy is as it was" cmp "$T/copy" "$D/disk"
finish
