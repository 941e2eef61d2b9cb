#!/usr/bin/env bash
# In a chroot whose / is no mount point the lab cannot be made: before anything is built it says why, and how it can.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] && [ -n "${MOUNTS_ARE_OWN:-}" ] || skip "needs root, for a chroot and mounts of its own"
requires unshare mount chroot ip mke2fs sfdisk
unshare -nm true 2> /dev/null || skip "namespaces are not allowed here"
# The system is mounted below, so it is in memory of this script's own namespace, not in $T, which is removed at the end.
mount -t tmpfs none /mnt || skip "cannot mount in a namespace"
R=/mnt/root
mkdir -p "$R"/{usr,proc,dev,sys,etc,run,tmp,suite} || fail mkdir
fill() {	# the system's programs, and this suite
	local d
	for d in bin sbin lib lib32 lib64 libx32; do
		if [ -L "/$d" ]; then cp -Pf "/$d" "$R/"
		elif [ -d "/$d" ]; then mkdir -p "$R/$d" && mount --bind "/$d" "$R/$d" || fail "mount $d"; fi
	done
	for d in usr proc dev sys; do mount --rbind "/$d" "$R/$d" || fail "mount $d"; done
	mount --bind "$TOP" "$R/suite" || fail "mount suite"
}
try() { env -i TMPDIR=/tmp PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$R" /suite/scripts/demo --try > "$T/said" 2>&1; }

fill; try; rc=$?
check "it is refused" [ $rc = 77 ]
check "it says why" grep -q "/ is no mount point here" "$T/said"
check "and what to do" grep -q "mount --bind FOLDER FOLDER" "$T/said"
# What it says helps.
mount --bind "$R" "$R" && fill
try; rc=$?
check "afterwards it works: $(tail -n 1 "$T/said")" [ $rc = 0 ]
finish
