# net_tcp.sh: loads over TCP, for bench/net, which includes this file: chains, trees and stars of dolly, of nc, socat and
# tee, and swarms of BitTorrent clients.

# All nodes but the last one have joined when the time begins, and wait for it.
run_dolly() {	# SERVER OPTIONS...
	server "$BIN/dolly" serve --json --linger 0 --wait "$early" "$@" "$file" > "$T/server.json" 2> "$T/server.log" &
	SERVER=$!; PIDS+=($!)
	local tries joined=0
	for ((tries = 0; tries < 100; tries++)); do grep -q serving "$T/server.log" && break; sleep 0.05; done
	for ((i = 1; i <= n; i++)); do
		if ! is_late "$i"; then
			for ((tries = 0; tries < 200; tries++)); do [ "$(grep -c joined "$T/server.log")" -ge $joined ] && break; sleep 0.05; done
			joined=$((joined + 1))
			[ "$joined" -lt "$early" ] || begin
		fi
		node "$i" "'$BIN/dolly' join -q --json --force 10.9.0.1 '${target[i]}' > '$T/client$i.json'"
	done
	all_ended
	end=$(now)
	wait "$SERVER" || churns || fail "dolly serve: $(tail -n 3 "$T/server.log")"
}
listening() {	# NODE: it waits for a connection at port 9100 (238C)
	local end=$((SECONDS + 20))
	until on "$1" grep -q ':238C 00000000:0000 0A' /proc/net/tcp || [ $SECONDS -ge $end ]; do sleep 0.02; done
}
# Each node gives what comes to the next one, and unpacks it; the last one only unpacks.
run_chain() {	# LISTEN CONNECT PORT: commands; CONNECT takes an address and a port, or (PORT is empty) as socat does
	local listen=$1 connect=$2 port=$3 to
	for ((i = n; i >= 1; i--)); do
		to=10.9.0.$((11 + i))
		[ -n "$port" ] && to="$to $port" || to="TCP4:$to:9100"
		if [ "$i" = "$n" ]; then
			node "$i" "$listen | $(restore "${target[i]}")"
		else
			mkfifo "$T/next$i"
			node "$i" "$connect $to < '$T/next$i' & next=\$!; $listen | tee '$T/next$i' | $(restore "${target[i]}") && wait \$next"
		fi
		listening "$i"
	done
	to="10.9.0.11 9100"
	[ -n "$port" ] || to="TCP4:10.9.0.11:9100"
	begin
	server bash -c "$connect $to < '$file'" > "$T/server.log" 2>&1 || give_up "$connect: $(tail -n 3 "$T/server.log")"
	all_ended
}
run_star() {
	local all=''
	for ((i = 1; i <= n; i++)); do
		node "$i" "socat -u TCP4-LISTEN:9100,reuseaddr - | $(restore "${target[i]}")"
		listening "$i"
		all+="socat -u - TCP4:10.9.0.$((10 + i)):9100 < '$file' & all+=(\$!); "
	done
	begin
	server bash -c "all=(); $all for p in \${all[@]}; do wait \$p || exit 1; done" > "$T/server.log" 2>&1 ||
	    give_up "socat: $(tail -n 3 "$T/server.log")"
	all_ended
}

# BitTorrent: a tracker and the seeder at the server.  A node that has everything restores its disk, and goes on serving
# others until all have done so.
torrent_begin() {
	local name
	name=$(basename "$file")
	(cd "$T" && mktorrent -l 18 -a "http://10.9.0.1:6969/announce" -o "$T/it.torrent" "$file" > "$T/quiet" 2>&1) || give_up "mktorrent: $(tail -n 3 "$T/quiet")"
	# It serves the torrents alone that a list names, which it reads as a user without rights.
	chmod 711 "$T"
	aria2c -S "$T/it.torrent" | sed -n 's/^Info Hash: //p' > "$T/torrents"
	ip netns exec "${LAB}s" opentracker -i 10.9.0.1 -p 6969 -P 6969 -w "$T/torrents" > "$T/tracker.log" 2>&1 &
	PIDS+=($!)
	for ((i = 1; i <= n; i++)); do
		mkdir -p "$dir/received$i"; CLEANUP+=("rm -rf '$dir/received$i'")
		# What a client runs when it has everything.
		printf '#!/bin/bash\n{ %s; } < "%s" && date +%%s.%%N > "%s.new" && mv "%s.new" "%s"\n' "$(restore "${target[i]}")" \
		    "$dir/received$i/$name" "$T/done$i" "$T/done$i" "$T/done$i" > "$T/post$i"
		chmod +x "$T/post$i"
	done
}
torrent_end() {	# waits until all nodes are done, and ends the clients
	local limit=$((SECONDS + ${LIMIT:-180}))
	for ((i = 1; i <= n; i++)); do
		while stays "$i" && ! [ -e "$T/done$i" ]; do
			sleep 0.02
			[ $SECONDS -lt $limit ] || { give_up "node $i has not all of it: $(tail -n 3 "$T/client$i.log")"; break; }
		done
	done
	end=$(cat "$T"/done[0-9]* | sort -n | tail -n 1)
	touch "$T/all"	# the clients' own shells end them
	all_ended
	wait "$SERVER" 2> /dev/null
	for ((i = 1; i <= n; i++)); do	# a node has ended when it had everything
		rm -f "$T/ended$i"
		[ ! -e "$T/done$i" ] || mv "$T/done$i" "$T/ended$i"
	done
}
# A client as a command that ends when the file `all` is there, with status 0.
torrent_client() {	# COMMAND
	echo "$1 > /dev/null & c=\$!; until [ -e '$T/all' ] || ! kill -0 \$c 2> /dev/null; do sleep 0.05; done; kill -INT \$c; wait \$c; [ -e '$T/all' ]"
}
run_torrents() {	# SEED GET: functions that print the command of a client; GET gets the number of its node
	torrent_begin
	server bash -c "$(torrent_client "$("$1")")" > "$T/server.log" 2>&1 &
	SERVER=$!; PIDS+=($!)
	sleep 2	# the seeder checks its file, and tells the tracker
	begin
	for ((i = 1; i <= n; i++)); do node "$i" "$(torrent_client "$("$2" "$i")")"; done
	torrent_end
}
ARIA2="aria2c -q --no-conf --enable-dht=false --bt-enable-lpd=false --enable-peer-exchange=true --file-allocation=none --seed-time=60 --seed-ratio=0 --bt-tracker-interval=1"
aria2_seed() { echo "$ARIA2 -V -d '$(dirname "$file")' '$T/it.torrent'"; }
aria2_get() { echo "$ARIA2 -V -d '$dir/received$1' --on-bt-download-complete='$T/post$1' '$T/it.torrent'"; }
run_aria2() { run_torrents aria2_seed aria2_get; }
rtorrent_client() {	# NUMBER FOLDER [COMMAND]: with its settings in a file, since some cannot be options
	mkdir -p "$T/session$1"
	printf '%s\n' system.daemon.set=true dht.mode.set=disable protocol.pex.set=yes trackers.use_udp.set=no \
	    network.port_range.set=6881-6889 "session.path.set=$T/session$1" "directory.default.set=$2" > "$T/rtorrent$1.rc"
	[ $# = 2 ] || printf 'method.set_key=event.download.finished,done,"execute.nothrow.bg=%s"\n' "$3" >> "$T/rtorrent$1.rc"
	echo "rm -f '$T/session$1/rtorrent.lock'; rtorrent -n -o 'import=$T/rtorrent$1.rc' '$T/it.torrent'"
}
rtorrent_seed() { rtorrent_client 0 "$(dirname "$file")"; }
rtorrent_get() { rtorrent_client "$1" "$dir/received$1" "$T/post$1"; }
run_rtorrent() { run_torrents rtorrent_seed rtorrent_get; }
libtorrent_seed() { echo "'$TOP/bench/torrent' '$T/it.torrent' '$(dirname "$file")'"; }
libtorrent_get() { echo "'$TOP/bench/torrent' '$T/it.torrent' '$dir/received$1' '$T/post$1'"; }
run_libtorrent() { run_torrents libtorrent_seed libtorrent_get; }
