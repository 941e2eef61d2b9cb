#!/usr/bin/env bash
# Outputs that are inputs, by whatever name; descriptors that are closed; pipes where a
# size is asked for.  The source is what it was, whatever was asked.
. "$(dirname "$0")/lib.sh"
requires python3 cmp
cd "$T" || exit 1
head -c 2500096 /dev/urandom > want; cp want src
ln src hard; ln -s src soft
zip() { "$BIN/imagezip" -q -r "$@"; }
untouched() { check "$1: the source is what it was" cmp want src; }

for name in src ./src hard soft; do
	status 2 zip src "$name"; untouched "$name"
	status 2 zip -U "$name" src x.ndz; untouched "-U $name"
	status 2 zip - "$name" < src; untouched "$name, through a descriptor"
done
zip src - >> src 2> stderr; rc=$?
check "appended to itself: exit 2" [ $rc = 2 ]; untouched "appended to itself"
check "none of these left an image" [ ! -e x.ndz ]
zip -U sig src x.ndz; cp x.ndz x0; cp sig sig0
status 2 zip -H sig src sig; check "the old signature is what it was" cmp sig sig0
status 2 zip -U ./y.ndz src y.ndz
check "an image that is one: seen later" "$BIN/imagedump" -q --verify y.ndz
check "-U may be what -H was" zip -H sig -U sig src d.ndz
"$BIN/imagezip" --json --to=frisbee://localhost/x src 2> stderr; rc=$?
check "--json and a master server: exit 2" [ $rc = 2 ]
check "which is said" grep -q "json cannot be combined with --to" stderr

if [ "$(id -u)" = 0 ] && dev=$(losetup -f --show src 2> /dev/null); then
	CLEANUP+=("losetup -d '$dev'")
	ln -s "$dev" dev
	status 2 zip "$dev" "$dev"; untouched "a device"
	status 2 zip "$dev" dev; untouched "a device by another name"
	status 2 "$BIN/imageunzip" -q "$dev" dev; untouched "imageunzip: a device"
else echo "no loop devices: left out"; fi

# Two programs with one output: only one writes it, and it is whole.
zip src keep.ndz; chmod 600 keep.ndz
zip src keep.ndz; check "a private image stays private" [ "$(stat -c %a keep.ndz)" = 600 ]
echo rubbish > two.ndz.partial
check "what an earlier run left is replaced" zip src two.ndz
mkfifo slow go; (head -c 2400000 src; cat go) > slow & feeder=$!
zip slow two.ndz & first=$!
begins $first eval '[ -e two.ndz.partial ] && ! flock -n two.ndz.partial true' || fail "the first one does not begin"
FRISBEE_TEST_TIMES=hold=0.2 status 1 zip src two.ndz
check "it says why" grep -q "two.ndz.* is in use: imagezip (process [0-9]*) has locked it" stderr
tail -c +2400001 src > go; wait $feeder
wait $first; check "the first one is done" [ $? = 0 ]
check "and whole" cmp <("$BIN/imageunzip" -q two.ndz -) src
check "nothing else is left" [ ! -e two.ndz.partial ]

# What is opened later must not become standard error, and get warnings.
tail -c +513 x.ndz > bad; poison disk 4000256; cp disk disk0
for closed in "0<&-" "1>&-" "2>&-" "0<&- 1>&-" "1>&- 2>&-" "0<&- 1>&- 2>&-"; do
	eval "\"\$BIN/imageunzip\" -o --in-place x.ndz disk $closed" 2> /dev/null; rc=$?
	check "imageunzip, $closed: done or not ($rc)" [ $rc -le 1 ]
	check "the disk has no messages" cmp -n 2500096 want disk
	cp disk0 disk; eval "\"\$BIN/imageunzip\" --in-place bad disk $closed" 2> /dev/null; rc=$?
	check "damage, $closed: exit $rc" [ $rc = 3 -o $rc = 1 ]
	check "nothing was written" cmp disk0 disk
	rm -f c.ndz; eval "\"\$BIN/imagezip\" -o src c.ndz $closed" 2> /dev/null
	check "imagezip, $closed: an image without messages" "$BIN/imagedump" -q --verify c.ndz
done
untouched "closed descriptors"
zip - y.ndz 0<&- 2> /dev/null; check "standard input that is closed" [ $? = 1 ]
"$BIN/imagedump" x.ndz 1>&- 2> /dev/null; check "standard output that is closed" [ $? = 1 ]

# Pipes.
check "-c of a pipe" zip -c 1000 - c.ndz < <(cat src)
check "is that much" cmp <("$BIN/imageunzip" -q c.ndz -) <(head -c 512000 src)
check "-c of a pipe that is shorter" zip -c 100000 - c.ndz < <(cat src)
check "is all" cmp <("$BIN/imageunzip" -q c.ndz -) src
check "-c of whole windows" zip -c 1024 - c.ndz < <(cat src)
check "is that much, too" cmp <("$BIN/imageunzip" -q c.ndz -) <(head -c 524288 src)
rm -f a.ndz
status 1 "$BIN/imagezip" -q -r -A 2 - a.ndz < <(cat src); check "-A of a pipe: no image" [ -z "$(ls a.ndz* 2> /dev/null)" ]
check "it says so" grep -q "more than the limit of 2 MiB" stderr
check "-A of a pipe that is shorter" zip -A 3 - a.ndz < <(cat src)
zip --progress=3 - a.ndz < <(cat src) 3> progress
check "progress of a pipe: no total" grep -q '^2500096 0$' progress

# One sentence of a report that does not arrive.
for p in "imagedump --json" "imagehash -R --json"; do
	"$BIN/"$p x.ndz > /dev/full 2> stderr; check "$p, full: exit 1" [ $? = 1 ]
	check "one sentence" [ "$(wc -l < stderr)" = 1 ]
done
finish
