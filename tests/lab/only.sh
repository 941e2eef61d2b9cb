#!/usr/bin/env bash
# frisbee and dolly, --only: a node loads single partitions of a disk's image, and asks only for the chunks that it needs.
. "$(dirname "$0")/lib.sh"
. "$TOP/tests/cli/only_lib.sh"
requires mke2fs sfdisk
lab_up 2
only_disk
whole "$T/disk.ndz"
chunks=$(($(stat -c %s "$T/disk.ndz") >> 20))
part_of() { "$BIN/imagedump" --json --only "$1" "$T/disk.ndz" | json - '[0].only[*].chunks' | awk '{ n += $1 } END { print n }'; }
# Chunk 0, the last one, those with the tables of logical partitions, and some to find the others.
few() { local n got most; n=$(part_of "$2"); got=$(stat_of "$1" chunks_received); most=$((n + 2 + $3))
	check "$got chunks were fetched of $chunks: $n have something of partition $2" [ "$got" -ge "$n" -a "$got" -le $most ]; }
serve "$T/disk.ndz"
for how in "" --base; do
	echo "== ${how:-with the extension}"
	cp "$T/before" "$T/t1"; load 1 $how --only 1 "$T/t1"; loaded 1; expect "$T/t1" 1; few "$T/client1.json" 1 4
	cp "$T/before" "$T/t1"; load 1 $how --only 6 "$T/t1"; loaded 1; expect "$T/t1" 6; few "$T/client1.json" 6 8
	cp "$T/before" "$T/t1"; load 1 $how --only 3,5 "$T/t1"; loaded 1; expect "$T/t1" 3,5
done
echo "== with others, who load all of it"
cp "$T/before" "$T/t1"; cp "$T/before" "$T/t2"
load 2 --in-place "$T/t2"; load 1 --only 2 -s 5 -z --state="$T/state" "$T/t1"; loaded 1; loaded 2
check "all of it" cmp "$T/whole" "$T/t2"
check "that partition" cmp <(cp "$T/before" "$T/z" && "$BIN/imageunzip" -q --only 2 -s 5 -z "$T/disk.ndz" "$T/z" && cat "$T/z") "$T/t1"
check "no state is left" [ ! -e "$T/state" ]

kill "$SERVER"; wait "$SERVER" 2> /dev/null
echo "== with a group's key"
"$BIN/imagekey" -q --group-key "$T/key" || fail "imagekey"
serve --group-key "$T/key" "$T/disk.ndz"
cp "$T/before" "$T/t1"; load 1 --group-key "$T/key" --only 6 "$T/t1"; loaded 1; expect "$T/t1" 6; few "$T/client1.json" 6 8
kill "$SERVER"; wait "$SERVER" 2> /dev/null
serve "$T/disk.ndz"

echo "== what cannot be"
cp "$T/before" "$T/t1"
fails() {	# WHAT N: node 1's load failed with that sentence
	wait "${LOADS[1]}"; check "exit $? and: $1: $(grep -o '"message": .*' "$T/client1.json")" grep -q -- "$1" "$T/client1.json"
	check "nothing was written" cmp "$T/before" "$T/t1"
}
load 1 --only 9 -s 1 "$T/t1"; fails "has no partition 9: it has partitions 1, 2, 3, 5, 6"
load 1 --only 6 -s 3 "$T/t1"; fails "partition 3 is too small"
load 1 --only 1,9 "$T/t1"; fails "has no partition 9"
kill "$SERVER"; wait "$SERVER" 2> /dev/null

echo "== along a chain of dolly, of which each node loads other partitions"
ip netns exec "${LAB}s" timeout 240 "$BIN/dolly" serve --json --wait 2 --linger 0 "$T/disk.ndz" \
    > "$T/table" 2> "$T/serve.log" & SERVER=$!; PIDS+=($!)
begins $SERVER grep -q serving "$T/serve.log" || fail "dolly serve: $(cat "$T/serve.log")"
for n in 1 2; do cp "$T/before" "$T/t$n"; done
joins() { ip netns exec "$LAB$1" timeout 240 "$BIN/dolly" join --only "$2" 10.9.0.1 "$T/t$1" 2> "$T/join$1.log"; }
joins 1 2,5,6 & LOADS[1]=$!
joins 2 1,3 & LOADS[2]=$!
for n in 1 2; do wait "${LOADS[$n]}"; check "node $n: $(tail -n 1 "$T/join$n.log")" [ $? = 0 ]; done
wait $SERVER; check "the server" [ $? = 0 ]
expect "$T/t1" 2,5,6; expect "$T/t2" 1,3
finish
