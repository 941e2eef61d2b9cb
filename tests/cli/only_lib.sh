# only_lib.sh: a disk with primary and logical partitions that share windows and chunks, its image, another disk with
# the same table and 0xa5 everywhere else, and what is expected there of --only.
# . after lib.sh:  only_disk makes $T/disk, $T/disk.ndz, $T/before
declare -A AT=([1]=2048 [2]=18432 [3]=34433 [5]=42048 [6]=66000)
declare -A LEN=([1]=16384 [2]=16001 [3]=4096 [5]=20000 [6]=30000)
DISK_BYTES=$((64 << 20))
TABLE='label: dos
start=2048,size=16384,type=83
start=18432,size=16001,type=83
start=34433,size=4096,type=82
start=40000,size=80000,type=5
start=42048,size=20000,type=83
start=66000,size=30000,type=83'
put() { dd if="$1" of="$2" bs=512 seek="$3" conv=notrunc,sparse status=none; }	# FILE DISK SECTOR
sectors() { dd if="$1" bs=64k iflag=skip_bytes,count_bytes skip=$(($2 * 512)) count=$(($3 * 512)) status=none; }	# DISK FIRST COUNT
# small_fs FILE SECTORS BYTES: an ext4 with a file of so many random bytes.
small_fs() {
	rm -rf "$T/d"; mkdir "$T/d"; head -c "$3" /dev/urandom > "$T/d/file"
	rm -f "$1"; truncate -s $(($2 * 512)) "$1"; mke2fs -q -F -t ext4 -d "$T/d" "$1" || fail "mke2fs"
}
only_disk() { take only disk before disk.ndz; }
fixture_only() {
	local n T=$PWD
	truncate -s $DISK_BYTES disk; sfdisk -q disk <<< "$TABLE" || return
	for n in 1 2 5 6; do small_fs fs ${LEN[$n]} $((n * 400000 + 900000)); put fs disk ${AT[$n]}; done
	head -c 1M /dev/urandom > fs; put fs disk ${AT[3]}
	poison before $DISK_BYTES; sfdisk -q --wipe never before <<< "$TABLE" || return
	rm -r fs d .poison; "$BIN/imagezip" -q -z 1 disk disk.ndz
}
# whole IMAGE: $T/whole: what installing all of it makes of $T/before.
whole() { cp "$T/before" "$T/whole"; "$BIN/imageunzip" -q --in-place "$@" "$T/whole" || fail "imageunzip, all of it"; }
# expect TARGET N[,M] [K]: TARGET is $T/before, but partition N is $T/whole's, in partition K's place.
expect() {
	local n to
	cp "$T/before" "$T/want"
	for n in ${2//,/ }; do
		to=${3:-$n}
		sectors "$T/whole" ${AT[$n]} ${LEN[$n]} | dd of="$T/want" bs=64k oflag=seek_bytes seek=$((${AT[$to]} * 512)) conv=notrunc status=none
	done
	check "--only $2${3:+ -s $3}: that, and no byte elsewhere" cmp "$T/want" "$1"
}
