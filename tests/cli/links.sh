#!/usr/bin/env bash
# Outputs that are named by a link, as /dev/stdout names a file: the link stays, whether it
# goes well or not; what is begun and fails is not left behind it.
. "$(dirname "$0")/lib.sh"
head -c 3000000 /dev/urandom > "$T/src"; "$BIN/imagezip" -q -f "$T/src" "$T/good.ndz" || fail "imagezip"
cp "$T/good.ndz" "$T/bad.ndz"; spoil_byte "$T/bad.ndz" 1200000
"$BIN/emustore" --store "$T/store" init && "$BIN/emustore" -q --store "$T/store" put x "$T/good.ndz" || fail "emustore"
"$BIN/emustore" -q --store "$T/bad" init && "$BIN/emustore" -q --store "$T/bad" put x "$T/good.ndz" || fail "emustore"
cp "$T/good.ndz" "$T/head.ndz"; spoil_byte "$T/head.ndz" 1048576	# of chunk 1
pack=$(find "$T/bad/packs" -type f -size +1M); spoil_byte "$pack" 2900000
old=kiii	# as an image of version 3 begins: what is none would not be replaced
again() { rm -f "$T/link" "$T/real"; echo $old > "$T/real"; ln -s real "$T/link"; }
stays() { check "$1: the link stays" [ -L "$T/link" -a "$(readlink "$T/link")" = real ]; }
well() {	# WANTED COMMAND...: makes what WANTED is behind the link
	local want=$1; shift
	again; quietly "$@" "$T/link" || fail "$*"
	stays "$(basename "$1")"; check "with the new file behind it" [ "$(stat -c %s "$T/real")" = "$(stat -c %s "$want")" ]
	check "nothing beside it" [ ! -e "$T/real.partial" -a ! -e "$T/link.partial" ]
}
ill() {	# WHAT REMAINS COMMAND...
	local what=$1 remains=$2; shift 2
	again; if "$@" "$T/link" > /dev/null 2>&1; then fail "$*"; fi
	stays "$what, failing"; check "what is behind it: \"$remains\"" [ "$(head -c 100 "$T/real" | tr -d '\0')" = "$remains" ]
}
well "$T/good.ndz" "$BIN/imagezip" -q -f "$T/src"
well "$T/good.ndz" "$BIN/imagerezip" -q "$T/good.ndz"
well "$T/src" "$BIN/imageunzip" -q "$T/good.ndz"
well "$T/good.ndz" "$BIN/imageunzip" -q -N "$T/good.ndz"
well "$T/good.ndz" "$BIN/emustore" -q --store "$T/store" get x
ill imagerezip $old "$BIN/imagerezip" -q "$T/bad.ndz"
ill imageunzip "" "$BIN/imageunzip" -q "$T/bad.ndz"
ill "imageunzip -N" "" "$BIN/imageunzip" -q -N "$T/head.ndz"
ill "emustore get" $old "$BIN/emustore" -q --store "$T/bad" get x
# A link to what is not there becomes what is written.
rm -f "$T/link" "$T/real"; ln -s none "$T/link"
check "a link to nothing" quietly "$BIN/imagezip" -q -f "$T/src" "$T/link"
# What NAME.partial leads to, whoever put it there, is not what was named.
echo mine > "$T/mine"; ln -s mine "$T/new.ndz.partial"
"$BIN/imagezip" -q -f "$T/src" "$T/new.ndz" 2> "$T/e"; rc=$?
check "a link at the partial file's name is refused" [ $rc = 1 -a "$(cat "$T/mine")" = mine -a ! -e "$T/new.ndz" ]
check "and named" grep -q "new.ndz.partial: is a symbolic link" "$T/e"

# As /dev/stdout, which all need: in a folder of its own, not to be missed.
ln -s /proc/self/fd/1 "$T/stdout"
"$BIN/imagezip" -q -f "$T/src" "$T/stdout" > "$T/out"; check "an image by a link to standard output" quietly "$BIN/imagedump" -q --verify "$T/out"
"$BIN/imageunzip" -q "$T/good.ndz" "$T/stdout" > "$T/out"; check "and a disk" cmp "$T/src" "$T/out"
for p in "imageunzip -q" "imageunzip -q -N" "imagerezip -q"; do
	"$BIN"/$p "$T/head.ndz" "$T/stdout" > "$T/out" 2> /dev/null
	check "$p, failing: the link stays" [ $? = 3 -a -L "$T/stdout" ]
done
finish
