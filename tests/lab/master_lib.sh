# master_lib.sh: a master server at node s, and clients that ask it.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
requires python3
# Start a mfrisbeed at a node with its configuration $T/conf (of another node: $T/confNODE); what it says goes to
# $T/master.log ($T/masterNODE.log), its pid to $MASTER.
master_at() {	# NODE OPTIONS...
	local n=$1 name=${1#s} i; shift
	ip netns exec "$LAB$n" "$BIN/mfrisbeed" -d -c "$T/conf$name" "$@" 2>> "$T/master$name.log" &
	MASTER=$!; PIDS+=($MASTER)
	for ((i = 0; i < 200; i++)); do on "$n" ss -Hltn 2> /dev/null | grep -q :64494 && return; sleep 0.05; done
	fail "mfrisbeed did not start: $(cat "$T/master$name.log")"
}
master() { master_at s "$@"; }
# Load an image by its name: from the master at s, or at $FROM.
get() {	# NODE NAME TARGET OPTIONS...
	local n=$1 name=$2 to=$3; shift 3
	on "$n" timeout 60 "$BIN/frisbee" -q -S "${FROM:-10.9.0.1}" -F "$name" "$@" "$to"
}
settled() {	# WORDS [NODE]: the master says so within ten seconds
	local i
	for ((i = 0; i < 200; i++)); do grep -q -e "$1" "$T/master${2:-}.log" && return; sleep 0.05; done
	false
}
# A disk of this many random bytes and its image.
disk_and_image() {	# BYTES DISK IMAGE
	head -c "$1" /dev/urandom > "$2"; truncate -s %512 "$2"
	"$BIN/imagezip" -q -r "$2" "$3" || fail imagezip
}
