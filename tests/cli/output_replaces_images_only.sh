#!/usr/bin/env bash
# A program that writes an image replaces an image that is there, and no other file, unless --force; with signatures it is the same.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1
head -c 300000 /dev/urandom > src; sum=$(sha256sum < src)
"$BIN/imagezip" -q -f src good.ndz; "$BIN/imagezip" -q -f src other.ndz; "$BIN/imagehash" -c good.ndz
again() { echo "years of work" > out; echo image > out.ndz.sig; }
replaces() {	# KIND COMMAND... (its output comes last)
	local kind=$1; shift
	again; status 1 "$@" out
	check "it says why" grep -q "out: exists already, and is not $kind; --force replaces it" stderr
	check "the file is what it was" [ "$(cat out)" = "years of work" ]
	check "nothing is beside it" [ ! -e out.partial ]
	check "--force" quietly "$1" --force "${@:2}" out; check "it is replaced" [ "$(head -c 5 out)" != years ]
	check "one of its kind is replaced" quietly "$@" out
	: > out; check "an empty file is" quietly "$@" out
	rm -f link; ln -s out link; again; status 1 "$@" link; check "not by a link either" [ "$(cat out)" = "years of work" ]
	rm out; check "a new one is made" quietly "$@" out
}
replaces "an ndz image" "$BIN/imagezip" -q -f src
replaces "an ndz image" "$BIN/imagerezip" -q good.ndz
replaces "an ndz image" "$BIN/imagedelta" -q good.ndz other.ndz
replaces "an ndz image" "$BIN/imageunzip" -q -N good.ndz
"$BIN/emustore" -q --store store init && "$BIN/emustore" -q --store store put x good.ndz || fail "emustore"
replaces "an ndz image" "$BIN/emustore" -q --store store get x
replaces "a signature" "$BIN/imagehash" -c good.ndz -o
replaces "a signature" "$BIN/imagezip" -q -f src x.ndz -U
for dev in /dev/null /dev/zero -; do check "to $dev" "$BIN/imagezip" -q -f src $dev > /dev/null; done
mkfifo pipe; cat pipe > got & check "to a pipe" "$BIN/imagezip" -q -f src pipe; wait $!
check "that is an image" "$BIN/imagedump" -q --verify got
again; check "what the shell opened is its affair" "$BIN/imagezip" -q -f src - >> out
# The signature is asked for before the disk is read, and not when the image is there.
again; status 1 "$BIN/imagezip" -q -U "" -f src out.ndz
check "nothing is begun for a signature that cannot be" [ ! -e out.ndz ]
check "--force replaces that, too" "$BIN/imagezip" -q --force -U "" -f src out.ndz
check "the source is what it was" [ "$(sha256sum < src)" = "$sum" ]
# Errors name what the user named, and count bytes of what is no disk.
status 1 "$BIN/imagezip" -q -f src no/such.ndz; check "by its name" grep -q "^imagezip: no/such.ndz: No such" stderr
( ulimit -f 100; trap '' XFSZ; exec "$BIN/imagezip" -q -z0 -f src full.ndz ) 2> stderr
check "a full disk" grep -q "^imagezip: full.ndz: writing byte [0-9]*: File too large" stderr
finish
