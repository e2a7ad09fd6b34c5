#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs every fuzz target of a build for some seconds each: run_fuzz.sh BUILD SECONDS. New inputs go to
# the build directory, the kept corpus is only read. A crash ends the run and leaves its input there.
set -eu
build=$1
seconds=$2
found=0
for target in "$build"/tests/fuzz/fuzz_*; do
	[ -f "$target" ] && [ -x "$target" ] || continue
	found=$((found + 1))
	name=$(basename "$target")
	corpus=tests/fuzz/corpus/${name#fuzz_}
	work=$build/corpus-$name
	mkdir -p "$work"
	echo "$name: $seconds s"
	"$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -verbosity=0 -print_final_stats=1 \
		-artifact_prefix="$work/crash-" "$work" "$corpus" 2>"$work/log" || {
		tail -60 "$work/log"
		echo "$name: crashed; the input is in $work"
		exit 1
	}
	grep -E 'number_of_executed_units' "$work/log" || true
done
[ "$found" -gt 0 ] || { echo "no fuzz target in $build" >&2; exit 1; }
echo "$found fuzz targets, no crash"
