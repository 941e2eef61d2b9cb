#!/usr/bin/env bash
# A source that answers with an input/output error while it is opened is asked again, at the first start of a
# streaming disk and when a disk that is half filled goes on.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nbd_lib.sh"
. "$(dirname "$0")/stream_lib.sh"
requires sfdisk mke2fs
a_disk sda
IMAGE_AT="nbd+unix:///?socket=$T/source"
# source_fails N: the N-th request is answered with EIO.
source_fails() {
	rm -f "$T/source" "$T/source.pid"
	nbdkit -f -r -U "$T/source" -P "$T/source.pid" --filter="$B/tests/nbdkit/nbdkit-faults-filter.so" \
		file "$T/sda.ndz" faults-fail-at="$1" 2> "$T/source.log" & source=$!
	CLEANUP+=("kill $source 2> /dev/null; wait $source 2> /dev/null")
	begins $source [ -s "$T/source.pid" ] || fail "no source: $(cat "$T/source.log")"
}
source_ends() { builtin kill -9 $source; wait $source 2> /dev/null; }
asked_again() {
	check "request $1 has failed" grep -q "faults: request $1 fails" "$T/source.log"
	check "which is said" grep -q "asked again, for 60 s" "$T/nbd.log"
}

new_target disk
for n in 1 2; do
	source_fails $n
	serve disk fill=no; asked_again $n; marked; stop; source_ends
done
source_fails 1; serve disk when-idle=0 status="$T/status"; asked_again 1
python3 "$TOP/tests/helpers/nbd_stream.py" wait "$T/status" 300
stop; source_ends
check "and is filled" same_but_header disk

# Nobody waits for a source that is not there.
refused_at=$SECONDS
if begin_to_serve disk fill=no; then fail "a disk without a source"; stop; fi
check "a source that is not there is said at once" [ $((SECONDS - refused_at)) -lt 50 ]
finish
