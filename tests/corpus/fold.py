# SPDX-License-Identifier: Apache-2.0
"""Where nft 1.0.6 (Debian 12) lists otherwise than the current nft, brought to one form.

Used by every comparison with the local nft; the only place that knows these differences.
"""
import re

FLAG_SLASH = re.compile(r"tcp flags (!= )?([\w,]+) / ([\w,]+)")
FLAG_NONE = re.compile(r"tcp flags ! ([\w,]+)")
FLAG_MASK = re.compile(r"tcp flags & \(?([\w |]+?)\)? (==|!=) \(?([\w |]+?)\)?(?= [a-z{@]|$)")


def bits(text):
    return "|".join(sorted(w.strip() for w in re.split(r"[,|]", text) if w.strip()))


def fold_line(line):
    line = FLAG_SLASH.sub(lambda m: f"tcp flags & ({bits(m[3])}) {'!=' if m[1] else '=='} ({bits(m[2])})", line)
    line = FLAG_NONE.sub(lambda m: f"tcp flags & ({bits(m[1])}) == (0x0)", line)
    line = FLAG_MASK.sub(lambda m: f"tcp flags & ({bits(m[1])}) {m[2]} ({bits(m[3])})", line)
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
