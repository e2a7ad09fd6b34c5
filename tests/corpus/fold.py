# SPDX-License-Identifier: Apache-2.0
"""Where nft 1.0.6 (Debian 12) lists otherwise than the current nft, brought to one form.

Used by every comparison with the local nft; the only place that knows these differences.
"""
import re

FLAG_SLASH = re.compile(r"tcp flags (!= )?([\w,]+) / ([\w,]+)")
FLAG_NONE = re.compile(r"tcp flags ! ([\w,]+)")
FLAGS = r"(\([\w |]+\)|\w+(?: \| \w+)*)"
FLAG_MASK = re.compile(rf"tcp flags & {FLAGS} (==|!=) {FLAGS}")
PRIORITIES = {"raw": -300, "mangle": -150, "dstnat": -100, "filter": 0, "security": 50, "srcnat": 100, "out": 100}
PRIORITY = re.compile(r"priority ([a-z]+)(?: ([+-]) (\d+))?;")
HEXADECIMAL = re.compile(r"(?<=frag-off )[^{}]*?(?= [a-z]|$)|(?<=frag-off \{ )[^{}]*")
ANONYMOUS = re.compile(r"\{ ([^{}]*) \}")


def bits(text):
    return "|".join(sorted(w.strip() for w in re.split(r"[,|]", text.strip("()")) if w.strip()))


def priority(match):
    name, sign, offset = match.groups()
    if name not in PRIORITIES:
        return match[0]
    return f"priority {PRIORITIES[name] + int((sign or '+') + (offset or '0'))};"


def fold_line(line):
    line = FLAG_SLASH.sub(lambda m: f"tcp flags & ({bits(m[3])}) {'!=' if m[1] else '=='} ({bits(m[2])})", line)
    line = FLAG_NONE.sub(lambda m: f"tcp flags & ({bits(m[1])}) == (0x0)", line)
    line = FLAG_MASK.sub(lambda m: f"tcp flags & ({bits(m[1])}) {m[2]} ({bits(m[3])})", line)
    # `check` is what 1.0.6 lists as `oif`.
    line = re.sub(r"(fib [\w .]+?) check (exists|missing)", r"\1 oif \2", line)
    line = re.sub(r"(meter \S+) size \d+ ", r"\1 ", line)
    # Newer nft knows the names of nat priorities at more hooks.
    line = PRIORITY.sub(priority, line)
    # Fragment offsets are hexadecimal since 1.0.7.
    line = HEXADECIMAL.sub(lambda m: re.sub(r"0x[0-9a-f]+", lambda h: str(int(h[0], 16)), m[0]), line)
    # Interface names sort by their last byte first in nft, and concatenations by the last field in 1.0.6.
    line = ANONYMOUS.sub(lambda m: "{ " + ", ".join(sorted(m[1].split(", "))) + " }", line)
    # The burst that both mean when none is written.
    line = line.replace(" burst 5 packets", "")
    line = re.sub(r"(limit rate (?:over )?\d+ \w*bytes/\w+)(?! burst)", r"\1 burst 0 bytes", line)
    line = re.sub(r"\t# count \d+$", "", line)
    # What packets and tests change.
    line = re.sub(r"counter packets \d+ bytes \d+", "counter", line)
    line = re.sub(r" expires [\dwdhms]+", "", line)
    return line.rstrip()


def split_elements(body):
    """Elements of `a, b { c, d }, "x, y"` at the outermost commas."""
    parts, depth, quoted, start = [], 0, False, 0
    for i, char in enumerate(body):
        if char == '"':
            quoted = not quoted
        elif not quoted and char in "{(":
            depth += 1
        elif not quoted and char in "})":
            depth -= 1
        elif not quoted and char == "," and depth == 0:
            parts.append(body[start:i].strip())
            start = i + 1
    parts.append(body[start:].strip())
    return parts


def fold(listing):
    """A listing as a list of comparable lines."""
    joined = re.sub(r",\n\t\t\t *", ", ", listing)
    lines, pending = [], None
    for line in joined.split("\n"):
        line = fold_line(line)
        match = re.match(r"^(\t\telements = \{ )(.*)( \})$", line)
        if match:
            # 1.0.6 sorts concatenations with the last field first.
            line = match[1] + ", ".join(sorted(split_elements(match[2]))) + match[3]
        if re.match(r"^\t\tcomment ", line) and lines and re.match(r"^\tchain ", lines[-1]):
            pending = line
            continue
        lines.append(line)
        if pending and re.match(r"^\t\ttype ", line):
            lines.append(pending)
            pending = None
    return [line for line in lines if line]
