#!/usr/bin/env bash
# dsync track, start, stop: what is refused before anything is touched, and the units of systemd.  The trackers
# themselves are tried in a machine whose kernel has dm-era (tests/vm/dsync.sh).
. "$(dirname "$0")/lib.sh"
d() { "$BIN/dsync" --state-dir="$T/state" "$@"; }
status 1 d start nothing
check "says what makes it" grep -q "dsync track" "$T/stderr"
status 1 d stop nothing
status 1 d untrack nothing
truncate -s 1M "$T/disk"
status 2 d track --metadata=relative "$T/disk"
echo "something" > "$T/other"; truncate -s 1M "$T/other"; cp "$T/other" "$T/before"
status 1 d track --metadata="$T/other" "$T/disk"
check "says how to replace it" grep -q -- "--force" "$T/stderr"
check "and has not" cmp "$T/other" "$T/before"

# A record that is damaged is no reason to guess.
mkdir -p "$T/state/track"; printf 'dsync-track 1\ndevice /dev/x\n' > "$T/state/track/half"
status 3 d start half
printf 'dsync-track 2\n' > "$T/state/track/new"
status 1 d start new

# Kinds of snapshots that this device does not have.
for how in thin lvm lvm:16M dm:/dev/null; do
	status 1 "$BIN/dmextract" --since=scan:"$T/scan" --snapshot="$how" "$T/disk" < /dev/null
done
status 2 "$BIN/dmextract" --since=scan:"$T/scan" --snapshot=dm "$T/disk"
check "says what it needs" grep -q "dm:/dev/sdb" "$T/stderr"

# The units: systemd understands them.
if command -v systemd-analyze > /dev/null; then
	for u in "dsync@.service" "dsync@.timer" "dsync-track@.service"; do
		sed "s,/usr/local/sbin/dsync,$BIN/dsync," "$TOP/docs/examples/$u" > "$T/${u/@/@disk}"
	done
	cp "$T/dsync@disk.service" "$T/dsync@.service"
	for u in "dsync@disk.service" "dsync@disk.timer" "dsync-track@disk.service"; do
		systemd-analyze verify --man=no "$T/$u" > "$T/said" 2>&1
		check "$u" [ -z "$(grep -F "$T/" "$T/said")" ]
	done
fi
finish
