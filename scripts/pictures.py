#!/usr/bin/env python3
"""Compares pictures of pages with kept ones: scripts/pictures.py KEPT SEEN...

KEPT is a directory; each SEEN is a PNG whose counterpart there has the same name. Both are small (see scripts/screenshots.sh), so that
what counts is whether charts, tables and colours are where they were, not how a font draws a letter. A picture differs if its
size does, if its points differ by more than MEAN_MAX of 255 in the mean, or if more than FAR_SHARE_MAX of them differ by FAR and more.
Reads what Chromium writes: 8 bits a channel, RGB or RGBA, not interlaced. Exit code 1 if one differs or is missing."""
import os
import struct
import sys
import zlib

MEAN_MAX = 8
FAR = 64
FAR_SHARE_MAX = 0.04


def pixels(path):
    """Width, height, and rows of RGB bytes."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        raise ValueError(path + " is no PNG")
    at, packed, header = 8, b"", None
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            header = struct.unpack(">IIBBBBB", body)
        elif kind == b"IDAT":
            packed += body
        at += length + 12
    width, height, depth, colour, _, _, interlaced = header
    if depth != 8 or colour not in (2, 6) or interlaced:
        raise ValueError(path + " has another form")
    size = 3 if colour == 2 else 4
    lines, stride, rows = zlib.decompress(packed), width * size, []
    before = bytes(stride)
    for y in range(height):
        start = y * (stride + 1)
        row = unfiltered(lines[start], bytearray(lines[start + 1 : start + 1 + stride]), before, size)
        before = row
        rows.append(row if size == 3 else bytes(value for x, value in enumerate(row) if x % 4 != 3))
    return width, height, rows


def unfiltered(kind, row, before, size):
    """A row of a PNG without its filter (section 9 of the specification)."""
    for x in range(len(row)):
        left = row[x - size] if x >= size else 0
        up, corner = before[x], before[x - size] if x >= size else 0
        if kind == 1:
            row[x] = (row[x] + left) & 255
        elif kind == 2:
            row[x] = (row[x] + up) & 255
        elif kind == 3:
            row[x] = (row[x] + (left + up) // 2) & 255
        elif kind == 4:
            guess = left + up - corner
            near = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))
            row[x] = (row[x] + near[2]) & 255
    return row


def difference(kept, seen):
    """None if the pictures agree, else in what they do not."""
    if not os.path.exists(kept):
        return "there is no kept picture"
    one, two = pixels(kept), pixels(seen)
    if one[:2] != two[:2]:
        return "%dx%d, kept is %dx%d" % (two[0], two[1], one[0], one[1])
    gaps = [abs(a - b) for left, right in zip(one[2], two[2]) for a, b in zip(left, right)]
    mean, far = sum(gaps) / len(gaps), sum(gap >= FAR for gap in gaps) / len(gaps)
    if mean > MEAN_MAX or far > FAR_SHARE_MAX:
        return "points differ by %.1f of 255, %.1f %% of them by %d and more" % (mean, 100 * far, FAR)
    return None


def main():
    kept, failed = sys.argv[1], False
    for seen in sys.argv[2:]:
        name = os.path.basename(seen)
        why = difference(os.path.join(kept, name), seen)
        print("%s %s%s" % ("FAIL" if why else "PASS", name, ": " + why if why else ""))
        failed |= why is not None
    sys.exit(failed)


if __name__ == "__main__":
    main()
