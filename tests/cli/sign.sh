#!/usr/bin/env bash
# Signed and encrypted images: made, proved, refused; nothing of a bad chunk written.
. "$(dirname "$0")/lib.sh"
requires python3 cmp
cd "$T" || exit 1
umask 022
head -c 5000300 /dev/urandom > src
key() { "$BIN/imagekey" "$@"; }
zip() { "$BIN/imagezip" -q -f "$@"; }
unzip() { "$BIN/imageunzip" -q "$@"; }
chunk() { dd if="$1" bs=1M skip="$2" count=1 status=none; }	# FILE N
is_there() { [ -e "$1" ]; }

check "a key pair" key -q --sign-key a
check "another" key -q --sign-key b
check "encryption keys" key -q --encrypt-key e1
check "another" key -q --encrypt-key e2
check "private files are private" [ "$(stat -c %a a.key e1 | sort -u)" = 600 ]
status 1 key --sign-key a
status 1 key --encrypt-key e1
printf 'half\n' > h.pub
status 1 key --sign-key h
check "no half of a pair is left" [ ! -e h.key ]
shim=${B:-$TOP/build/plain}/tests/preload/recorder.so
for o in sign-key encrypt-key group-key token; do
	instrumented || [ ! -e "$shim" ] && continue
	mkdir "$o"; RECORD=$T/$o.record RECORD_ROOT=$T/$o LD_PRELOAD=$shim "$BIN/imagekey" -q --$o "$o/k"
	check "--$o: a power cut does not take the name of the key" grep -aqx "sync 0 0 $T/$o" "$o.record"
done
for f in a.key e1; do cp "$f" "open.$f"; chmod 640 "open.$f"; done
status 1 zip --sign open.a.key src x.ndz
status 1 zip --encrypt open.e1 src x.ndz
# One key in place of another: it says which it is.
other() { status 3 "${@:2}"; check "it says: $1" grep -q ": is $1.*, but .* is needed" stderr; }
other "a public key" zip --sign a.pub src x.ndz
other "a key for encryption" zip --sign e1 src x.ndz
other "a public key" zip --encrypt a.pub src x.ndz
other "a private key" zip --encrypt a.key src x.ndz
other "a private key" "$BIN/imagedump" --verify-key a.key src
other "a key for encryption" "$BIN/imagedump" --verify-key e1 src
other "a public key" "$BIN/imagedump" --decrypt a.pub src
check "none of these left an image" [ ! -e x.ndz ]

zip src plain.ndz
for codec in deflate igzip zstd; do
	"$BIN/imagezip" -q --codec=$codec -f /dev/null /dev/null 2>&1 | grep -q "built without" && continue
	zip --codec=$codec --sign a.key src s.ndz
	zip --codec=$codec --encrypt e1 src c.ndz
	zip --codec=$codec --encrypt e1 --sign a.key src sc.ndz
	unzip --verify-key a.pub s.ndz out; check "$codec: signed" cmp src out
	unzip s.ndz out; check "$codec: signed, nobody asks" cmp src out
	unzip --decrypt e1 c.ndz out; check "$codec: encrypted" cmp src out
	unzip --decrypt e1 --verify-key a.pub sc.ndz out; check "$codec: both" cmp src out
	unzip --decrypt e1 --verify-key a.pub - - < sc.ndz > out; check "$codec: both, from a pipe" cmp src out
	zip --codec=$codec --encrypt e1 --sign a.key - - < src > p.ndz
	unzip --decrypt e1 --verify-key a.pub p.ndz out; check "$codec: both, captured through pipes" cmp src out
done
unzip -N --decrypt e1 sc.ndz dec.ndz
check "decrypted to an image" cmp src <(unzip --verify-key a.pub dec.ndz -)
zip --sign a.key src s.ndz
python3 "$TOP/tests/helpers/strict_reader.py" s.ndz strict 5000300 > /dev/null 2>&1; rc=$?
check "the strict reader takes signed images" [ $rc = 0 ]
if python3 "$TOP/tests/helpers/strict_reader.py" c.ndz strict 5000300 2> stderr; then fail "the strict reader takes encrypted images"
else check "refused for its magic" grep -q magic stderr; fi

# refused N OPTIONS IMAGE: with that status, and the target is what it was, as a file
# that was there, a new one, a device, a pipe.
refused() {
	local want=$1; shift
	printf 'was here' > old
	status "$want" unzip "$@" old
	check "the target is untouched" grep -qx 'was here' old
	rm -f new; status "$want" unzip "$@" new
	check "no new one is left" [ ! -e new ]
	poison dev 6000000; cp dev dev0
	status "$want" unzip --in-place "$@" dev
	check "the disk is untouched" cmp dev dev0
	status "$want" unzip "$@" -
	check "nothing came out" [ ! -s "$T/stdout" ]
}
refused 1 --verify-key a.pub plain.ndz
refused 1 --verify-key b.pub s.ndz
refused 1 --decrypt e1 plain.ndz
refused 1 --decrypt e2 c.ndz
check "says so" grep -q "chunk 0: is encrypted with another key" "$T/stderr"
refused 1 c.ndz
refused 1 --verify-key a.pub c.ndz
refused 1 --verify-key a.pub --decrypt e1 c.ndz
status 2 unzip --state st --verify-key a.pub s.ndz out

# spoil IMAGE OPTIONS: damage in the first and last chunk, chunks left out, swapped
# with others of the image and of another one.
spoil() {
	local image=$1 other=$2 n; shift 2
	n=$(($(stat -c %s "$image") >> 20))
	for at in 0 4 40 60 200 5000 500000 1048570; do
		cp "$image" bad; spoil_byte bad $at
		unzip "$@" bad new 2> /dev/null; rc=$?
		check "byte $at of $image: refused with $rc" [ $rc = 1 -o $rc = 3 ]
		check "no new file" [ ! -e new ]
	done
	head -c $(((n - 1) << 20)) "$image" > bad; refused 3 "$@" bad
	chunk "$image" $((n - 1)) > bad; refused 3 "$@" bad
	(chunk "$image" 0; tail -c +$(((2 << 20) + 1)) "$image") > bad
	status 3 unzip "$@" bad new; check "left out" [ ! -e new ]
	(chunk "$image" 0; chunk "$image" 2; chunk "$image" 1; tail -c +$(((3 << 20) + 1)) "$image") > bad
	status 3 unzip "$@" bad new; check "order" [ ! -e new ]
	status 3 unzip "$@" - new < bad; check "order, from a pipe" [ ! -e new ]
	(chunk "$image" 0; chunk "$other" 1; tail -c +$(((2 << 20) + 1)) "$image") > bad
	status 3 unzip "$@" bad new; check "of another image" [ ! -e new ]
	head -c $(((n - 1) << 20)) "$image" > bad
	status 3 unzip "$@" - new < bad; check "cut short, from a pipe" [ ! -e new ]
}
zip --sign a.key src s2.ndz
zip --encrypt e1 src c.ndz; zip --encrypt e1 src c2.ndz
check "a capture is never encrypted alike" [ "$(cmp -l c.ndz c2.ndz | wc -l)" -gt 5000000 ]
spoil s.ndz s2.ndz --verify-key a.pub
spoil c.ndz c2.ndz --decrypt e1

# What imagedump says of them.
verdict() {	# WORDS OPTIONS...
	local words=$1; shift
	check "--verify says: $words" grep -q "verified: can be restored: .*every sector is covered once.*$words" <("$BIN/imagedump" --verify "$@")
}
zip --encrypt e1 --sign a.key src sc.ndz
verdict "; not signed$" plain.ndz
verdict "; signed (--verify-key checks the signature)$" s.ndz
verdict "; signed with key [0-9a-f]\{16\}$" --verify-key a.pub s.ndz
# Without the key: what the headers say, and that it is not all.
status 1 "$BIN/imagedump" sc.ndz
check "size and codec" grep -q "^sc.ndz: version 5, deflate, [0-9]* chunks, sectors 0-9766$" stdout
check "the UUID and which key" grep -q "uuid [0-9a-f]\{32\}; encrypted with key [0-9a-f]\{16\}; the rest cannot be read" stdout
"$BIN/imagedump" --json sc.ndz > j 2> /dev/null; check "as JSON" json j "[#]=1" "[0].encrypted=true" "[0].sectors=9767" '[0].delta!?' "[0].uuid[#]=32" "[0].encryption_key[#]=16" "[0].ok=false"
check "and nothing of them with -q" [ -z "$("$BIN/imagedump" -q sc.ndz 2>&1)" ]
check "who signed is told of an image that can be read" grep -q "signed with key [0-9a-f]\{16\}$" <("$BIN/imagedump" s.ndz)
verdict "; signed with key [0-9a-f]\{16\}; encrypted$" --verify-key a.pub --decrypt e1 sc.ndz
status 1 "$BIN/imagedump" --verify sc.ndz
status 1 "$BIN/imagedump" --verify --verify-key b.pub s.ndz
check "JSON" json <("$BIN/imagedump" --json --verify --verify-key a.pub --decrypt e1 sc.ndz) "[0].verified=true" "[0].signature=good" "[0].encrypted=true"
# Chunks that do not tile, behind digests that are right.
python3 - plain.ndz gap.ndz << 'PY'
import hashlib, struct, sys, zlib
b = bytearray(open(sys.argv[1], "rb").read())
c = b[1 << 20:2 << 20]
size, = struct.unpack_from("<I", c, 4)
first, = struct.unpack_from("<I", c, 24)
struct.pack_into("<I", c, 24, first - 1)
at = (4096 + size + 7) // 8 * 8
total, = struct.unpack_from("<I", c, at + 8)
p = at + 16
while p < at + total:
    kind, _, n = struct.unpack_from("<HHI", c, p)
    if kind == 2:
        c[p + 12:p + 44] = hashlib.sha256(c[:4096 + size]).digest()
    p += 8 + (n + 7) // 8 * 8
struct.pack_into("<I", c, at + 12, zlib.crc32(c[at + 16:at + total]))
b[1 << 20:2 << 20] = c
open(sys.argv[2], "wb").write(b)
PY
status 3 "$BIN/imagedump" --verify gap.ndz
check "says so" grep -q "stored twice" "$T/stderr"

# Images made of images: read with proof, and sealed anew.
rezip() { "$BIN/imagerezip" -q "$@"; }
delta() { "$BIN/imagedelta" -q "$@"; }
uuid_of() { "$BIN/imagedump" --json --decrypt e1 "$1" | grep -o '"uuid": "[^"]*"'; }
rezip --sign a.key plain.ndz r.ndz; check "rezip: signed" cmp src <(unzip --verify-key a.pub r.ndz -)
rezip --sign a.key --encrypt e1 --codec=zstd plain.ndz r.ndz; check "rezip: both" cmp src <(unzip --verify-key a.pub --decrypt e1 r.ndz -)
rezip --verify-key a.pub --decrypt e1 --encrypt e1 r.ndz r2.ndz; check "rezip: encrypted again" cmp src <(unzip --decrypt e1 r2.ndz -)
rezip --verify-key a.pub --decrypt e1 --encrypt e1 r.ndz r3.ndz
check "never with the same UUID" [ "$( (uuid_of r.ndz; uuid_of r2.ndz; uuid_of r3.ndz) | sort -u | grep -c .)" = 3 ]
rezip --decrypt e1 sc.ndz r.ndz; check "rezip: decrypted" cmp src <(unzip r.ndz -)
rezip -u 0123456789abcdef0123456789abcdef plain.ndz u.ndz
rezip --sign a.key u.ndz r.ndz; check "rezip: a UUID of the user's is not signed" [ -z "$("$BIN/imagedump" --json r.ndz | grep 0123456789abcdef0123456789abcdef)" ]
status 1 rezip sc.ndz x.ndz
status 1 rezip --decrypt e2 c.ndz x.ndz
status 1 rezip --decrypt e1 plain.ndz x.ndz
status 1 rezip --verify-key a.pub plain.ndz x.ndz
status 1 rezip --verify-key b.pub s.ndz x.ndz
status 1 rezip --sign open.a.key plain.ndz x.ndz
check "none of these left an image" [ ! -e x.ndz ]
n=$(($(stat -c %s s.ndz) >> 20))
for at in 0 20 40 5000 500000 1048570; do
	for image in s c; do
		if [ $image = s ]; then how="--verify-key a.pub"; else how="--decrypt e1"; fi
		cp $image.ndz bad; spoil_byte bad $((1048576 + at))
		rezip $how bad x.ndz 2> /dev/null; rc=$?
		check "rezip: byte $at of $image.ndz: refused with $rc" [ $rc = 1 -o $rc = 3 ]
		(chunk $image.ndz 0; chunk ${image}2.ndz 1; tail -c +$(((2 << 20) + 1)) $image.ndz) > bad
	done
	check "no image" [ ! -e x.ndz ]
done
for image in s c; do
	if [ $image = s ]; then how="--verify-key a.pub"; else how="--decrypt e1"; fi
	(chunk $image.ndz 0; chunk ${image}2.ndz 1; tail -c +$(((2 << 20) + 1)) $image.ndz) > bad; status 3 rezip $how bad x.ndz
	head -c $(((n - 1) << 20)) $image.ndz > bad; status 3 rezip $how bad x.ndz
done
check "no image of these" [ ! -e x.ndz ]
cp src new; printf changed | dd of=new bs=1 seek=3000000 conv=notrunc status=none
zip --encrypt e1 --sign a.key new n.ndz
both="--verify-key a.pub --decrypt e1"
delta $both --sign b.key --encrypt e2 sc.ndz n.ndz d.ndz
delta --decrypt e2 --verify-key b.pub --onto d.ndz d.ndz x.ndz 2> /dev/null; check "a delta is no base" [ ! -e x.ndz ]
cp src out; unzip --decrypt e2 --verify-key b.pub d.ndz out; check "delta: sealed with other keys" cmp new out
delta $both --sign a.key --encrypt e1 sc.ndz n.ndz d.ndz
delta $both --sign b.key --onto sc.ndz d.ndz w.ndz; check "whole: signed" cmp new <(unzip --verify-key b.pub w.ndz -)
status 1 delta --decrypt e1 --verify-key a.pub --onto sc.ndz c.ndz x.ndz
status 1 delta --onto sc.ndz d.ndz x.ndz
check "no image at the end" [ ! -e x.ndz ]
finish
