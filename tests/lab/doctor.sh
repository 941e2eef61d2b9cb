#!/usr/bin/env bash
# frisbee --doctor where all is well: as root, as an ordinary user, as JSON, and beside a load, which must not notice.
# The ailments are in doctor_here.sh, doctor_server.sh, doctor_switch.sh and doctor_loss.sh.
. "$(dirname "$0")/doctor_lib.sh"
doctor_up 4

echo "== all is well"
serve "$T/disk.ndz"
well 1 --report "$T/report"
check "in $TOOK s" [ "$TOOK" -lt 120 ]	# a tenth of it on a machine that does nothing else
for c in interface address subnet sending membership server source multicast "to server" \
    unicast "second port" querier mtu ttl loss; do says ok "$c" .; done
summed "all is well.*: multicast arrives from 10.9.0.1"
says ok loss "0 % of 100 packets to the server are lost, 0 % of 100 from"
no_burst "$T/says" || says ok burst "of 100 packets as large as blocks, [0-9] % are lost"
as_json() {
	rm -f "$T/whole"
	timeout 240 ip netns exec "${LAB}1" "$BIN/frisbee" -m $GROUP -p $PORT --doctor --json --report "$T/whole" --report-names > "$T/json"
	json "$T/json" well=true server=10.9.0.1 echoes_heard=100 burst_sent=100 'checks[#]=17'
}
check "as JSON" eval 'as_json || as_json || as_json || as_json || as_json'	# as for well
check "it was no client" [ "$(grep -c "joined" "$T/server.log")" = 0 ]

echo "== its report"
mac=$(ip -n "${LAB}1" -o link show | grep -oE 'link/ether [0-9a-f:]{17}' | head -n 1 | cut -d' ' -f2)
told_in() { check "$1 has $2" grep -qE -- "$2" "$T/$1"; }
for w in "frisbee hardware report, format 1" "kernel  *Linux $(uname -r)" "driver  *veth" "mtu_bytes  *1500" "generic-receive-offload  *o" \
    "IGMP querier  *[*].[*].[*].[0-9]+" "one by one  *sent 100 in [0-9]+ us, heard by the server 100" "came_bits_per_s  *[1-9]" \
    "ok  *querier" "in short  *all is well.*: multicast arrives from [*].[*].[*].1" "address  *${mac%:*:*:*}:xx:xx:xx"; do told_in report "$w"; done
maker=/sys/class/dmi/id/sys_vendor
[ ! -s $maker ] || check "who made the machine" grep -qF "made by          $(head -n 1 $maker | sed 's/[^ -~].*//')" "$T/report"
[ ! -s /etc/os-release ] || check "its system, without quotes" grep -qE '^system  *[^ "][^"]*$' "$T/report"
check "no address of a machine, no name" eval '! grep -wE "$mac|10[.]9[.]0[.][0-9]+|$(uname -n)" "$T/report"'
for w in "host  *$(uname -n)" "address  *$mac" "multicast arrives from 10.9.0.1"; do told_in whole "$w"; done

echo "== an ordinary user"
if on 1 setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all true 2> /dev/null; then
	cp "$BIN/frisbee" "$T/frisbee"; chmod 755 "$T" "$T/frisbee"
	user() {	# NODE OPTIONS...
		timeout 240 ip netns exec "$LAB$1" setpriv --reuid 65534 --regid 65534 --clear-groups "$T/frisbee" -m $GROUP -p $PORT --doctor "${@:2}" > "$T/says.$1" 2> "$T/stderr.$1" &
		EXAMS[$1]=$!; PIDS+=($!)
	}
	user 1; user 2 -p 5107 -S 10.9.0.77; user 3 -p 5107 -S 10.9.0.1
	told 0 1; for c in membership querier address; do says unknown "$c" "only root can"; done
	told 1 2; says "not ok" server "10.9.0.77 does not answer (host unreachable)"
	told 1 3; says "not ok" server "10.9.0.1 is up, but no frisbeed answers there"
fi
kill "$SERVER"; wait "$SERVER"

echo "== a load beside it does not notice"
serve -T -1 -W 20M "$T/disk.ndz"
load 2 "$T/d2"; doctor 0 1
loaded 2; check "the disk is right" cmp "$T/disk" "$T/d2"
wait "$SERVER"; check "one client" [ "$(stat_of "$T/server.json" clients_max)" = 1 ]
finish
