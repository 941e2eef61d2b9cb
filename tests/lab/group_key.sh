#!/usr/bin/env bash
# Sessions with --group-key: who has the key loads, whatever neighbours send; who has not, or
# another one, takes no part and is told why.
. "$(dirname "$0")/lib.sh"
requires python3
lab_up 4	# three clients; the fourth one lies

python3 -c "
import random, sys
sys.stdout.buffer.write(random.Random(5).randbytes(8 << 20))" > "$T/disk"
"$BIN/imagezip" -q -r "$T/disk" "$T/disk.ndz" || fail "imagezip"
for k in key other; do "$BIN/imagekey" -q --group-key "$T/$k" || fail "imagekey"; done
KEY="--group-key $T/key"

said() { grep -q "$1" "$2"; }
until_said() {	# TEXT FILE: within half a minute
	local end=$((SECONDS + 30))
	until said "$1" "$2" || [ $SECONDS -ge $end ]; do sleep 0.05; done
	said "$1" "$2"
}
ends() {	# the server must end well
	[ $# = 0 ] || kill "$SERVER"
	wait "$SERVER"; check "the server ends well" [ $? = 0 ]
}

echo "== two at once, one late"
serve -T -1 -W 40M $KEY "$T/disk.ndz"
load 1 $KEY "$T/d1"; load 2 $KEY "$T/d2"; begun 1; load 3 $KEY "$T/d3"
for i in 1 2 3; do loaded $i; check "client $i has the disk" cmp "$T/disk" "$T/d$i"; done
check "with the extension" [ "$(stat_of "$T/client1.json" extension)" = True ]
ends
finish
