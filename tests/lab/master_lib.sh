# master_lib.sh: a master server at node s, and clients that ask it.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
requires python3
# Start a mfrisbeed at a node with its configuration $T/conf (of another node: $T/confNODE); what it says goes to
# $T/master.log ($T/masterNODE.log), its pid to $MASTER.
master_at() {	# NODE OPTIONS...
	local n=$1 name=${1#s}; shift
	ip netns exec "$LAB$n" "$BIN/mfrisbeed" -d -c "$T/conf$name" "$@" 2>> "$T/master$name.log" &
	MASTER=$!; PIDS+=($MASTER)
	begins $MASTER listens "$n" || fail "mfrisbeed did not start: $(cat "$T/master$name.log")"
}
listens() { on "$1" ss -Hltn 2> /dev/null | grep -q :64494; }	# NODE
master() { master_at s "$@"; }
# Load an image by its name: from the master at s, or at $FROM.
get() {	# NODE NAME TARGET OPTIONS...
	local n=$1 name=$2 to=$3; shift 3
	on "$n" timeout 240 "$BIN/frisbee" -q -S "${FROM:-10.9.0.1}" -F "$name" "$@" "$to"
}
# A client whose statistics are in $T/stats of its node has chunks.
has_chunks() { [ "$(stat_of "$T/stats$1" chunks_complete)" -ge 2 ]; } 2> /dev/null
settled() { soon grep -q -e "$1" "$T/master${2:-}.log"; }	# WORDS [NODE]: the master says so
# A disk of this many random bytes and its image.
disk_and_image() {	# BYTES DISK IMAGE
	head -c "$1" /dev/urandom > "$2"; truncate -s %512 "$2"
	"$BIN/imagezip" -q -r "$2" "$3" || fail imagezip
}
