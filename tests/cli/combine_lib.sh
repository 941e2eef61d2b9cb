# combine_lib.sh: what the scripts share that try what can be asked for together.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
requires python3 cmp
cd "$T" || exit 1
umask 022
CODECS=(deflate:1 igzip zstd:1)
for codec in "${CODECS[@]}"; do
	"$BIN/imagezip" -q --codec="$codec" -f /dev/null x 2>&1 | grep -q "built without" && skip "needs $codec built in"
done
# ok WHAT COMMAND...: says nothing of what is right, for there are many.
n=0
ok() { local what=$1; shift; n=$((n + 1)); quietly "$@" || fail "$what: $*"; }

"$BIN/imagekey" -q --sign-key k --encrypt-key e
# Makes a seal, and reads it.
SEALS=(plain signed encrypted both)
seal() { case $1 in signed) echo --sign k.key ;; encrypted) echo --encrypt e ;; both) echo --sign k.key --encrypt e ;; esac; }
open() { case $1 in signed) echo --verify-key k.pub ;; encrypted) echo --decrypt e ;; both) echo --verify-key k.pub --decrypt e ;; esac; }
verifies() { "$BIN/imagedump" -q --verify $(open "$2") "$1"; }	# IMAGE SEAL
installs() {	# WANT (IMAGE SEAL)...: onto a disk of something else
	local want=$1; shift
	poison target "$(stat -c %s "$want")"
	while [ $# -gt 0 ]; do
		"$BIN/imageunzip" -q --in-place $(open "$2") "$1" target || return 1; shift 2
	done
	cmp "$want" target
}
