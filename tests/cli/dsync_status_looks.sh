#!/usr/bin/env bash
# dmmerge --status and dsync status look at the copy before they call it consistent, and are no success for what is
# no copy.  dsync verify compares without a source of change, too.
. "$(dirname "$0")/lib.sh"
export PATH="$BIN:$PATH"
d() { dsync --since=scan:"$T/state" "$@" "$T/dev" "$T/copy"; }
both() {	# WHAT STATUS: of dmmerge --status and of dsync status
	status "$2" dmmerge --status "$T/copy"
	check "dmmerge says $1" grep -qx "condition $1" "$T/stdout"
	status "$2" d status
	check "dsync says $1" grep -qx "condition $1" "$T/stdout"
	d status --json > "$T/json"
	check "as JSON" json "$T/json" condition="$1"
}
head -c 3000000 /dev/urandom > "$T/dev"
both unknown 1
check "with the reason" json "$T/json" exit=1 kind=absent 'error~nothing was merged'
check "a program that asks is told" [ "$(dmmerge -q --status "$T/copy" | head -n 1)" = "condition unknown" ]

check "init" quietly d init
both consistent 0
spoil_byte "$T/copy" 2999999
both changed 4
check "with the reason" json "$T/json" exit=4 kind=differs 'error~does not hold what was merged'
dmmerge --status --json "$T/copy" > "$T/json"; check "its status" [ $? = 4 ]
check "and its reason" json "$T/json" exit=4 condition=changed
status 1 d once
check "a full copy mends it" quietly d init
both consistent 0
head -c 3000000 /dev/urandom > "$T/copy"
both changed 4
truncate -s 1000000 "$T/copy"
both changed 4
rm "$T/copy"
both changed 4
check "a full copy" quietly d init
both consistent 0

# All data is compared by digests, for which no source of change is needed.
status 0 dsync verify "$T/dev" "$T/copy"
check "all of it" grep -q "3.0 MB of 3.0 MB were compared" "$T/stderr"
spoil_byte "$T/copy" 1500000
dsync verify "$T/dev" "$T/copy" > "$T/stdout" 2> "$T/stderr"; check "a difference" [ $? = 4 ]
check "is named" grep -qx "2048 2048" "$T/stdout"
cd "$T" || exit 1
status 2 dsync once dev copy
check "and once says what it needs" grep -q "dev: .*--since" "$T/stderr"
check "in words of its own" [ -z "$(grep "Command failed" "$T/stderr")" ]

# What dmsetup(8) says last is no reason.
mkdir "$T/fake"; printf '#!/bin/sh\necho "Device x not found" >&2\necho "Command failed." >&2\nexit 1\n' > "$T/fake/dmsetup"
chmod 755 "$T/fake/dmsetup"
PATH="$T/fake:$PATH" status 1 dmextract --since=thin:/dev/null --state="$T/thin" "$T/dev"
check "the reason: $(cat "$T/stderr")" grep -q "not found" "$T/stderr"
finish
