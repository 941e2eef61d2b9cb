#!/usr/bin/env bash
# The disk for tests that fails and loses power (tests/nbdkit/faults.c) does what it says.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nbd_lib.sh"
requires sfdisk mke2fs
F=$B/tests/nbdkit/nbdkit-faults-filter.so
mkdir "$T/disk"; check "power is lost" python3 "$TOP/tests/helpers/nbd_writes.py" "$F" "$T/disk" 12
faulty() { timeout 240 nbdkit -f -U - --filter="$F" "$@" 2> "$T/nbd.log"; }
truncate -s 1M "$T/zeros"
check "no fault" faulty file "$T/zeros" --run 'nbdcopy $uri - | cmp - '"$T/zeros"
if faulty file "$T/zeros" faults-fail-at=1 --run 'nbdcopy $uri /dev/null'; then fail "a request that fails"; fi
check "which is said" grep -q "faults: request 1 fails" "$T/nbd.log"

# Between an image and its reader: an error that passes is no damage.
a_disk sda
check "an image behind delays" faulty "$PLUGIN" "$T/sda.ndz" faults-delay-ms=3 --run "nbdcopy \$uri - | cmp - '$T/sda.out'"
if faulty "$PLUGIN" "$T/sda.ndz" faults-fail=100 faults-seed=3 --run "nbdcopy --request-size=65536 \$uri /dev/null"; then fail "one of ten fails"; fi
finish
