#!/usr/bin/env bash
# What make fuzz-long promises: each target has its time, what is new is where the next run begins, a finding is told and does
# not keep the other targets from running.  With targets that are made here.
. "$(dirname "$0")/lib.sh"
requires clang
mkdir -p "$T/bin" "$T/corpus/lock" "$T/corpus/bad"
cat > "$T/lock.c" << 'C'
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
int LLVMFuzzerTestOneInput(const uint8_t *, size_t);
static volatile int steps;
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len > 0 && data[0] == 'B')
		if (len > 1 && data[1] == 'U')
			if (len > 2 && data[2] == 'G') {
#ifdef BAD
				abort();
#endif
				steps++;
			}
	return 0;
}
C
make_target() { clang -g -fsanitize=fuzzer,address "${@:2}" -o "$T/bin/$1" "$T/lock.c" 2> "$T/clang"; }
make_target fuzz_lock || skip "clang cannot make fuzz targets here: $(tail -n 1 "$T/clang")"
make_target fuzz_bad -DBAD || fail "clang"
printf 'B' > "$T/corpus/lock/first"; cp "$T/corpus/lock/first" "$T/corpus/bad/first"
guided() { (cd "$TOP" && FOUND="$T/found" CORPUS="$T/corpus" tests/fuzz/guided "$T/bin" "$@") > "$T/said" 2>&1; }
row() { grep "^$1 " "$T/said" | tail -n 1; }
column() { row "$1" | awk -v c="$2" '{ print $c }'; }

mkdir -p "$T/found/lock"; for i in {10..29}; do echo "x$i" > "$T/found/lock/same$i"; done
guided 4 fuzz_bad fuzz_lock; rc=$?
check "findings are a failure" [ $rc = 1 ]
check "the finding is kept" grep -aq '^BUG' "$T"/found/findings/bad-crash-*
check "and told, with what repeats it" grep -q "repeat: $T/bin/fuzz_bad $T/found/findings/bad-" "$T/said"
check "one of it" [ "$(column fuzz_bad 6)" = 1 ]
check "the other target has run all the same" [ "$(column fuzz_lock 6)" = 0 ]
check "for its time" [ "$(column fuzz_lock 2)" -ge 4 ]
check "with executions and coverage" [ "$(column fuzz_lock 3)" -gt 100 -a "$(column fuzz_lock 4)" -gt 3 ]
check "what is new is kept" grep -alq '^BUG' "$T"/found/lock/*
check "and counted" [ "$(column fuzz_lock 5)" = "$(ls "$T/found/lock" | wc -l)" ]
check "of what reaches the same, one at most" [ "$(ls "$T/found/lock" | grep -c same)" -le 1 ]
check "nothing goes into the corpus" [ "$(ls "$T/corpus/lock")" = first ]
before=$(ls "$T/found/lock" | wc -l)
guided 1 fuzz_lock; rc=$?
check "without findings it succeeds" [ $rc = 0 ]
check "the next run begins there" grep -q "from 1 inputs and $before that were found before" "$T/said"
check "targets that cannot run are findings" eval '! guided 1 fuzz_absent'
would() { env -u MAKEFLAGS -u MAKELEVEL make -C "$TOP" -n fuzz-long "$@" 2>&1 | grep "tests/fuzz/guided"; }
check "an hour is divided" eval 'would TARGETS=ext,fuzz_chunk | grep -q " 1800 fuzz_ext fuzz_chunk$"'
check "or each has its minutes" eval 'would MINUTES=7 TARGETS=ext | grep -q " 420 fuzz_ext$"'
finish
