# lib.sh: a real S3 server for the tests of a folder, and requests to it; after store_lib.sh.
helpers=$TOP/tests/helpers
request() { "$PYTHON" -E -S -W ignore "$helpers/s3_request.py" "$@"; }
keys() {	# FOLDER: keys below it in the store at hand; fails if they cannot be had
	local list
	list=$(request GET "/images?list-type=2&prefix=$(sed 's,/,%2F,g' <<< "${EMUSTORE#s3://images/}/$1")") || return
	grep -o '<Key>[^<]*' <<< "$list" | sed "s,<Key>${EMUSTORE#s3://images/}/,,"
}
object() { echo "/images/${EMUSTORE#s3://images/}/$1"; }	# KEY: its path
damage() {	# KEY...: 8 bytes of each
	local k
	for k; do
		request GET "$(object "$k")" > "$T/pack"
		printf 'XXXXXXXX' | dd of="$T/pack" bs=1 seek=5000 conv=notrunc status=none
		request PUT "$(object "$k")" "$T/pack"
	done
}
es_on() { EMUSTORE_CACHE=$T/$1 es "${@:2}"; }	# MACHINE COMMAND...: with a cache of its own
start_server() {	# PORT
	local env
	mkdir "$T/server"
	env=$("$helpers/swift_server.sh" start "$T/server" "$1") || { fail "the S3 server does not start"; finish; }
	CLEANUP+=("'$helpers/swift_server.sh' stop '$T/server'")
	eval "$env"
	# What answers first is its proxy, for which the servers behind it may still be starting.
	makes_bucket() { request PUT /images > /dev/null 2> "$T/bucket.log"; }
	soon makes_bucket || { fail "no bucket: $(tail -n 1 "$T/bucket.log")"; finish; }
}
