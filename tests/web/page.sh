#!/usr/bin/env bash
# The controller's page in a real browser, while machines are really loaded: what is seen is what happens.
. "$(dirname "$0")/../lab/controller_lib.sh"
requires chromium chromedriver
/usr/bin/python3 -c 'import selenium' 2> /dev/null || skip "needs python3-selenium"
PICTURES=${PICTURES:-$TOP/build/web}
controller_lab 6 96
for i in 1 2 3 4 5 6; do echo 1 > "$T/machines/node$i/boot_s"; done
cp "$NET/images/lab.ndz" "$NET/images/<img src=x onerror=document.title=1>.ndz"
echo 100 > "$T/machines/node6/broken"	# its disk fails at once
imagezip_is node1 "$(waits 400000)"
CAPTURE_REPORT_S=0.5; export CAPTURE_REPORT_S
receiver_up
controller_up -i 10.9.0.1 -W 24M
export PICTURES T URL STATE
# The browser is where the controller listens.
HOME=$T on s env TMPDIR="$T" PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$TOP/tests/web/page.py" || bad=$((bad + 1))
for i in 1 2 3 4 5; do check "node$i has the disk" cmp "$T/disk" "$T/machines/node$i/disk"; done
"$BIN/imageunzip" -q "$NET/images/made.ndz" "$T/again"; check "what was captured is the disk" cmp "$T/disk" "$T/again"
check "node6 has not" eval '! cmp -s "$T/disk" "$T/machines/node6/disk"'
finish
