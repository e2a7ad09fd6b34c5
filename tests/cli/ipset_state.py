#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tamis ipset --state FILE` where things go wrong: killed, without room, with rubbish. Prints TAP.

ipset_state.py TAMIS SOURCE_ROOT. What needs a file system of its own is mounted in a mount namespace of its own, as root.
"""
import ctypes
import os
import random
import re
import signal
import subprocess
import sys
import time

from tap import Skipped, run_all, same, test

TAMIS = os.path.abspath(sys.argv[1])
LEFT = ".sets.tamis-new"


def ipset(*args, stdin=b"", state="sets"):
    """Exit status and what was said; a signal is a failure."""
    run = subprocess.run([TAMIS, "ipset", "--state", state, *args], input=stdin, capture_output=True, timeout=60)
    assert run.returncode in (0, 1, 2), f"exit status {run.returncode}: {args}\n{run.stderr.decode(errors='replace')}"
    return run.returncode, run.stderr.decode(errors="replace")


def written(data, name="sets"):
    with open(name, "wb") as f:
        f.write(data)


def read(name="sets"):
    with open(name, "rb") as f:
        return f.read()


def lines(n, net):
    return b"".join(b"add a %d.%d.%d.%d\n" % (net, i >> 16, i >> 8 & 255, i & 255) for i in range(n))


def adds(n):
    return b"create a hash:ip maxelem 1000000\n" + lines(n, 10)


def mounted(size):
    """An empty file system of so many bytes, in a mount namespace that ends with the process."""
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() or libc.unshare(0x20000):  # CLONE_NEWNS
        raise Skipped("needs root")
    os.mkdir("small")
    if libc.mount(b"none", b"/", None, 0x44000, None):  # MS_REC | MS_PRIVATE
        raise Skipped("no mount namespace of its own")
    if libc.mount(b"none", b"small", b"tmpfs", 0, f"size={size}".encode()):
        raise Skipped("no tmpfs")
    return libc


def apart(function):
    """In a process of its own: mounts go with it."""
    pid = os.fork()
    if not pid:
        status = 1
        try:
            function()
            status = 0
        except Skipped as why:
            print(f"# {why}")
            status = 77
        except AssertionError as e:
            print(*(f"# {line}" for line in str(e).splitlines()), sep="\n")
        sys.stdout.flush()
        os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status == 77:
        raise Skipped("see above")
    same(status, 0)


@test
def killed_at_any_moment():
    dice = random.Random(1)
    written(adds(3000))
    same(ipset("add", "a", "9.0.0.0")[0], 0)
    had, leftovers = read().count(b"add a"), 0
    for i in range(1, 80):
        run = subprocess.Popen([TAMIS, "ipset", "--state", "sets", "add", "a", f"9.0.0.{i}"])
        time.sleep(dice.random() * .02)
        run.kill()
        run.wait()
        leftovers += os.path.exists(LEFT)
        now = read()
        assert now.endswith(b"\n") and now.count(b"add a") in (had, had + 1), f"{now.count(b'add a')} after {had}"
        had = now.count(b"add a")
        assert set(os.listdir(".")) <= {"sets", LEFT}, os.listdir(".")
    same(ipset("add", "a", "9.0.1.0")[0], 0)
    same(os.listdir("."), ["sets"], f"{leftovers} leftovers")


@test
def leftovers_are_cleared():
    written(b"create a hash:ip\n")
    written(b"half of it", LEFT)
    same(ipset("list")[0], 0)
    same(ipset("add", "a", "1.1.1.1"), (0, ""))
    same(os.listdir("."), ["sets"])
    written(b"half of it", LEFT)
    ipset("add", "a", "nonsense")
    same(os.listdir("."), ["sets"])
    os.mkdir(LEFT)  # nobody's leftover
    status, said = ipset("add", "a", "1.1.1.2")
    same((status, said), (1, "ipset v7.17: Cannot open sets for writing: File exists\n"))
    same(re.findall(rb"add a (.*)", read()), [b"1.1.1.1"])


@test
def a_link_under_the_new_name_is_not_followed():
    written(b"create a hash:ip\n")
    written(b"precious", "other")
    os.symlink("other", LEFT)
    same(ipset("add", "a", "1.1.1.1"), (0, ""))
    same(read("other"), b"precious")
    same(sorted(os.listdir(".")), ["other", "sets"])


@test
def no_room():
    def full():
        mounted(65536)
        sets = "small/sets"
        same(ipset("restore", stdin=adds(1000), state=sets)[0], 0)
        before = read(sets)
        status, said = ipset("restore", stdin=lines(9000, 11), state=sets)
        same((status, said), (1, "ipset v7.17: Cannot open small/sets for writing: No space left on device\n"))
        same(read(sets), before)
        same(os.listdir("small"), ["sets"])
        same(ipset("add", "a", "9.9.9.9", state=sets), (0, ""))
        os.unlink(sets)
        same(ipset("restore", stdin=adds(9000), state=sets)[0], 1)
        same(os.listdir("small"), [])

    apart(full)


@test
def nothing_may_be_written():
    def readonly():
        libc = mounted(65536)
        sets = "small/sets"
        same(ipset("restore", stdin=adds(3), state=sets)[0], 0)
        libc.mount(b"none", b"small", b"tmpfs", 0x21, None)  # MS_REMOUNT | MS_RDONLY
        same(ipset("add", "a", "9.9.9.9", state=sets),
             (1, "ipset v7.17: Cannot open small/sets for writing: Read-only file system\n"))
        same(ipset("list", state=sets)[0], 0)
        same(ipset("test", "a", "10.0.0.1", state=sets)[0], 0)
        same(ipset("create", "b", "hash:ip", state="small/new")[0], 1)

    apart(readonly)


@test
def no_rights():
    def stranger():
        if os.geteuid():
            raise Skipped("needs root")
        os.mkdir("theirs")
        written(adds(3), "theirs/sets")
        os.chmod("theirs", 0o555)
        os.chmod("theirs/sets", 0o666)
        for path in (".", ".."):
            os.chmod(path, os.stat(path).st_mode | 0o5)
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        before = read("theirs/sets")
        same(ipset("add", "a", "9.9.9.9", state="theirs/sets"),
             (1, "ipset v7.17: Cannot open theirs/sets for writing: Permission denied\n"))
        same(ipset("create", "b", "hash:ip", state="theirs/new")[0], 1)
        same(read("theirs/sets"), before)
        same(ipset("list", state="theirs/sets")[0], 0)

    if not os.access(TAMIS, os.X_OK) or any(not os.stat(p).st_mode & 1 for p in parents(TAMIS)):
        raise Skipped("nobody may run the program here")
    apart(stranger)


def parents(path):
    while path != "/":
        path = os.path.dirname(path)
        yield path


@test
def rubbish():
    dice = random.Random(2)
    good = (b"#@ 1700000000.000000005\ncreate a hash:ip timeout 0 counters comment\nadd a 1.1.1.1 timeout 5 packets 1 bytes 2 "
            b'comment "x y"\n#-5\nadd a 1.1.1.2\ncreate n hash:net,iface\nadd n 10.0.0.0/8,eth0 wildcard\ncreate l list:set\nadd l n\n')
    for i in range(400):
        data = bytearray(good)
        for _ in range(dice.randrange(1, 5)):
            at = dice.randrange(len(data))
            what = dice.randrange(4)
            if what == 0:
                data = data[:at]
            elif what == 1:
                data[at:at + 1] = bytes([dice.randrange(256)])
            elif what == 2:
                data[at:at] = dice.choice((b"\0", b"\n", b'"', b" " * 2000, b"9" * 40, b"-", b"\xff\xfe", b"\r", b"/", b","))
            else:
                del data[at:at + dice.randrange(40)]
            data = data or bytearray(b"\n")
        written(bytes(data))
        status, said = ipset("create", "new", "hash:ip")
        if status:
            assert re.match(r"(sets:\d+: Error|ipset v7\.17: |Warning)", said), (bytes(data), said)
            same(read(), bytes(data), said)
        else:
            assert b"create new hash:ip" in read(), bytes(data)
            same(ipset("list")[0], 0, bytes(data))
        same(os.listdir("."), ["sets"])


@test
def odd_files():
    for data in (b"", b"\n", b"\r\n\r\n", b"# nothing", b"create a hash:ip\r\nadd a 1.1.1.1\r\n", b"create a hash:ip"):
        written(data)
        same(ipset("create", "new", "hash:ip"), (0, ""), data)
    written(b"create a hash:ip\nadd a 1.1.1.1")
    same(ipset("add", "a", "1.1.1.2"), (0, ""))
    same(re.findall(rb"add a (.*)", read()), [b"1.1.1.1", b"1.1.1.2"])
    for data, line in ((b"create a hash:ip\n\0\n", 2), (b"\0", 1), (b"x" * 300000, 1), (b"create " + b"a" * 32 + b" hash:ip\n", 1),
                       (b"create a hash:ip maxelem 99999999999999999999\n", 1), (b"create a hash:ip\nadd a 1.1.1.1 timeout 5", 2),
                       (b"create a list:set\nadd a a\n", 2), (b"create a hash:ip\ncreate a hash:ip\n", 2)):
        written(data)
        status, said = ipset("create", "new", "hash:ip")
        assert status and f"sets:{line}: Error: " in said, (data, said)
        same(read(), data)


@test
def names():
    written(b"create a hash:ip\n", "s" * 240)
    same(ipset("add", "a", "1.1.1.1", state="s" * 240), (0, ""))
    same(ipset("create", "a", "hash:ip", state="s" * 250)[0], 1)
    same(ipset("create", "a", "hash:ip", state="s" * 300)[0], 1)
    same(ipset("create", "a", "hash:ip", state="s/" * 3000)[0], 1)
    os.mkdir("folder")
    same(ipset("create", "a", "hash:ip", state="folder"), (1, "ipset v7.17: Cannot open folder for writing: Is a directory\n"))
    same(ipset("list", state="folder"), (1, "ipset v7.17: Cannot open folder for reading: Is a directory\n"))
    same(sorted(os.listdir(".")), ["folder", "s" * 240])


@test
def two_sessions_at_once():
    written(b"create a hash:ip\n")
    sessions = [subprocess.Popen([TAMIS, "ipset", "--state", "sets", "-"], stdin=subprocess.PIPE) for _ in range(4)]
    for i, s in enumerate(sessions):
        s.stdin.write(b"".join(b"add a 10.0.%d.%d\n" % (i, j) for j in range(1, 50)))
        s.stdin.close()
    same([s.wait(60) for s in sessions], [0] * 4)
    same(read().count(b"add a"), 4 * 49)
    same(os.listdir("."), ["sets"])


@test
def ended_by_a_signal():
    written(adds(3000))
    before = read()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)  # under nohup it would be ignored here and in what is run
        run = subprocess.Popen([TAMIS, "ipset", "--state", "sets", "-"], stdin=subprocess.PIPE)
        run.stdin.write(b"add a 9.9.9.9\n")
        run.stdin.flush()
        time.sleep(.1)
        run.send_signal(number)
        run.stdin.close()
        run.wait(60)
        same(read(), before)
    same(ipset("add", "a", "9.9.9.8"), (0, ""))


if __name__ == "__main__":
    sys.exit(run_all())
