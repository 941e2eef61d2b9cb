#!/usr/bin/env bash
# A parent that has no group left: who asks it for an image waits, and serves it once, as soon as it may.
. "$(dirname "$0")/master_lib.sh"
lab_up 2	# client 1 is the master that has a parent
mkdir "$T/images" "$T/kept"
disk_and_image 500000 "$T/disk" "$T/images/a.ndz"
disk_and_image 600000 "$T/disk2" "$T/images/b.ndz"
cat > "$T/conf" << CONF
images $T/images
group 239.192.50.1 count=1
allow 10.9.0.0/24
state $T/state
interface eth0
idle 6
CONF
cat > "$T/conf1" << CONF
parent 10.9.0.1 $T/kept interface=eth0
group 239.192.60.1
allow 10.9.0.0/24
state $T/state1
interface eth0
CONF
master
master_at 1
check "an image takes the parent's only group" get 2 a.ndz "$T/out"
FROM=10.9.0.11
check "another one comes later" get 2 b.ndz "$T/out" -B 1
check "its data" cmp "$T/disk2" "$T/out"
check "the parent had no group" grep -q "1 images are served, and no more can be" "$T/master.log"
check "that was no failure" [ "$(grep -c "session has failed" "$T/master1.log")" = 0 ]
check "one session serves it" [ "$(grep -c "image is served name=b.ndz" "$T/master1.log")" = 1 ]
check "at the first group" grep -q "image is served name=b.ndz group=239.192.60.1 " "$T/master1.log"
finish
