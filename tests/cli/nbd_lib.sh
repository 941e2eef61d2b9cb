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
# A disk of 24 MB with an ext4 in its second partition, and its image; what imageunzip makes of that.
a_disk() {	# NAME
	mkdir "$T/files"; cp -r "$TOP/docs" "$TOP/tests/golden/img" "$T/files"; head -c 2000000 /dev/urandom > "$T/files/random"
	truncate -s 24M "$T/$1"; printf 'start=2048,size=8192,type=83\nstart=10240,size=32768,type=83\n' | sfdisk -q "$T/$1"
	truncate -s 16M "$T/$1.fs"; mke2fs -q -F -d "$T/files" "$T/$1.fs"
	dd if="$T/$1.fs" of="$T/$1" bs=1M seek=5 conv=notrunc status=none
	"$BIN/imagezip" -q "$T/$1" "$T/$1.ndz" && "$BIN/imageunzip" -q "$T/$1.ndz" "$T/$1.out" || fail "the image of $1"
}
