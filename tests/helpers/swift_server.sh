#!/usr/bin/env bash
# A real S3 server for a test: OpenStack Swift with its S3 interface, on loopback, all of it in DIR.
#	tests/helpers/swift_server.sh start DIR PORT	uses PORT to PORT + 3; prints what to put into the environment
#	tests/helpers/swift_server.sh again DIR	kills what answers requests (the proxy) with -9, and starts it again
#	tests/helpers/swift_server.sh stop DIR
# Needs no root.  Its data are files of DIR, whose file system must know extended attributes.
set -eu
cmd=$1 dir=$2

conf() {	# NAME PORT PIPELINE, more lines on stdin
	{ cat << C
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = $2
workers = 0
user = $(id -un)
swift_dir = $dir/etc
devices = $dir/devices
mount_check = false
log_level = WARNING
[pipeline:main]
pipeline = $3
C
	cat; } > "$dir/etc/$1-server.conf"
}

# What swift-ring-builder does in nine calls.
make_rings() {	# PORT
	/usr/bin/python3 - "$dir/etc" "$1" > "$dir/ring.log" 2>&1 << 'PY'
import sys
from swift.common.ring import RingBuilder
folder, port = sys.argv[1], int(sys.argv[2])
for n, kind in enumerate(("account", "container", "object"), 1):
    b = RingBuilder(2, 1, 0)
    b.add_dev({"id": 0, "region": 1, "zone": 1, "ip": "127.0.0.1", "port": port + n, "replication_ip": "127.0.0.1",
               "replication_port": port + n, "device": "d1", "weight": 1.0, "meta": ""})
    b.rebalance()
    b.get_ring().save(f"{folder}/{kind}.ring.gz")
PY
}

configure() {	# PORT
	local port=$1 kind n=1
	mkdir -p "$dir/etc" "$dir/devices/d1" "$dir/cache"
	printf '[swift-hash]\nswift_hash_path_suffix = test\nswift_hash_path_prefix = test\n[storage-policy:0]\nname = one\ndefault = yes\n' > "$dir/etc/swift.conf"
	for kind in account container object; do
		conf $kind $((port + n)) "$kind-server" << C
[app:$kind-server]
use = egg:swift#$kind
recon_cache_path = $dir/cache
C
		n=$((n + 1))
	done
	make_rings "$port"
	conf proxy "$port" "catch_errors cache listing_formats s3api tempauth slo proxy-server" << 'C'
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:1
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
s3_acl = false
[filter:slo]
use = egg:swift#slo
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = testing .admin
C
}

run() {	# KIND
	/usr/bin/python3 -c 'import runpy, sys
from swift.common import utils
utils.SWIFT_CONF_FILE = sys.argv.pop(1)
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")' "$dir/etc/swift.conf" "$(command -v "swift-$1-server")" \
	    "$dir/etc/$1-server.conf" >> "$dir/$1.log" 2>&1 < /dev/null &
	echo $! >> "$dir/pids"
}

start() {	# PORT
	local port=$1 kind i
	configure "$port"
	: > "$dir/pids"
	for kind in account container object proxy; do run $kind; done
	for ((i = 0; i < 3000; i++)); do
		(exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null && break
		kill -0 $! 2> /dev/null || { i=3000; break; }
		sleep 0.1
	done
	[ $i -lt 3000 ] || { echo "swift_server.sh: the server does not answer" >&2; tail -n 5 "$dir"/*.log >&2; stop; exit 1; }
	printf 'export AWS_ENDPOINT_URL=http://127.0.0.1:%d AWS_REGION=us-east-1 AWS_ACCESS_KEY_ID=test:tester AWS_SECRET_ACCESS_KEY=testing\n' "$port"
}

again() {
	local proxy
	proxy=$(tail -n 1 "$dir/pids")
	kill -9 "$proxy"; while kill -0 "$proxy" 2> /dev/null; do sleep 0.05; done
	sed -i '$d' "$dir/pids"
	run proxy
}

stop() {
	local pid
	for pid in $(cat "$dir/pids"); do kill "$pid" 2> /dev/null || true; done
	for pid in $(cat "$dir/pids"); do while kill -0 "$pid" 2> /dev/null; do sleep 0.05; done; done
}
case $cmd in
start) start "$3" ;;
again) again ;;
stop) stop ;;
*) echo "swift_server.sh: start DIR PORT, again DIR, or stop DIR" >&2; exit 2 ;;
esac
