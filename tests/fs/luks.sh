#!/usr/bin/env bash
# LUKS1 and LUKS2 made by cryptsetup: recognised, and kept to the last sector.
. "$(dirname "$0")/lib.sh"
requires cryptsetup python3
: > "$T/none"
for version in 1 2; do
	img=$T/luks$version; head -c 24M /dev/urandom > "$img"
	printf secret | cryptsetup luksFormat -q --type luks$version --pbkdf pbkdf2 --pbkdf-force-iterations 1000 \
		--key-file - "$img" 2> "$T/err" || { fail "luksFormat: $(cat "$T/err")"; continue; }
	fs_case luks "LUKS$version" "$img" "$T/none"
	check "LUKS$version: every byte" cmp "$img" "$T/target"
	check "LUKS$version: the user is told" grep -q "encrypted (LUKS$version)" <(said_of warning "$img")
	check "LUKS$version: cryptsetup still takes the key" cryptsetup open --test-passphrase --key-file <(printf secret) "$T/target"
done
finish
