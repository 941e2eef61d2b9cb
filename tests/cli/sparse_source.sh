#!/usr/bin/env bash
# Holes of a source are not read: a sparse file of terabytes with three small partitions is captured in no time, its
# gaps are holes on the target, and --gaps=store stores zeros.  A source that claims 2^63 bytes is refused.
. "$(dirname "$0")/lib.sh"
requires sfdisk mke2fs
export PATH="$BIN:$PATH"
truncate -s 20M "$T/fs"; head -c 3M /dev/urandom > "$T/file"; mkdir "$T/d"; cp "$T/file" "$T/d"
mke2fs -q -F -t ext4 -d "$T/d" "$T/fs" || fail "mke2fs"
put() { dd if="$T/fs" of="$1" bs=512 seek="$2" conv=notrunc,sparse status=none; }
has_read() { local n; read -r _ n < <(grep ^rchar "$T/io"); [ "$n" -lt "$1" ]; }

truncate -s 6T "$T/disk" || skip "no files of 6 TB here"
printf 'label: gpt\nstart=2048,size=40960\nstart=6442450944,size=40960\nstart=12884000000,size=40960\n' |
	sfdisk -q "$T/disk" 2> "$T/quiet"
for at in 2048 6442450944 12884000000; do put "$T/disk" $at; done
check "captured" timeout 100 imagezip "$T/disk" "$T/x.ndz" 2> "$T/said"
check "what is left out is said: $(head -n 1 "$T/said")" grep -q "TB outside of partitions.*gaps=store" "$T/said"
check "installed" timeout 100 imageunzip -q "$T/x.ndz" "$T/t"
part() { dd if="$1" bs=512 skip="$2" count=40960 status=none | sha256sum; }
for at in 2048 6442450944 12884000000; do
	check "partition at $at" [ "$(part "$T/disk" $at)" = "$(part "$T/t" $at)" ]
done
check "the table" cmp -n $((2048 * 512)) "$T/disk" "$T/t"

# Smaller gaps are stored as zeros, and so are larger ones with --gaps=store; neither is read.
truncate -s 3G "$T/small"
printf 'label: dos\n2048,40960,83\n4294967,40960,83\n' | sfdisk -q "$T/small"
put "$T/small" 2048; put "$T/small" 4294967
for how in "" --gaps=store; do
	( imagezip -q $how "$T/small" "$T/y.ndz"; cat /proc/$BASHPID/io > "$T/io" ) || fail "imagezip $how"
	check "holes are not read" has_read 300000000
	case $how in
	"") check "the hole is left out" grep -q "[0-9] MB of data" <(imagedump "$T/y.ndz") ;;
	*) check "the hole is stored" grep -q "2.2 GB of data" <(imagedump "$T/y.ndz") ;;
	esac
done
truncate -s 200M "$T/gap"
printf 'label: dos\n2048,40960,83\n300000,40960,83\n' | sfdisk -q "$T/gap"
put "$T/gap" 2048; put "$T/gap" 300000
imagezip -q "$T/gap" "$T/z.ndz" && poison "$T/t2" $((200 << 20)) && imageunzip -q --in-place "$T/z.ndz" "$T/t2"
check "a small gap is zeros on the target" cmp -i $((43008 * 512)) -n $(((300000 - 43008) * 512)) "$T/gap" "$T/t2"

# A file of odd length that ends in a hole, as it is.
truncate -s 5000001 "$T/odd"; printf head | dd of="$T/odd" conv=notrunc status=none
imagezip -q -f "$T/odd" "$T/odd.ndz" && imageunzip -q "$T/odd.ndz" "$T/odd.out" && check "an odd end" cmp "$T/odd" "$T/odd.out"

if command -v nbdkit > "$T/quiet"; then
	for size in 9223372036854775296 4611686018427387904; do
		status 1 timeout 240 nbdkit -U - pattern $size --run "'$BIN/imagezip' -q -r \$uri '$T/n.ndz'"
		check "says what it claims" grep -q "$size bytes, which no disk has" "$T/stderr"
	done
	status 1 timeout 240 nbdkit -U - pattern 9223372036854775296 \
		--run "'$BIN/dmextract' -q --full --since=scan:'$T/state' \$uri"
	check "nor is it copied" grep -q "which no disk has" "$T/stderr"
fi
finish
