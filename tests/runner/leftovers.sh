# leftovers.sh: what a test has left in its folder of temporary files.  places.sh calls leaves_nothing() after each test.

# A loop device that was set read-only stays so for whoever gets it next.
free_loops_writable() {
	local d ro
	for d in /sys/block/loop*; do
		[ -e "$d/loop" ] || { read -r ro && [ "$ro" = 1 ] && blockdev --setrw "/dev/${d##*/}"; } < "$d/ro"
	done 2> /dev/null
}
attached_below() {	# FOLDER
	losetup -n -O NAME,BACK-FILE 2> /dev/null | awk -v d="$1/" 'index($2, d) == 1'
}
# Mounts, loop devices and files that a test left in its folder: said, and taken away.  A loop device that somebody
# has open when it is detached, as a program has that looks at all disks, goes when it is closed.
leaves_nothing() {	# FOLDER
	local what where rc=0 i
	for ((i = 0; i < 100; i++)); do [ -n "$(attached_below "$1")" ] || break; sleep 0.1; done
	while read -r what where; do
		echo "ERROR: left mounted: $where"; umount -l "$where"; rc=1
	done < <(awk -v d="$1/" 'index($2, d) == 1 { print $1, $2 }' /proc/self/mounts)
	while read -r what where; do
		echo "ERROR: left attached: $what to $where"; losetup -d "$what"; rc=1
	done < <(attached_below "$1")
	while read -r where; do
		echo "ERROR: left there: $where"; rc=1
	done < <(ls -A "$1")
	rm -rf "$1"
	free_loops_writable
	return $rc
}
