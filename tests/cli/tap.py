# SPDX-License-Identifier: Apache-2.0
"""Functions marked with @test, each run in a folder of its own; run_all() prints TAP."""
import os
import subprocess
import sys
import tempfile

tests = []


class Skipped(Exception):
    pass


def test(function):
    tests.append(function)
    return function


def same(got, want, what=""):
    assert got == want, f"{what}\nwanted {want!r}\ngot    {got!r}"


def run_all():
    """True if one failed."""
    failed = 0
    print(f"1..{len(tests)}")
    sys.stdout.flush()
    for n, function in enumerate(tests, 1):
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                function()
                print(f"ok {n} - {function.__name__}")
            except Skipped as why:
                print(f"ok {n} - {function.__name__} # SKIP {why}")
            except (AssertionError, OSError, ValueError, LookupError, subprocess.SubprocessError) as e:
                failed += 1
                print(f"not ok {n} - {function.__name__}")
                what = str(e) if isinstance(e, AssertionError) else f"{type(e).__name__}: {e}"
                for line in what.splitlines()[:40]:
                    print(f"# {line}")
            os.chdir("/")
        sys.stdout.flush()
    return failed > 0
