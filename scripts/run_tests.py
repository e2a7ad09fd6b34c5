#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `meson test` in a build directory and sums up its cases: run_tests.py BUILD [meson options].

A test that speaks TAP counts each of its cases, any other test counts as one. Failures are shown
with their output, skips with their reasons; the last line is `N passed, M failed[, K skipped]`.
"""
import json
import os
import re
import subprocess
import sys

CASE = re.compile(r"^(not )?ok\b[ \t]*\d*[ \t]*-?[ \t]*([^#\n]*)(?:#[ \t]*(.*))?$")


def cases(test):
    """(name, 'pass' | 'fail' | 'skip', reason) for each case of one meson test."""
    out = test.get("stdout", "")
    found = []
    reason = ""
    for line in out.splitlines():
        if line.startswith("# skipped:"):
            reason = line[len("# skipped:"):].strip()
        match = CASE.match(line)
        if not match:
            continue
        failed, name, directive = match.groups()
        if directive and directive.lower().startswith("skip"):
            found.append((name.strip() or directive[4:].strip(), "skip", reason or directive[4:].strip()))
        else:
            found.append((name.strip(), "fail" if failed else "pass", ""))
        reason = ""
    ok = test["result"] in ("OK", "EXPECTEDFAIL")
    whole = re.search(r"^1\.\.0\b[ \t]*#[ \t]*SKIP[ \t]*(.*)$", out, re.M)
    if test["result"] == "SKIP" and not found:
        found.append((test["name"], "skip", whole[1] if whole else reason or "no reason given"))
    elif not ok and test["result"] != "SKIP" and not any(c[1] == "fail" for c in found):
        found.append((test["name"], "fail", test["result"]))
    elif not found:
        found.append((test["name"], "pass", ""))
    return found


def main():
    build = sys.argv[1]
    log = os.path.join(build, "meson-logs", "testlog.json")
    if os.path.exists(log):
        os.unlink(log)
    run = subprocess.run(["meson", "test", "-C", build, "--no-rebuild", "--quiet", *sys.argv[2:]],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if not os.path.exists(log):
        print(run.stdout)
        print("meson test left no log")
        print("0 passed, 1 failed")
        return 1
    with open(log) as lines:
        tests = [json.loads(line) for line in lines if line.strip()]
    count = {"pass": 0, "fail": 0, "skip": 0}
    for test in tests:
        results = cases(test)
        for _, result, _ in results:
            count[result] += 1
        for name, result, reason in results:
            if result == "skip":
                print(f"skipped: {test['name']}: {name}: {reason}")
        if any(r == "fail" for _, r, _ in results):
            print(f"--- {test['name']} ({test['result']})")
            print(test.get("stdout", "")[-20000:])
            print(test.get("stderr", "")[-20000:])
            for name, result, reason in results:
                if result == "fail":
                    print(f"FAILED: {test['name']}: {name} {reason}")
    if not tests:
        count["fail"] = 1
        print("no test was run")
    last = f"{count['pass']} passed, {count['fail']} failed"
    if count["skip"]:
        last += f", {count['skip']} skipped"
    print(last)
    return 1 if count["fail"] or not count["pass"] else 0


if __name__ == "__main__":
    sys.exit(main())
