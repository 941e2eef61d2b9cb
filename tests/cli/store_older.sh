#!/usr/bin/env bash
# A store of another format is refused by every command, which says so and changes
# nothing: of formats that were there before the suite's first version, and of
# one that is still to come.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/store_lib.sh"
random_bytes 100K 1 > "$T/disk"; zip_all disk
export EMUSTORE=$T/S
es init; es -q put a "$T/disk.ndz"
cp -r "$T/S" "$T/good"
says() { check "says $1" grep -q "$1" "$T/stderr"; }
contents() { (cd "$T/S" && find . -type f -print0 | sort -z | xargs -0 sha256sum); }
refused() {	# THE FIRST LINE OF ITS FORMAT
	sed -i "1s/.*/$1/" "$T/S/format"; contents > "$T/before"
	for c in list "info a" stats "get a $T/out" "put b $T/disk.ndz" "import $T" \
	    "rm a" gc verify repair "repair --index" "forget a --keep-last=1" \
	    "copy a --to $T/good"; do
		status 1 es $c
		says "the format \"$1\", and this program knows only \"emustore 3\""
	done
	status 1 es --store "$T/good" copy a --to "$T/S"
	status 1 es init
	status 1 "$BIN/imageunzip" --store "$T/S" a "$T/out"
	status 1 timeout 240 "$BIN/frisbeed" --loopback -m 239.192.7.8 \
		-p $((20000 + OWN_NUMBER % 12000)) --store "$T/S" a
	check "nothing is made" [ ! -e "$T/out" ]
	check "nothing is changed" cmp "$T/before" <(contents)
}
for format in "emustore 1" "emustore 2" "emustore 4" "emustore-s3 1"; do
	echo "== $format"; refused "$format"
done

echo "== numbered packs, of which nothing says what they are"
rm -r "$T/S"; mkdir -p "$T/S/packs"
head -c 5000 "$T/disk" > "$T/S/packs/00000001.pack"
for text in "" emust; do
	printf %s "$text" > "$T/S/format"; contents > "$T/before"
	status 3 es list
	status 3 es gc
	for c in repair "repair --index"; do
		status 1 es $c
		says "packs of an older format, which this program does not know"
	done
	check "nothing is changed" cmp "$T/before" <(contents)
done
finish
