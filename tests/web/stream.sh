#!/usr/bin/env bash
# The controller's page in a real browser, while nodes stream: usable is seen apart from done; and a session is stopped there.
. "$(dirname "$0")/../lab/controller_lib.sh"
. "$(dirname "$0")/../cli/nbd_lib.sh"
requires chromium chromedriver
/usr/bin/python3 -c 'import selenium' 2> /dev/null || skip "needs python3-selenium"
controller_lab 3 48
export FILL_REPORT_S=1 PICTURES=${PICTURES:-$TOP/build/web} T URL STATE
for n in 1 2 3; do
	truncate -s 48M "$T/machines/node$n/disk"
	echo "$T/disk" > "$T/machines/node$n/right"
done
controller_up -i 10.9.0.1 -W 8M
HOME=$T on s env TMPDIR="$T" PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$TOP/tests/web/stream.py" || bad=$((bad + 1))
for n in 1 2; do check "node$n has the disk" cmp "$T/disk" "$T/machines/node$n/disk"; done	# node3 was stopped amid another load
finish
