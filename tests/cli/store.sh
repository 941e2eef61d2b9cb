#!/usr/bin/env bash
# The image store: what comes out is what went in, each piece is kept once, names, versions,
# removal, damage of every kind, and what readers and writers do to each other.
. "$(dirname "$0")/lib.sh"
own_network "$@"
. "$(dirname "$0")/store_lib.sh"
requires python3 zstd
export EMUSTORE=$T/S
related_images

echo "== put and get"
status 1 es list
check "init" es init
status 1 es init
check "put a" es -q put a "$T/a.ndz"
new=$(es put --json b - < "$T/b.ndz" | field new_fragments)
check "few fragments of b are new: $new" [ "$new" -le 8 ]
check "put c, with labels and a parent" es -q put lab/c "$T/c.ndz" --label os=none --label empty --parent a
new=$(es put --json a "$T/a.ndz" | field new_bytes)
check "nothing is new the second time" [ "$new" = 0 ]
for i in a:a a:1:a a:2:a a:latest:a b:b lab/c:c; do check "get ${i%:*}" gets "${i%:*}" "$T/${i##*:}.ndz"; done
es -q get b --chunk 4 "$T/chunk" && dd if="$T/b.ndz" bs=1M skip=4 count=1 status=none | cmp - "$T/chunk" || fail "one chunk"
status 1 es get b --chunk 99 "$T/chunk"
check "info tells digest, parent and label" bash -c '"$0" info lab/c | grep -q "$1" && "$0" info lab/c | grep -q "derived from a:1" && "$0" info lab/c | grep -q os=none' \
	"$BIN/emustore" "$(sha256sum < "$T/c.ndz" | cut -d' ' -f1)"
check "list has all" [ "$(all_names)" = "a:1 a:2 b:1 lab/c:1" ]
sum=$(($(stat -c %s "$T/a.ndz") + $(stat -c %s "$T/c.ndz"))) packs=$(cat "$T"/S/packs/* | wc -c)
check "one of the related images is kept: $packs of $sum" [ "$packs" -lt $((sum + 500000)) ]
check "verify" es -q verify
check "verify --data" es -q verify --data

echo "== images of other programs, their streams made again"
for g in "$GOLDEN"/img/*.ndz.zst; do
	n=$(basename "$g" .ndz.zst); zstd -dqfc "$g" > "$T/g.ndz"
	quietly es -q put "golden/$n" "$T/g.ndz" || fail "put $n"
	gets "golden/$n" "$T/g.ndz" || fail "get $n"
done

echo "== other codecs"
for codec in zstd igzip; do
	"$BIN/imagezip" -q -r --codec=$codec "$T/b" "$T/g.ndz" 2> "$T/stderr" || { grep -q "without" "$T/stderr" || fail "imagezip: $(cat "$T/stderr")"; continue; }
	check "put, $codec" es -q put codec/$codec "$T/g.ndz"
	check "get, $codec" gets codec/$codec "$T/g.ndz"
	check "nothing is new the second time" [ "$(es put --json codec/$codec "$T/g.ndz" | field new_bytes)" = 0 ]
	check "imageunzip --store, $codec" bash -c '"$0" -q --store "$1" codec/$2 - | cmp - "$3"' "$BIN/imageunzip" "$T/S" $codec "$T/b"
done

echo "== names"
for n in ../x /x x/ x//y .x x/../y -- "a b" 'x:0' 'x:-1' 'x:9999999999' '' "$(printf 'x%.0s' {1..129})" $'x\ny' $'x\033[31m:1' $'x:\033[31m'; do
	es -q put -- "$n" "$T/c.ndz" 2> "$T/stderr" && fail "the name \"$n\" was taken"
	[ "$(wc -l < "$T/stderr")" = 1 ] && ! grep -q "[[:cntrl:]]" "$T/stderr" || fail "the name \"$n\": $(cat -v "$T/stderr")"
done
status 1 es put a:1 "$T/a.ndz"
check "a version of its own" es -q put a:7 "$T/a.ndz"
status 1 es get nobody "$T/out"
status 1 es get a:5 "$T/out"
status 1 es rm a

echo "== nothing is written over the store's own files"
ln -s "$T/S/index.db" "$T/link"
for f in "$T/S/packs/00000001.pack" "$T/S/format" "$T/link"; do status 1 es -q get a "$f"; done
check "they are whole" es -q verify --data

echo "== images that are damaged are not taken, and leave nothing"
before=$(es stats --json)
for at in 5000 300000 1100000 2100000; do
	cp "$T/c.ndz" "$T/bad.ndz"; printf '\377\000\125' | dd of="$T/bad.ndz" bs=1 seek=$at conv=notrunc status=none
	cmp -s "$T/c.ndz" "$T/bad.ndz" || status 3 es -q put bad "$T/bad.ndz"
done
head -c 2000000 "$T/a.ndz" > "$T/bad.ndz"; status 3 es -q put bad "$T/bad.ndz"
status 3 es -q put bad - < <(head -c 2097152 "$T/a.ndz")
check "the store is as it was" [ "$before" = "$(es stats --json)" ]

echo "== readers and writers"
mkfifo "$T/slow"
es -q put slow - < "$T/slow" & writer=$!
exec 9> "$T/slow"; head -c 1048576 "$T/a.ndz" >&9
is_locked() { ! flock -n "$T/S/lock" true; }
soon is_locked || fail "the writer does not begin"
status 1 es put c2 "$T/c.ndz"
check "says why" grep -q "another program is writing" "$T/stderr"
check "a reader goes on" gets b "$T/b.ndz"
es -q --wait put waited "$T/c.ndz" 9>&- & waiter=$!
tail -c +1048577 "$T/a.ndz" >&9; exec 9>&-
check "the slow put ends well" wait $writer
check "the one that waited, too" wait $waiter
check "both are there" bash -c '"$0" -q get slow - | cmp - "$1" && "$0" -q get waited - | cmp - "$2"' "$BIN/emustore" "$T/a.ndz" "$T/c.ndz"

echo "== installed and served straight from the store"
installs_b $((20000 + OWN_NUMBER % 12000))
status 1 "$BIN/imageunzip" -q --store "$T/S" nobody "$T/out2"

echo "== rm, gc, and an index made again"
for n in slow waited a:7; do check "rm $n" es rm $n; done
check "rm --all" es rm --all a
status 1 es get a "$T/out"
check "gc" es -q gc --all
check "verify after gc" es -q verify --data
check "what b shares with a is still there" gets b "$T/b.ndz"
check "gc again finds nothing" [ "$(es gc --json --all | field fragments_removed)" = 0 ]
es list --json > "$T/list"
rm "$T"/S/index.db*
check "an index that is thrown away is made again" [ "$(es list --json)" = "$(cat "$T/list")" ]
check "repair --index" es -q repair --index
check "the same images" [ "$(es list --json)" = "$(cat "$T/list")" ]
check "verify after that" es -q verify --data
check "get after that" gets lab/c "$T/c.ndz"
check "put after that" es -q put a "$T/a.ndz"
check "get of it" gets a "$T/a.ndz"
check "a label is still there" bash -c '"$0" info lab/c | grep -q os=none' "$BIN/emustore"

echo "== flipped bits: found, never served"
rm -rf "$T/keep"; cp -r "$T/S" "$T/keep"
for spec in pack index; do
	case $spec in pack) f=$(ls -S "$T"/S/packs/*.pack | head -n 1) ;; index) f=$T/S/index.db ;; esac
	name=${f#"$T/S/"} size=$(stat -c %s "$f") served=0 refused=0
	for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
		cp "$T/keep/$name" "$f"; rm -f "$T"/S/index.db-*
		spoil_byte "$f" $((size * i / 13 + 37 * i)) 16
		quietly "$BIN/imageunzip" -q --store "$T/S" b "$T/out" 2> /dev/null && { cmp -s "$T/b" "$T/out" || fail "a wrong disk"; }
		rm -f "$T/out"
		for n in a b lab/c; do
			want=$T/${n##*/}.ndz
			if quietly es -q get $n "$T/out" 2> /dev/null; then
				cmp -s "$T/out" "$want" || fail "$spec, bit at $((size * i / 13 + 37 * i)): a wrong image was served"
				served=$((served + 1))
			else
				[ ! -e "$T/out" ] || fail "half an image is left"
				refused=$((refused + 1))
			fi
			rm -f "$T/out"
		done
		[ $spec = index ] || { es -q verify --data > /dev/null 2>&1 && fail "verify did not find the flipped bit at $((size * i / 13 + 37 * i))"; }
	done
	echo "ok: $spec: $served served right, $refused refused"
done
rm -rf "$T/S"; cp -r "$T/keep" "$T/S"

echo "== repair, and a put that brings back what was lost"
f=$(ls -S "$T"/S/packs/*.pack | head -n 1)
printf 'XXXXXXXX' | dd of="$f" bs=1 seek=1000000 conv=notrunc status=none
status 3 es -q verify --data
status 3 es -q repair
[ "$(es verify --json 2> /dev/null | field images_damaged)" != 0 ] || fail "nothing was lost?"
for i in a b c; do es -q put again/$i "$T/$i.ndz" || fail "put again $i"; done
for g in "$GOLDEN"/img/*.ndz.zst; do zstd -dqfc "$g" > "$T/g.ndz"; es -q put again/g "$T/g.ndz" || fail "put $g"; done
for n in b:b lab/c:c; do check "${n%:*} is whole again" gets "${n%:*}" "$T/${n#*:}.ndz"; done
check "verify finds every image whole" [ "$(es verify --json 2> /dev/null | field images_damaged)" = 0 ]

echo "== packs that are cut short, or gone"
random_bytes 2M 9 > "$T/d"; zip_all d
packs() { ls "$T"/S/packs/*.pack; }
for how in "truncate -s 100" rm; do
	rm -rf "$T/S"; es init --pack-size 2M
	es -q put d "$T/d.ndz" || fail "put d"
	of_d=$(packs)	# of which b needs nothing, and of a's nearly all
	es -q put a "$T/a.ndz" || fail "put a"
	of_a=$(packs | grep -vxF "$of_d")
	es -q put c "$T/c.ndz" || fail "put c"
	$how "$(tail -n 1 <<< "$of_d")" "$(tail -n 1 <<< "$of_a")"
	status 3 es -q verify
	check "put goes on, in another pack" es -q put b "$T/b.ndz"
	check "and is whole" gets b "$T/b.ndz"
	status 3 es -q repair
	for i in a b c d; do check "put $i again" es -q put $i "$T/$i.ndz"; done
	for i in a b c d; do check "get $i" gets $i "$T/$i.ndz"; done
	for n in $(all_names); do quietly es -q get "$n" "$T/out" || es rm "$n" || fail "rm $n"; done
	check "gc" es -q gc --all
	check "verify --data" es -q verify --data
	for i in a b c d; do check "get $i" gets $i "$T/$i.ndz"; done
done

echo "== a store of a newer format"
rm -rf "$T/S"; cp -r "$T/keep" "$T/S"
sed -i 's/^emustore 3$/emustore 4/' "$T/S/format"
status 1 es list
status 1 es put x "$T/c.ndz"

echo "== import"
rm -rf "$T/S"; mkdir "$T/dir"; cp "$T/a.ndz" "$T/b.ndz" "$T/dir"
es init --pack-size 1M; check "import" es -q import "$T/dir"
check "several packs" [ "$(ls "$T/S/packs" | wc -l)" -gt 3 ]
cp "$T/a.ndz" "$T/dir/z z.ndz"; status 3 es -q import "$T/dir"
check "a name that cannot be is found before anything is put" [ "$(all_names)" = "a:1 b:1" ]
mv "$T/dir/z z.ndz" "$T/dir/bb.ndz"; truncate -s 1000000 "$T/dir/bb.ndz"; status 3 es -q import "$T/dir"
check "says how many were put" grep -q "2 of 3 images were put" "$T/stderr"
check "both images" bash -c '"$0" -q get a - | cmp - "$1" && "$0" -q get b - | cmp - "$2"' "$BIN/emustore" "$T/a.ndz" "$T/b.ndz"
finish
