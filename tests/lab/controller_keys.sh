#!/usr/bin/env bash
# Orders with keys, as controllerd writes them and nodes read them: with the right keys the image is loaded, and streamed;
# with a wrong key, without one, and with another key of the group nothing is written.
. "$(dirname "$0")/controller_lib.sh"
controller_lab 5 1
for n in lab other; do "$BIN/imagekey" -q --sign-key "$T/$n" --encrypt-key "$T/$n.secret" && "$BIN/imagekey" --group-key "$T/$n.group" > "$T/quiet" || fail imagekey; done
"$BIN/imagezip" -q -r --sign "$T/lab.key" --encrypt "$T/lab.secret" "$T/disk" "$NET/images/sealed.ndz" || fail imagezip
for n in 1 2 3 4 5; do
	m=$T/machines/node$n
	mkdir -p "$m/keys" "$m/capture_with"; echo "$T/disk" > "$m/right"
	cp "$T/lab.pub" "$T/other.pub" "$T/lab.secret" "$T/other.secret" "$T/lab.group" "$m/keys"
done
# The last one has a file of this name with another key, and does not wait for long.
cp "$T/other.group" "$m/keys/lab.group"
printf '#!/bin/sh\nexec "%s" "$@" -T 2\n' "$BIN/frisbee" > "$m/capture_with/frisbee"
printf '#!/bin/sh\nSTREAM_SESSION_SECONDS=1 exec "%s" "$@"\n' "$(command -v nbdkit)" > "$m/capture_with/nbdkit"
chmod 755 "$m"/capture_with/*
truncate -s 1M "$T/new"
controller_up -i 10.9.0.1 -W 60M --patience=120 --group-key="$T/lab.group"

give() {	# NODE WORDS [OPTION...]: an order, in the background
	timeout 240 ip netns exec "${LAB}s" "$BIN/swapin" --token-file="$STATE/token" --tries=1 --words="$2" "${@:3}" "node$1" sealed.ndz \
	    > "$T/out$1" 2>&1 & GIVEN[$1]=$!
}
swapped() { wait "${GIVEN[$1]}" && cmp -s "$T/disk" "$T/machines/node$1/disk"; }
not_swapped() {	# NODE WORDS-OF-ITS-CONSOLE
	wait "${GIVEN[$1]}"
	[ $? = 1 ] && grep -q "^node$1: failed while " "$T/out$1" && grep -q -e "$2" "$T/machines/node$1/console" && cmp -s "$T/new" "$T/machines/node$1/disk"
}
has_word() { grep -q "frisbee.$2 " <(sed 's/$/ /' "$T/machines/node$1/proc/cmdline"); }
ways=load
! command -v nbdkit > /dev/null || instrumented || ways="load --stream"	# nbdkit cannot run a plugin that is instrumented
for way in $ways; do
	how=(); [ $way = load ] || how=(--stream)
	rm -f "$T"/machines/*/console; GIVEN=()
	for n in 1 2 3 4 5; do cp "$T/new" "$T/machines/node$n/disk"; done
	give 1 "frisbee.verify-key=lab.pub frisbee.decrypt=lab.secret" "${how[@]}"
	give 2 "frisbee.verify-key=other.pub frisbee.decrypt=lab.secret" "${how[@]}"
	give 3 "frisbee.verify-key=lab.pub frisbee.decrypt=other.secret" "${how[@]}"
	give 4 "frisbee.verify-key=lab.pub" "${how[@]}"
	give 5 "frisbee.verify-key=lab.pub frisbee.decrypt=lab.secret" "${how[@]}"
	check "$way: the image is there with the right keys" swapped 1
	check "$way: not when it is signed with another one" not_swapped 2 "signed with another key"
	check "$way: nor encrypted with another one" not_swapped 3 "encrypted with another key"
	check "$way: nor without the key" not_swapped 4 "is encrypted"
	check "$way: nor with another key of the group" not_swapped 5 "nothing was heard\|exit status"
	check "$way: the orders named the keys" eval 'has_word 2 verify-key=other.pub && has_word 3 decrypt=other.secret && has_word 5 group-key=lab.group'
done
check "no order is left" soon no_orders
[ "$bad" = 0 ] || cat "$T/controller.log" "$T"/out? "$T"/machines/*/console
finish
