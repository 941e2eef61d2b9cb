#!/usr/bin/env bash
# A master with a parent: what it has not it fetches once, serves while it still arrives, and keeps; restarts of
# either, another image of the same name, a parent that is away, a full disk.
. "$(dirname "$0")/master_lib.sh"
lab_up 4	# client 1 is the master that has a parent
FROM=10.9.0.11
mkdir "$T/images" "$T/kept"
"$BIN/imagekey" -q --token "$T/token" || fail imagekey
disk_and_image 500000 "$T/disk" "$T/images/small.ndz"
take random:20000000 disk=bigdisk disk.ndz=images/big.ndz
cat > "$T/conf" << CONF
images $T/images
image /proj/lab/web.ndz $T/images/small.ndz
group 239.192.50.1
allow 10.9.0.11 token=$T/token
state $T/state
interface eth0
rate 25M
CONF
cat > "$T/conf1" << CONF
parent 10.9.0.1 $T/kept token=$T/token interface=eth0
group 239.192.60.1
allow 10.9.0.0/24
state $T/state1
interface eth0
CONF
export FRISBEE_TEST_TIMES=parent=0.5
forget() { nothing_for 0.7 "an answer of the parent is remembered for half a second"; }
master; BOSS=$MASTER
master_at 1; SUB=$MASTER
restart_boss() { kill -9 $BOSS; wait $BOSS 2> /dev/null; master; BOSS=$MASTER; }
restart_sub() { kill -9 $SUB; wait $SUB 2> /dev/null; master_at 1; SUB=$MASTER; }

echo "== fetched once, and served meanwhile"
on 2 "$BIN/frisbee" -S $FROM -Q big.ndz > "$T/query" || fail "-Q"
check "its length is known before" grep -q "big.ndz: $(stat -c %s "$T/images/big.ndz") bytes, is not served now" "$T/query"
status 1 get 2 none "$T/out"; check "what the parent has not" grep -q "has no such image" "$T/stderr"
status 1 on 2 "$BIN/frisbee" -S 10.9.0.1 -Q big.ndz; check "the parent does not know the clients" grep -q "does not allow it" "$T/stderr"
get 2 big.ndz "$T/out2" --stats "$T/stats2" & a=$!; get 3 big.ndz "$T/out3" --base & b=$!
check "a client has chunks" soon has_chunks 2
check "while the image still arrives" [ ! -e "$T/kept/big.ndz" ]
check "both load it" wait $a; check "and the one of the base protocol" wait $b
check "its data" cmp "$T/bigdisk" "$T/out2"; check "and the other's" cmp "$T/bigdisk" "$T/out3"
check "one client has joined the parent's session" [ "$(grep -c "client joined" "$T/master.log")" = 1 ]
settled "was fetched from the parent name=big.ndz" 1; check "it is kept" cmp "$T/images/big.ndz" "$T/kept/big.ndz"
check "with its time" [ "$(stat -c %Y "$T/images/big.ndz")" = "$(stat -c %Y "$T/kept/big.ndz")" ]
check "an image with another name" get 4 /proj/lab/web.ndz "$T/out"
check "its data" cmp "$T/disk" "$T/out"
settled "was fetched from the parent name=/proj" 1; check "it is kept under that name" [ -f "$T/kept/%2fproj%2flab%2fweb.ndz" ]

echo "== another image of the same name"
disk_and_image 600000 "$T/disk2" "$T/images/small.ndz"
forget
check "the new one comes" get 4 /proj/lab/web.ndz "$T/out"; check "its data" cmp "$T/disk2" "$T/out"

echo "== the token for the parent is that of its file, at each request"
rm "$T/token"; "$BIN/imagekey" -q --token "$T/token" || fail imagekey
disk_and_image 600000 "$T/disk2" "$T/images/small.ndz"; touch -d @1234567890 "$T/images/small.ndz"
forget
check "another token" get 4 /proj/lab/web.ndz "$T/out"; check "the new image" cmp "$T/disk2" "$T/out"
mv "$T/token" "$T/token.away"; touch "$T/images/small.ndz"
forget
asked=$(grep -c "name=/proj/lab/web.ndz" "$T/master.log")
check "none: what was fetched before" get 4 /proj/lab/web.ndz "$T/out"; check "its data" cmp "$T/disk2" "$T/out"
check "and why" settled "serving what was fetched before name=/proj/lab/web.ndz.*token" 1
check "the parent was not asked without it" [ "$(grep -c "name=/proj/lab/web.ndz" "$T/master.log")" = "$asked" ]
mv "$T/token.away" "$T/token"
forget

echo "== killed while the image comes, and started again"
rm "$T/kept/big.ndz"; touch "$T/images/big.ndz"; forget
rm "$T/stats2"
get 2 big.ndz "$T/out2" --stats "$T/stats2" & a=$!
get 3 big.ndz "$T/out3" --stats "$T/stats3" --base & b=$!
arrives() { [ -n "$(find "$T/kept" -name 'big.ndz%arriving-*' -size +1000k -newer "$T/mark")" ]; }
touch "$T/mark"; check "it comes" soon arrives
check "to both" eval 'begins $a has_chunks 2 && begins $b has_chunks 3'
touch "$T/kept/other%arriving-77"	# of a load that was cut off
restart_sub; touch "$T/mark"
check "it comes again" soon arrives; restart_boss
check "both loads end well" wait $a; check "and the one of the base protocol" wait $b
check "its data" cmp "$T/bigdisk" "$T/out2"; check "and the other's" cmp "$T/bigdisk" "$T/out3"
has_settled() { [ -e "$T/kept/big.ndz" ] && [ -z "$(find "$T/kept" -name "*arriving*")" ]; }
soon has_settled	# each session that was there fetches again
check "it is kept" cmp "$T/images/big.ndz" "$T/kept/big.ndz"
check "nothing else is" [ "$(find "$T/kept" -name '*arriving*' | wc -l)" = 0 ]

echo "== the parent is away"
kill $BOSS; wait $BOSS; forget; rm -f "$T/out"
check "what was fetched is served" get 4 big.ndz "$T/out"; check "its data" cmp "$T/bigdisk" "$T/out"
check "the log says so" grep -q "serving what was fetched before name=big.ndz" "$T/master1.log"
status 1 get 4 other "$T/out"; check "nothing else is" grep -q "could not do it" "$T/stderr"

echo "== a full disk"
no_space_in_statistics() { grep -q "No space left" "$T/state1"/session-*.json; } 2> /dev/null
mkdir "$T/little"; mount -t tmpfs -o size=6M none "$T/little" || skip "cannot mount in a namespace"
empty_little() { kill $SUB 2> /dev/null; wait $SUB 2> /dev/null; umount "$T/little"; }
CLEANUP+=(empty_little)
sed -i "s,^parent .*,parent 10.9.0.1 $T/little token=$T/token interface=eth0," "$T/conf1"
master; BOSS=$MASTER; restart_sub
status 1 get 4 big.ndz "$T/out"; check "who asks for what does not fit is told" grep -q "could not do it" "$T/stderr"
check "the log says why" grep -q "session has failed name=big.ndz: .*little/big.ndz.*room for .* bytes: No space left" "$T/master1.log"
check "and so do the statistics, each time that it is tried again" soon no_space_in_statistics
check "nothing of it is left there" [ -z "$(find "$T/little" -name "big*")" ]
"$BIN/emustore" -q --store "$T/store" init && "$BIN/emustore" -q --store "$T/store" put big "$T/images/big.ndz" || fail emustore
printf 'store %s\nimage stored store:big\n' "$T/store" >> "$T/conf"; kill -HUP $BOSS
soon grep -q "the settings were read again" "$T/master.log" || fail "SIGHUP"
get 3 stored "$T/out5" & a=$!
check "an image of its store has no length before, so this is found while it is fetched" soon grep -q "session has failed name=stored: .*No space left" "$T/master1.log"
check "its clients wait" kill -0 $a
kill $a; wait $a 2> /dev/null; kill $SUB; wait $SUB 2> /dev/null; rm -f "$T/little"/*; master_at 1; SUB=$MASTER
check "what fits is fetched" get 4 small.ndz "$T/out"; check "its data" cmp "$T/disk2" "$T/out"
finish
