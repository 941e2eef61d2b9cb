#!/usr/bin/env bash
# Sectors that cannot be read: tried again, then an error, or with -X zeros, a list
# in the image, on stderr and in JSON, and a status of its own.
. "$(dirname "$0")/lib.sh"
shim=${B:-$TOP/build/plain}/tests/preload/faulty.so
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0
case $(basename "$(dirname "$BIN")") in *thread*) skip "another library cannot come before the thread sanitizer's" ;; esac
bad_at() { local which=$1; shift; rm -f "$T/fired"; FAULT=pread:$which:bad:$T/src FAULT_FIRED=$T/fired LD_PRELOAD=$shim "$@"; }

# How many are lost, and which, FIRST:COUNT, by what begins with MEMBERS: MEMBERS FILE
lost_in() { json -1 "$2" "$1lost_sectors" "$1lost_ranges[*].first_sector,sectors"; }

head -c 6000000 /dev/urandom > "$T/src"; truncate -s 6000128 "$T/src"	# the last sector has 128 bytes
# lost WHICH FIRST COUNT OPTIONS...: exactly these sectors are zeros, and said so.
lost() {
	local which=$1 first=$2 count=$3; shift 3
	bad_at "$which" "$BIN/imagezip" -q -X -f "$@" "$T/src" "$T/x.ndz" 2> "$T/stderr"; rc=$?
	check "-X $which $*: exit 4 ($rc)" [ $rc = 4 ]
	check "the sectors are named" grep -q "lost sectors $first-$((first + count - 1)), stored as zeros" "$T/stderr"
	check "the image is whole" quietly "$BIN/imagedump" -q --verify "$T/x.ndz"
	"$BIN/imagedump" --json "$T/x.ndz" > "$T/json"
	check "the image has the list" [ "$(lost_in "[0]." "$T/json")" = "$count $first:$count" ]
	cp "$T/src" "$T/want"
	dd if=/dev/zero of="$T/want" bs=512 seek="$first" count="$count" conv=notrunc status=none
	truncate -s 6000128 "$T/want"
	"$BIN/imageunzip" -q "$T/x.ndz" "$T/got"
	check "zeros there, everything else as it was" cmp "$T/want" "$T/got"
}
lost 777 777 1
lost 0 0 1
lost 100-400 100 301
lost 127-128 127 2 --retries 0
lost 5000-5003 5000 4 --codec=zstd
lost 11718 11718 1
check "imagedump says it in words" grep -q "1 sectors could not be read and are stored as zeros, namely 11718-11718" <("$BIN/imagedump" "$T/x.ndz")
bad_at 9-10 "$BIN/imagezip" -X --json -f "$T/src" "$T/x.ndz" > "$T/json" 2> /dev/null
check "--json" [ "$(lost_in "" "$T/json")" = "2 9:2" ]

# A sector that can be read again is not lost.
bad_at 300-300x10 "$BIN/imagezip" -q -f "$T/src" "$T/y.ndz"; rc=$?
check "read again: exit 0 ($rc)" [ $rc = 0 -a -e "$T/fired" ]
"$BIN/imageunzip" -q "$T/y.ndz" "$T/got"; check "and right" cmp "$T/src" "$T/got"
check "nothing is said to be lost" grep -q '"lost_sectors": 0' <("$BIN/imagedump" --json "$T/y.ndz")

# Without -X: an error that names the sector, and no image.
rm -f "$T/x.ndz"
bad_at 777 "$BIN/imagezip" -q -f "$T/src" "$T/x.ndz" 2> "$T/stderr"; rc=$?
check "without -X: exit 1 ($rc)" [ $rc = 1 ]
check "names the sector" grep -q "src: reading sector 777" "$T/stderr"
check "no image" [ ! -e "$T/x.ndz" ]
# A disk that is gone has no bad sectors.
FAULT=pread:9:gone:$T/src LD_PRELOAD=$shim "$BIN/imagezip" -q -X -f "$T/src" "$T/x.ndz" 2> "$T/stderr"; rc=$?
check "a disk that is gone, with -X: exit 1 ($rc)" [ $rc = 1 -a ! -e "$T/x.ndz" ]

# Sectors of a partition count from its start in the image, from the disk's in what is said.
requires sfdisk
truncate -s 8M "$T/src"
printf 'label: dos\nstart=2048,size=4M,type=7f\n' | sfdisk -q "$T/src"
bad_at 2100 "$BIN/imagezip" -q -X -s 1 "$T/src" "$T/x.ndz" 2> "$T/stderr"
check "partition: the disk's sector is named" grep -q "lost sectors 2100-2100" "$T/stderr"
check "partition: the image's sector is in it" grep -q "namely 52-52" <("$BIN/imagedump" "$T/x.ndz")

# The list goes with its sectors into images made of images, and installers tell.
list_of() { "$BIN/imagedump" --json "$1" | lost_in "[0]." -; }
has_list() { check "$1: lost are $3" [ "$(list_of "$2")" = "$3" ]; }	# WHAT IMAGE LIST
head -c 4M /dev/urandom > "$T/src"
bad_at 100-102 "$BIN/imagezip" -q -X -f "$T/src" "$T/a.ndz" 2> /dev/null
has_list "captured" "$T/a.ndz" "3 100:3"
"$BIN/imagerezip" -q --codec=deflate:1 "$T/a.ndz" "$T/b.ndz"; has_list "imagerezip" "$T/b.ndz" "3 100:3"
"$BIN/imageunzip" -q "$T/b.ndz" "$T/got" 2> "$T/stderr"; rc=$?
check "imageunzip: exit 0 ($rc), and it says so" [ $rc = 0 -a "$(grep -c "warning: 3 sectors could not be read when the image was made, and are zeros: 100-102" "$T/stderr")" = 1 ]
check "--json" [ "$("$BIN/imageunzip" --json "$T/b.ndz" "$T/got" 2> /dev/null | lost_in "" -)" = "3 100:3" ]
cp "$T/src" "$T/good"
spoil_byte "$T/src" $((5000 * 512))
bad_at 101-101 "$BIN/imagezip" -q -X -f "$T/src" "$T/n.ndz" 2> /dev/null		# 100 and 102 are readable now
"$BIN/imagedelta" -q "$T/a.ndz" "$T/n.ndz" "$T/d.ndz"; has_list "delta" "$T/d.ndz" "1 101:1"
"$BIN/imagedelta" -q --onto "$T/a.ndz" "$T/d.ndz" "$T/w.ndz"; has_list "base and delta" "$T/w.ndz" "1 101:1"
check "what they amount to" cmp <("$BIN/imageunzip" -q "$T/n.ndz" - 2> /dev/null) <("$BIN/imageunzip" -q "$T/w.ndz" - 2> /dev/null)
"$BIN/imagezip" -q -f "$T/src" "$T/whole.ndz"
"$BIN/imagedelta" -q "$T/n.ndz" "$T/whole.ndz" "$T/d2.ndz"; has_list "delta, nothing lost" "$T/d2.ndz" "0"
"$BIN/imagedelta" -q --onto "$T/a.ndz" "$T/d.ndz" "$T/d2.ndz" "$T/w.ndz"; has_list "nothing any more" "$T/w.ndz" "0"
check "nothing is said then" [ -z "$("$BIN/imageunzip" -q "$T/w.ndz" "$T/got" 2>&1)" ]
# Zeros are no loss, although they look like one: the delta of the two is not empty.
cp "$T/good" "$T/src"; dd if=/dev/zero of="$T/src" bs=512 seek=100 count=3 conv=notrunc status=none
"$BIN/imagezip" -q -f "$T/src" "$T/zeros.ndz"
"$BIN/imagedelta" -q "$T/a.ndz" "$T/zeros.ndz" "$T/d.ndz"
"$BIN/imagedelta" -q --onto "$T/a.ndz" "$T/d.ndz" "$T/w.ndz"; has_list "zeros" "$T/w.ndz" "0"
"$BIN/imagedelta" -q "$T/zeros.ndz" "$T/a.ndz" "$T/d.ndz"; has_list "lost, and zeros before" "$T/d.ndz" "3 100:3"
finish
