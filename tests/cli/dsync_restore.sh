#!/usr/bin/env bash
# docs/restore.md: a copy that dsync has kept is served for reading, looked into, and brought back: streamed to a disk that is used
# meanwhile, and loaded whole.
. "$(dirname "$0")/lib.sh"
own_network "$@"
! instrumented || skip "nbdkit cannot run a plugin that is instrumented"
requires nbdkit nbdcopy qemu-io sfdisk mke2fs e2fsck debugfs
export PATH="$BIN:$PATH" XDG_RUNTIME_DIR=$T/run; mkdir "$T/run" "$T/mnt"
PORT=$((20000 + OWN_NUMBER % 12000)) U=$TOP/tests/helpers/nbd_stream.py
SERVED=nbd://127.0.0.1:$PORT/ SHOWN="nbd+unix:///?socket=$T/sock"
text_in() { grep -qF -- "$1" "$TOP/docs/restore.md"; }

echo "== a disk with files, and its copy"
truncate -s 64M "$T/disk"; printf 'label: dos\n2048,,83\n' | sfdisk -q "$T/disk" || fail "sfdisk"
head -c 9000000 /dev/urandom > "$T/file"
mke2fs -q -F -E offset=1048576 "$T/disk" 60M || fail "mke2fs"
debugfs -w -R "write $T/file file" "$T/disk?offset=1048576" > "$T/quiet" 2>&1 || fail "debugfs"
check "the copy" quietly dsync --since=scan:"$T/state" init "$T/disk" "$T/copy"
cp "$T/copy" "$T/was"; rm "$T/disk" "$T"/state*
has_file() {	# DISK: whether it has the file, and its filesystem is sound
	dd if="$1" of="$T/part" bs=1M skip=1 status=none && quietly e2fsck -fn "$T/part" &&
	    debugfs -R "dump file $T/found" "$T/part" 2> "$T/quiet" && cmp "$T/file" "$T/found"
}

echo "== what it holds"
dmmerge --status "$T/copy" > "$T/stdout"; check "its status" grep -qx "condition consistent" "$T/stdout"
for c in consistent fuzzy interrupted incomplete changed unknown; do check "the page has $c" text_in "| \`$c\` |"; done

echo "== served, for reading alone"
serve() { rm -f "$T/pid"; nbdkit -f -r -i 127.0.0.1 -p $PORT -P "$T/pid" "$@" file "$T/copy" & server=$!; CLEANUP+=("kill $server 2> /dev/null"); begins $server [ -s "$T/pid" ]; }
check "served" serve
check "nothing can be written" eval '! qemu-io -f raw -c "write 0 4k" "$SERVED" > "$T/quiet" 2>&1'
status 0 streamdisk "$SERVED"; check "its partitions" grep -q "partition 1: sectors 2048-131071" "$T/stdout"
if [ "$(id -u)" = 0 ] && [ -c /dev/fuse ] && { : < /dev/fuse; } 2> "$T/quiet" && command -v nbdfuse > "$T/quiet"; then
	streamdisk --ro --partition=1 "$SERVED" "$T/mnt" > "$T/said" 2>&1 & sd=$!
	CLEANUP+=("kill $sd 2> /dev/null")
	begins $sd [ -e "$T/mnt/file" ]
	check "one is mounted, with its file" cmp "$T/file" "$T/mnt/file"
	kill $sd; wait $sd; check "and no more" [ ! -e "$T/mnt/file" ]
else echo "   (no FUSE or not root: nothing is mounted)"; fi

echo "== streamed, and used meanwhile"
stream() {	# DISK OPTION...: in the background, until both sockets are there
	rm -f "$T/sock" "$T/status"
	streamdisk --status="$T/status" --socket="$T/sock" "${@:2}" "$SERVED" "$1" > "$T/said" 2>&1 & sd=$!
	CLEANUP+=("kill $sd 2> /dev/null")
	begins $sd listens_at "$T/sock" "$T/status" || fail "not attached: $(cat "$T/said")"
}
poison "$T/new" $((70 << 20))	# an old disk: what is zeros in the copy is not what it holds
stream "$T/new" --rate=8M
check "a file is written while the disk arrives" quietly qemu-io -f raw -c "write -P 7 50M 4k" -c flush "$SHOWN"
streamdisk status "$T/status" > "$T/json"; check "which has not all arrived" json "$T/json" complete=false
kill $sd; wait $sd; check "interrupted" [ $? = 0 ]
stream "$T/new" --when-idle=0
check "the same command goes on" python3 "$U" wait "$T/status" 300
check "with what was written" quietly qemu-io -f raw -c "read -P 7 50M 4k" "$SHOWN"
kill $sd; wait $sd; check "its end: $(tail -n 1 "$T/said")" grep -q "is complete" "$T/said"
truncate -s 64M "$T/new"
check "the disk is what it was" has_file "$T/new"

echo "== a disk without partitions"
kill $server; wait $server
mke2fs -q -F -t ext4 "$T/bare" 20M || fail "mke2fs"
mv "$T/copy" "$T/copy.kept"; cp "$T/bare" "$T/copy"
check "served" serve
poison "$T/new2" $((20 << 20))
status 1 streamdisk --socket="$T/sock" "$SERVED" "$T/new2"; check "it says what is missing" grep -q "no place for the sector table.*in memory" "$T/stderr"
stream "$T/new2" --table=memory
check "in memory" python3 "$U" wait "$T/status" 300
kill $sd; wait $sd
check "sound" quietly e2fsck -fn "$T/new2"
kill $server; wait $server; mv "$T/copy.kept" "$T/copy"

echo "== loaded whole"
check "served" serve
check "loaded" nbdcopy "$SERVED" "$T/loaded"
check "every byte" cmp "$T/copy" "$T/loaded"
check "the disk is what it was" has_file "$T/loaded"
check "the copy was not changed" cmp "$T/copy" "$T/was"

echo "== copied again"
status 1 dsync --since=scan:"$T/state" init "$T/loaded" "$T/copy"
check "not without saying so" grep -q -- "--force" "$T/stderr"
check "the copy was not changed" cmp "$T/copy" "$T/was"
check "init --force" quietly dsync --since=scan:"$T/state" init --force "$T/loaded" "$T/copy"
check "and it follows" quietly dsync --since=scan:"$T/state" once "$T/loaded" "$T/copy"
finish
