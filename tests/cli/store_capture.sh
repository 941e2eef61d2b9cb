#!/usr/bin/env bash
# imagezip --to=store:NAME: a disk straight into a store.  What the store has is not compressed again; what comes out is an
# image of the disk as any other, sealed ones included; an image that is not taken leaves nothing.
. "$(dirname "$0")/lib.sh"
own_network "$@"
. "$(dirname "$0")/store_lib.sh"
requires python3 mke2fs
export EMUSTORE=$T/S
related_images
to() { "$BIN/imagezip" --to="store:$1" "${@:2}"; }
of() { json - "store.$1"; }

echo "== refused before anything is read"
status 1 to a -q -r "$T/a"
es init
check "nothing is in the store" [ -z "$(all_names)" ]

echo "== captured, and out again"
first=$(to a -q --json -r "$T/a")
check "all of a is new" [ "$(of known_data_bytes <<< "$first")" = 0 ]
check "its version is told" [ "$(of version <<< "$first")" = 1 ]
check "the image that comes out is the one that was digested" [ "$(es get a - | sha256sum | cut -d' ' -f1)" = "$(of sha256 <<< "$first")" ]
check "imageunzip --store" bash -c '"$0" -q --store "$1" a - | cmp - "$2"' "$BIN/imageunzip" "$T/S" "$T/a"
data=$(json - data_bytes <<< "$first")

echo "== a changed disk: only what changed is compressed"
second=$(to a -q --json -r "$T/b")
known=$(of known_data_bytes <<< "$second")
# Windows of zeros are neither compressed nor looked for: 8 of the 19 MB.
check "known: $known of $data" [ "$known" -gt $((data - (9 << 20))) ]
check "what is new is little: $(of new_bytes <<< "$second")" [ "$(of new_bytes <<< "$second")" -lt 600000 ]
check "few fragments of it: $(of new_fragments <<< "$second")" [ "$(of new_fragments <<< "$second")" -le 8 ]
for i in a:1:a a:2:b; do
	"$BIN/imageunzip" -q --store "$T/S" "${i%:*}" "$T/out" && cmp "$T/out" "$T/${i##*:}" || fail "${i%:*} is not the disk"
	es -q get "${i%:*}" "$T/out.ndz" && "$BIN/imagedump" --verify "$T/out.ndz" > /dev/null || fail "${i%:*}: imagedump --verify"
done
check "a third time nothing is" [ "$(to a -q --json -r "$T/b" | of new_bytes)" = 0 ]
check "a put of the file that comes out, neither" [ "$(es put --json again "$T/out.ndz" | field new_bytes)" = 0 ]
to a -r "$T/b" 2> "$T/stderr" || fail "imagezip"
check "people are told" grep -q "was in the store and was not compressed" "$T/stderr"

echo "== files that were copied elsewhere, and a new one of 5 MB"
# Sixty files of 6 to 320 KB, none of which ends with a block.
mkdir "$T/before" "$T/after"
for ((n = 1; n <= 60; n++)); do
	random_bytes $((5300 * n + 777)) $n > "$T/before/$n"
	cp "$T/before/$n" "$T/after/$(((n * 37) % 61))"
done
random_bytes 5000000 99 > "$T/after/new"
for d in before after; do
	truncate -s 40M "$T/$d.fs"; mke2fs -q -F -t ext4 -b 4096 -d "$T/$d" "$T/$d.fs" || fail mke2fs
	new=$(to files -q --json "$T/$d.fs" | of new_bytes)
done
check "the new one is new, and little else: $new" [ "$new" -gt 5000000 -a "$new" -lt 7200000 ]

echo "== another level takes what is there; another codec does not"
check "-z 9" [ "$(to a -q --json -z 9 -r "$T/b" | of new_fragments)" = 0 ]
if "$BIN/imagezip" -q --codec=zstd -r "$T/a" "$T/z.ndz" 2> /dev/null; then
	check "zstd" [ "$(to z -q --json --codec=zstd -r "$T/c" | of new_fragments)" != 0 ]
	check "after that, deflate finds no zstd" [ "$(to c -q --json -r "$T/c" | of known_data_bytes)" = 0 ]
	"$BIN/imageunzip" -q --store "$T/S" c "$T/out" && cmp "$T/out" "$T/c" || fail "c is not the disk"
fi

echo "== a fragment that is damaged in the store is compressed anew"
pristine=$T/keep; cp -r "$T/S" "$pristine"
f=$(ls -S "$T"/S/packs/*.pack | head -n 1)
printf 'XXXXXXXX' | dd of="$f" bs=1 seek=1000000 conv=notrunc status=none
check "capture" to d -q -r "$T/b"
rm -rf "$T/S"; cp -r "$pristine" "$T/S"

echo "== an image that is not taken leaves nothing"
before=$(es stats --json)
status 1 to a -q -r -A 1 "$T/a"
check "the store is as it was" [ "$before" = "$(es stats --json)" ]
exec 8>> "$T/S/lock"; flock 8 || fail "flock"
status 1 to a -q -r "$T/a"
check "says why" grep -q "another program is writing" "$T/stderr"
exec 8>&-
mkfifo "$T/slow"; "$BIN/imagezip" -q -f --to=store:slow - < "$T/slow" & pid=$!
exec 9> "$T/slow"; head -c 3000000 "$T/c" >&9
is_locked() { ! flock -n "$T/S/lock" true; }
begins $pid is_locked || fail "imagezip does not begin"
kill -TERM $pid; wait $pid; rc=$?; exec 9>&-
check "a signal ends it: exit $rc" [ $rc != 0 ]
check "the store is as it was" [ "$before" = "$(es stats --json)" ]
check "verify --data" es -q verify --data

echo "== signed and encrypted, from the disk and from a file: byte for byte, and keys stay outside"
"$BIN/imagekey" -q --sign-key "$T/a" && "$BIN/imagekey" -q --encrypt-key "$T/e" || fail imagekey
for how in "--sign $T/a.key" "--encrypt $T/e" "--sign $T/a.key --encrypt $T/e"; do
	n=sealed/$(tr -dc 'a-z' <<< "${how//$T/}")
	# shellcheck disable=SC2086
	"$BIN/imagezip" -q -r $how "$T/b" "$T/sealed.ndz" || fail "imagezip $how"
	check "put, $how" es -q put $n "$T/sealed.ndz"
	check "get" gets $n "$T/sealed.ndz"
	check "nothing is new the second time" [ "$(es put --json $n "$T/sealed.ndz" | field new_bytes)" = 0 ]
	# shellcheck disable=SC2086
	check "--to" to $n -q -r $how "$T/b"
	for v in 1 3; do
		prove=""; [[ $how == *--sign* ]] && prove="--verify-key $T/a.pub"; [[ $how == *--encrypt* ]] && prove="$prove --decrypt $T/e"
		rm -f "$T/out"
		# shellcheck disable=SC2086
		check "installed and proved, version $v" "$BIN/imageunzip" -q --store "$T/S" $prove $n:$v "$T/out"
		check "the disk is right" cmp "$T/out" "$T/b"
	done
	if [[ $how == *--encrypt* ]]; then rm -f "$T/out"; quietly "$BIN/imageunzip" -q --store "$T/S" $n "$T/out" 2> /dev/null && fail "installed without the key"; fi
done
check "nothing of the keys is in the store" python3 - "$T" << 'PY'
import base64, os, re, sys
secrets = []
for n in ("a.key", "e"):
    text = open(f"{sys.argv[1]}/{n}").read()
    for word in re.findall(r"[0-9A-Za-z+/=]{32,}", text):
        secrets.append(word.encode())
        try: secrets.append(bytes.fromhex(word))
        except ValueError: secrets.append(base64.b64decode(word + "=" * (-len(word) % 4)))
assert len(secrets) >= 4, secrets
for folder, _, names in os.walk(sys.argv[1] + "/S"):
    for n in names:
        data = open(os.path.join(folder, n), "rb").read()
        assert not any(s in data for s in secrets), n
PY
check "verify --data" es -q verify --data

echo "== the next version has the level of the one before; zstd finds what it knows, too"
export EMUSTORE=$T/L
es init && to nine -q -z 9 -r "$T/a" && to nine -q -r "$T/c" && es -q get nine "$T/nine.ndz" || fail "two versions"
check "level 9" cmp -n 1 -i 4097:0 "$T/nine.ndz" <(printf '\xda')
to nine -q -z 1 -r "$T/b" && es -q get nine "$T/one.ndz" || fail "a third one"
check "unless the user wants another" cmp -n 1 -i 4097:0 "$T/one.ndz" <(printf '\x01')
if to zstd -q --codec=zstd -r "$T/a" 2> /dev/null; then
	second=$(to zstd -q --json --codec=zstd -r "$T/b")
	check "zstd: $(of known_data_bytes <<< "$second") known" [ "$(of known_data_bytes <<< "$second")" -gt $((data - (9 << 20))) ]
	check "... and few new fragments: $(of new_fragments <<< "$second")" [ "$(of new_fragments <<< "$second")" -le 8 ]
fi

echo "== put --codec: an image in another codec is made again, and what the store has is kept once"
export EMUSTORE=$T/C
es init && to a -q -r "$T/a" || fail "a store"
"$BIN/imagezip" -q -z 1 -r "$T/a" "$T/other.ndz" || fail imagezip
cp -r "$T/C" "$T/keep2"
check "as it is, it is kept twice" [ "$(es put --json other "$T/other.ndz" | field same_data_fragments)" -gt 20 ]
rm -rf "$T/C"; cp -r "$T/keep2" "$T/C"
"$BIN/imagezip" -q --codec=zstd -r -f "$T/a" "$T/other.ndz" 2> /dev/null	# where there is zstd
es put --codec=deflate other "$T/other.ndz" 2> "$T/stderr" || fail "put --codec: $(cat "$T/stderr")"
check "people are told what became of it" grep -q "was encoded again with deflate, and will not come out byte for byte; 11.8 MB of its data was in the store in this codec already" "$T/stderr"
put=$(es put --json --codec=deflate other "$T/other.ndz")
check "nothing of it is new" [ "$(field new_bytes <<< "$put")" = 0 ]
check "known by its data: $(field known_data_bytes <<< "$put")" [ "$(field known_data_bytes <<< "$put")" -gt $((10 << 20)) ]
rm -f "$T/out"
check "it installs the same disk" "$BIN/imageunzip" -q --store "$T/C" other "$T/out"
check "to the byte" cmp "$T/out" "$T/a"
es -q get other "$T/out.ndz" --force && "$BIN/imagedump" --verify "$T/out.ndz" > /dev/null || fail "imagedump --verify"
mkdir "$T/many"; cp "$T/other.ndz" "$T/many/x.ndz"
check "import" [ "$(es -q import --json --codec=deflate "$T/many" | json - '[0].new_bytes')" = 0 ]
"$BIN/imagezip" -q -r --sign "$T/a.key" "$T/b" "$T/sealed.ndz" -f || fail "imagezip --sign"
status 1 es put --codec=deflate signed "$T/sealed.ndz"
check "says why" grep -q "would not be signed any more" "$T/stderr"
"$BIN/imagezip" -q -r --encrypt "$T/e" "$T/b" "$T/sealed.ndz" -f || fail "imagezip --encrypt"
quietly es put --codec=deflate sealed "$T/sealed.ndz" 2> /dev/null && fail "an encrypted image was made again"
check "neither is in the store" [ "$(all_names)" = "a:1 other:1 other:2 x:1" ]
check "verify --data" es -q verify --data
finish
