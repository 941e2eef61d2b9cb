#!/usr/bin/env bash
# dsync through ssh, as it is packaged, to a server on loopback that has keys of its own; the line is cut while data goes.
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

# Another host's key, another user's key: nothing is sent, and the reason is ssh's own.
echo "[127.0.0.1]:2222 $(cut -d' ' -f1,2 "$T/other.pub")" > "$T/known"
status 1 d once; check "its reason" grep -qi "host key verification failed" "$T/stderr"
echo "[127.0.0.1]:2222 $(cut -d' ' -f1,2 "$T/host.pub")" > "$T/known"; SSH=${SSH/$T\/user/$T\/other}
status 1 d once; check "its reason" grep -qi "permission denied" "$T/stderr"
finish
