# lib.sh: what the filesystem tests share: . "$(dirname "$0")/lib.sh"
#
# A case is an image of a filesystem made by its own mkfs, and a list of its
# free space as a tool other than ours tells it.  Free space is poisoned before
# the capture, the target before the installation: what the target has of its
# own poison afterwards was skipped, and must be free; all else must be equal.
. "$(dirname "${BASH_SOURCE[0]}")/../cli/lib.sh"

# A line of the table at the end of the test run.
row() { printf 'row: %s|%s|%s\n' "$1" "$2" "$3"; }
compare() { python3 "$TOP/tests/helpers/fscompare.py" "$@"; }
# What imagezip says of the only partition: KEY,KEY... IMG
said_of() {	# MEMBER[,MEMBER...] IMG: of the first partition
	local members=partitions[0].${1//,/ partitions[0].}
	# shellcheck disable=SC2086
	"$BIN/imagezip" -q -i --json -F 0 "$2" 2> "$T/said.err" | json -1 -d "" - $members
}
said_zero() { [ "$(said_of skipped_sectors "$1")" = 0 ]; }

# A tree of files to fill filesystems with: sizes from nothing to 1 MiB, one
# with a hole, names that are long, seed for other contents: DIR [SEED] [COUNT]
make_files() {
	python3 - "$1" "${2:-1}" "${3:-150}" << 'PY'
import os, random, sys
top, r, n = sys.argv[1], random.Random(int(sys.argv[2])), int(sys.argv[3])
for d in ("many", "deep/er/still"):
    os.makedirs(f"{top}/{d}", exist_ok=True)
for i in range(n):
    with open(f"{top}/many/file-{i:04}-{'x' * (i % 40)}", "wb") as f:
        f.write(r.randbytes(r.choice([0, 20, 50, 700, 5000, 40000])))
for name in ("large", "deep/er/still/large"):
    with open(f"{top}/{name}", "wb") as f:
        f.write(r.randbytes(1 << 20))
PY
}

# capture_install NAME IMG: capture IMG, check the image by two readers, install
# it on $T/target, all 0xa5 before.  How well it is compressed is no matter here.
capture_install() {
	rm -f "$T/case.ndz"
	check "$1: captured" "$BIN/imagezip" -q -z 1 -F 0 "$2" "$T/case.ndz" || return 1
	check "$1: verifies" "$BIN/imagedump" -q --verify "$T/case.ndz"
	poison "$T/target" "$(stat -c %s "$2")"
	check "$1: installed" "$BIN/imageunzip" -q --in-place "$T/case.ndz" "$T/target"
}

# fs_case FS FEATURE IMG FREE [MORE]: FREE has lines "first count", in sectors of
# 512 bytes; MORE: sectors that are skipped beyond FREE less those of it that
# are kept (explained in docs/filesystems.md).  IMG's free space is poisoned by
# this.  Afterwards $T/target is the installed filesystem, for fsck and files.
fs_case() {
	local name="$1, $2" img=$3 free=$4 more=${5:-0} listed
	listed=$(compare poison "$img" "$free") || { fail "$name: poisoning"; row "$1" "$2" FAILED; return 1; }
	capture_install "$name" "$img"
	local skipped fs; read -r skipped fs < <(said_of skipped_sectors,filesystem "$img")
	check "$name: recognised" [ "$fs" = "$1" ]
	check "$name: what its own tools call free is skipped: $skipped" [ "${skipped:-none}" = $((listed + more)) ]
	if compare installed "$img" "$T/target" "$free" "$((more > 0 ? more : 0))"; then
		row "$1" "$2" "$((${skipped:-0} / 2)) KiB free, skipped"
	else
		fail "$name: what was not free is not equal"; row "$1" "$2" FAILED
	fi
}

# fs_damaged FS WHAT IMG FREE: a damaged filesystem: stored completely, or as much of
# FREE skipped as is safe; or refused.  IMG is not changed.
fs_damaged() {
	local name="$1, $2" img=$3 free=$4 skipped warning
	capture_install "$name" "$img" || { row "$1" "$2" FAILED; return 1; }
	read -r skipped warning < <(said_of skipped_sectors,warning "$img")
	if [ "${skipped:-none}" = 0 ] && [ -z "$warning" ]; then fail "$name: stored completely without a warning"; fi
	if compare installed "$img" "$T/target" "$free" 0; then
		row "$1" "$2" "${warning:-$((skipped / 2)) KiB free, skipped}"
		echo "   ($name: $skipped sectors skipped; $warning)"
	else
		fail "$name: what was not free is not equal"; row "$1" "$2" FAILED
	fi
}

# Sectors skipped, and the warning: IMG
verdict() { "$BIN/imagezip" -q -i --json -F 0 "$1" 2> /dev/null | json -1 - "partitions[0].skipped_sectors" "partitions[0].warning"; }
# Nothing is skipped, and the warning, then in $said, has CLAUSE: WHAT IMG CLAUSE
kept_whole() {
	said=$(verdict "$2"); said=${said#0 }
	check "$1: stored completely, and says why ($said)" grep -q "^stored completely: .*$3" <<< "$said"
}
