#!/usr/bin/env bash
# tests/helpers/json.c, with which other scripts read JSON: it finds what is there, and says what is not.
. "$(dirname "$0")/lib.sh"
cat > "$T/j" << 'END'
{ "name": "a \"b\"\u00e4", "size": 18446744073709551615, "rate": 0.50, "full": true, "none": null, "word": "true",
  "disks": [ { "name": "one", "bytes": 1 }, { "name": "two", "bytes": 12 } ], "empty": [], "of": { "a.b": [ [ 7, 8 ] ] } }
END
is() { check "$1" [ "$(json "${@:3}")" = "$2" ]; }	# WHAT PRINTED OPTIONS-FILE-PATH...
holds() { check "holds: $*" json "$T/j" "$@"; }
fails() {	# SENTENCE OPTIONS-FILE-PATH...
	local said; said=$(json "${@:2}" 2>&1 > "$T/out"); local rc=$?
	check "exit 1: $said" [ $rc = 1 -a "$(wc -l <<< "$said")" = 1 ]; check "says why" grep -q "$1" <<< "$said"
}

echo "== members"
is "texts as they are" 'a "b"ä' "$T/j" name
is "numbers as they are written" $'18446744073709551615\n0.50' "$T/j" size rate
is "words" $'true\nnull' "$T/j" full none
is "an element, one from the end, what is in it" $'one\n12' "$T/j" 'disks[0].name' 'disks[-1].bytes'
is "a name with a dot" 8 "$T/j" 'of["a.b"][0][1]'
is "how many" $'2\n0\n1\n4' "$T/j" 'disks[#]' 'empty[#]' 'of[#]' 'word[#]'
is "of each, in one line" "one two" -1 "$T/j" 'disks[*].name'
is "some of each" "one:1 two:12" -1 "$T/j" 'disks[*].name,bytes'
is "of those that are chosen" 12 "$T/j" 'disks[name=two].bytes'
is "none of none" "" "$T/j" 'empty[*].name'
is "what is not there has another text" "no one" -1 -d no "$T/j" nothing 'disks[0].name'
is "a value with all that is in it" '{"a.b":[[7,8]]}' "$T/j" of
is "standard input" 5 - '[1]' <<< '[4, 5]'
is "a document a line" $'1 -\n2 x' -l -1 -d - - a b <<< $'{"a": 1}\n{"a": 2, "b": "x"}'

echo "== facts"
holds full=true none=null rate=0.5 'rate<0.6' 'rate>=0.5' 'size>1' 'disks[*].bytes>0' 'word!=false' 'disks[#]=2' 'name?' 'nothing!?' 'name~^a "b' 'word!~x'
fails "it is 12" "$T/j" 'disks[*].bytes<2'
fails "it is the text" "$T/j" word=true
fails "it is true" "$T/j" full=false
fails "it is true" "$T/j" 'word~^rue'
fails "is no number" "$T/j" 'word>3'
fails "it is there" "$T/j" 'name!?'
fails "nothing is not there" "$T/j" nothing=1
fails "it is 18446744073709551615" "$T/j" size=18446744073709551614

echo "== what is no JSON, or not there"
fails "nothing is not there" "$T/j" name nothing
fails "disks.2. is not there" "$T/j" 'disks[2]'
fails "not there" "$T/j" 'disks[name=three].bytes'
fails "bytes is not there" - '[*].name,bytes' <<< '[{"name": 1}]'
fails "a bracket is not closed" "$T/j" 'disks[0'
fails "in brackets is not known" "$T/j" 'disks[x]'
fails "relation is not known" "$T/j" 'name!'
fails "No such file" "$T/none" a
for text in '{' '{} {}' '{"a": 1,}' "{'a': 1}" 'x' '[1] x' '{"a": "\xff"}' NaN '"a\tb"'; do printf "$text" > "$T/bad"; fails "this is not JSON" "$T/bad"; done
printf '{}\0' > "$T/bad"; fails NUL "$T/bad"
: > "$T/bad"; fails "it is empty" "$T/bad"
fails "this is not JSON" -l - a <<< $'{"a": 1}\n{"a": '
check "a document is enough" json "$T/j"
json 2> "$T/stderr"; check "wrong use: exit 2" [ $? = 2 ]
finish
