#!/usr/bin/env bash
# dsync through ssh, as it is packaged, to a server on loopback that has keys of its own; the
# line is cut while data goes; and a key that is good for one copy alone.
. "$(dirname "$0")/lib.sh"
PATH=$PATH:/usr/sbin
requires ssh ssh-keygen sshd ip
own_network "$@"
[ -n "${NETWORK_INSIDE:-}" ] || skip "needs a network namespace"
mount -t tmpfs none /run 2> /dev/null && mkdir /run/sshd || skip "the server needs a folder of its own in /run"
for k in host user other; do ssh-keygen -q -t ed25519 -N "" -f "$T/$k" || fail "ssh-keygen"; done
cp "$T/user.pub" "$T/authorized"
cat > "$T/config" << C
Port 2222
ListenAddress 127.0.0.1
HostKey $T/host
AuthorizedKeysFile $T/authorized
PidFile $T/sshd.pid
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
SetEnv PATH=$BIN:/usr/local/bin:/usr/bin:/bin
C
"$(command -v sshd)" -D -e -f "$T/config" 2> "$T/sshd.log" & server=$!
CLEANUP+=("kill $server 2> /dev/null")
echo "[127.0.0.1]:2222 $(cut -d' ' -f1,2 "$T/host.pub")" > "$T/known"
SSH="ssh -F none -p 2222 -i $T/user -o IdentitiesOnly=yes -o UserKnownHostsFile=$T/known -o StrictHostKeyChecking=yes -o BatchMode=yes -o ConnectTimeout=60"
refuses_users() { grep -q "locked\|not allowed" "$T/sshd.log"; }
answers() { $SSH 127.0.0.1 true 2> "$T/stderr"; }
begins $server eval 'answers || refuses_users'
! refuses_users || skip "this user may not log in by ssh"
answers || { fail "the server: $(cat "$T/stderr" "$T/sshd.log")"; finish; }
COPY="$T/a copy's file"
d() { local c=$1; shift; "$BIN/dsync" --rsh="$SSH" --dmmerge="$BIN/dmmerge" --since=scan:"$T/state" "$@" "$c" "$T/dev" "127.0.0.1:$COPY"; }
head -c 6000000 /dev/urandom > "$T/dev"
check "init" quietly d init --zstd
check "equal" cmp "$T/dev" "$COPY"
dd if=/dev/urandom of="$T/dev" bs=4096 seek=100 count=3 conv=notrunc status=none
check "once" quietly d once
check "equal" cmp "$T/dev" "$COPY"
check "status" grep -q "^condition consistent" <(d status)
check "verify" quietly d verify

# The line is cut in the middle: nothing of the copy has changed, and the next sync brings it all.
cp "$COPY" "$T/before"
head -c 2000000 /dev/urandom | dd of="$T/dev" bs=1M seek=1 conv=notrunc status=none
d once --bwlimit=100k > "$T/out" 2> "$T/stderr" & pid=$!
half_sent() {
	session=$(pgrep -P "$server" -f "sshd" | head -n 1)
	[ -n "$session" ] && [ "$(stat -c %s "$COPY.dsync")" -gt 200000 ]
}
begins $pid half_sent
[ -z "$session" ] || builtin kill -9 "$session" $(pgrep -P "$session")
wait $pid; check "a line that is cut" [ $? = 1 ]
check "the copy is as it was" cmp "$T/before" "$COPY"
check "the next sync" quietly d once
check "equal" cmp "$T/dev" "$COPY"

echo "== a key that is good for one copy alone"
only() {	# OPTIONS...: of dmmerge, in the line of this key
	local command="$TOP/docs/examples/dsync-copy $* ${COPY@Q}"
	echo "restrict,command=\"$command\" $(cat "$T/user.pub")" > "$T/authorized"
}
only
quoted=${COPY@Q} before=$(stat -c %i-%y "$COPY")
refused() {	# WHY COMMAND: that somebody sends with this key
	status 2 env SSH_ORIGINAL_COMMAND="$2" "$TOP/docs/examples/dsync-copy" "$COPY"
	check "says why" grep -q "^dsync-copy: $1" "$T/stderr"
}
touched=$T/touched other="this key is for a copy by dsync in $COPY alone"
for asked in "" "dmmerge --quiet $COPY" "true $quoted; touch $touched" \
    /usr/lib/sftp-server "dmmerge --quiet ${quoted%?}.more'" \
    "dmmerge --quiet '${quoted:2}"; do
	refused "$other" "$asked"
done
refused "--journal=$T/elsewhere is not allowed" "dmmerge --journal=$T/elsewhere $quoted"
refused "; is not allowed" "dmmerge --quiet ; touch $touched $quoted"
refused "\$(touch is not allowed" "dmmerge --quiet \$(touch $touched) $quoted"
refused "\* is not allowed" "dmmerge --quiet * $quoted"
refused "--digests=1k;id is not allowed" "dmmerge --digests=1k;id $quoted"
for asked in "cat $T/user" "dmmerge --quiet '$T/elsewhere'"; do
	status 2 $SSH 127.0.0.1 "$asked" < /dev/null
	check "says why" grep -q "^dsync-copy: $other" "$T/stderr"
done
$SSH -tt 127.0.0.1 < /dev/null > "$T/quiet" 2>&1
check "no terminal" grep -q "PTY allocation request failed" "$T/quiet"
$SSH -W 127.0.0.1:2222 127.0.0.1 < /dev/null > "$T/quiet" 2>&1
check "no tunnel" grep -q "administratively prohibited" "$T/quiet"
check "none of it was done" [ ! -e "$touched" -a ! -e "$T/elsewhere" ]
check "nor was the copy touched" [ "$before" = "$(stat -c %i-%y "$COPY")" ]
dd if=/dev/urandom of="$T/dev" bs=4096 seek=200 count=3 conv=notrunc status=none
check "once" quietly d once
check "equal" cmp "$T/dev" "$COPY"
check "status" grep -q "^condition consistent" <(d status)
check "verify" quietly d verify
check "harmless options" quietly d init --dmmerge-options="--in-place --no-verify"
status 1 d once --dmmerge-options=--json
check "others are refused" grep -q "dsync-copy: --json is not allowed" "$T/stderr"
other() {	# COPY
	"$BIN/dsync" --rsh="$SSH" --since=scan:"$T/state2" init "$T/dev" "127.0.0.1:$1"
}
status 1 other "$T/elsewhere"
check "another copy" grep -q "is for a copy by dsync in $COPY" "$T/stderr"
status 1 other "$COPY"
check "another source" grep -q "the copy of another source" "$T/stderr"
mkdir "$T/journals"; only --journal="$T/journals/a"; rm "$COPY.dsync"
check "an option of the line" quietly d init --dmmerge-options=--force
check "counts" [ -s "$T/journals/a" -a ! -e "$COPY.dsync" ]
cp "$T/user.pub" "$T/authorized"

# Another host's key, another user's key: nothing is sent, and the reason is ssh's own.
echo "[127.0.0.1]:2222 $(cut -d' ' -f1,2 "$T/other.pub")" > "$T/known"
status 1 d once; check "its reason" grep -qi "host key verification failed" "$T/stderr"
echo "[127.0.0.1]:2222 $(cut -d' ' -f1,2 "$T/host.pub")" > "$T/known"; SSH=${SSH/$T\/user/$T\/other}
status 1 d once; check "its reason" grep -qi "permission denied" "$T/stderr"
finish
