# nbd_lib.sh: what the tests of images as disks share; after lib.sh.
requires nbdkit nbdcopy nbdinfo python3
PLUGIN=$(dirname "$BIN")/lib/nbdkit-ndz-plugin.so
# nbdkit is not instrumented.  With libasan preloaded for the plugin's sake it hangs in its exit now and then, also with
# plugins of its own, and a plugin that ThreadSanitizer instruments it cannot load.
! instrumented || skip "nbdkit cannot run a plugin that is instrumented"
# nbd COMMAND KEY=VALUE...: the shell's command with $uri for an export of this; nbdkit's log is in $T/nbd.log.
nbd() {
	local command=$1; shift
	timeout 400 nbdkit -f -U - "$PLUGIN" "$@" --run "$command" 2> "$T/nbd.log"
}
# comes_out FILE KEY=VALUE...: the export is this, byte for byte.
comes_out() {
	local file=$1; shift
	rm -f "$T/copied"
	nbd "nbdcopy \$uri '$T/copied'" "$@" && cmp "$file" "$T/copied"
}
# refused WORDS KEY=VALUE...: nbdkit does not start, and the reason has these words.
refused() {
	local words=$1; shift
	if nbd true "$@"; then fail "started: $*"; return; fi
	check "refused: $(head -n 1 "$T/nbd.log")" grep -q "$words" "$T/nbd.log"
}
# A disk of 24 MB with an ext4 of these files in its second partition, which is disk.fs alone; its image, and what
# imageunzip makes of that.
fixture_ext() {
	mkdir files; cp -r "$TOP/docs" "$TOP/tests/golden/img" files
	random_bytes 2000000 2 > files/random
	truncate -s 24M disk; printf 'start=2048,size=8192,type=83\nstart=10240,size=32768,type=83\n' | sfdisk -q disk
	truncate -s 16M disk.fs; mke2fs -q -F -d files disk.fs
	dd if=disk.fs of=disk bs=1M seek=5 conv=notrunc status=none
	"$BIN/imagezip" -q disk disk.ndz && "$BIN/imageunzip" -q disk.ndz disk.out
}
a_disk() { take ext files disk="$1" disk.fs="$1.fs" disk.ndz="$1.ndz" disk.out="$1.out"; }	# NAME
