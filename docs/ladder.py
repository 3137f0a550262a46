#!/usr/bin/env python3
"""Draws the kernel table that a run prints as horizontal bars.

    smemtune --space configs/gemm.json | docs/ladder.py > ladder.svg
    docs/ladder.py bench/RESULTS.md > docs/ladder.svg     # the first table of the file
"""
import re
import sys

UNITS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}
ROW = re.compile(r"  ([* ]) (\w+) +([\d.]+) (ns|us|ms|s) .*?([\d.]+ [TGM]FLOP/s|$)")


def kernel_rows(text):
    """(wins, kernel, milliseconds, rate) of the first table that names its rows `kernel ... time`."""
    rows = []
    inside = False
    for line in text.splitlines():
        if re.match(r"  kernel +time", line):
            inside = True
        elif inside:
            match = ROW.match(line)
            if not match:
                break
            mark, name, time, unit, rate = match.groups()
            rows.append((mark == "*", name, float(time) * UNITS[unit], rate))
    return rows


def svg(rows):
    height = 26 * len(rows) + 10
    fastest = max(1 / row[2] for row in rows)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="640" height="{height}" '
        'font-family="sans-serif" font-size="13">',
        f'<rect width="640" height="{height}" fill="white"/>',
    ]
    for index, (wins, name, time, rate) in enumerate(rows):
        y = 26 * index + 8
        width = max(1.0, 340 * (1 / time) / fastest)
        parts += [
            f'<text x="112" y="{y + 14}" text-anchor="end">{name}</text>',
            f'<rect x="120" y="{y}" width="{width:.1f}" height="18" fill="{"#76b900" if wins else "#9aa5b1"}"/>',
            f'<text x="{126 + width:.1f}" y="{y + 14}">{rate}, {time:.4g} ms</text>',
        ]
    return "\n".join(parts + ["</svg>"]) + "\n"


def main():
    text = open(sys.argv[1], encoding="utf-8").read() if len(sys.argv) > 1 else sys.stdin.read()
    rows = kernel_rows(text)
    if not rows:
        sys.exit("ladder.py: no kernel table found: give it what `smemtune --space FILE` prints")
    sys.stdout.write(svg(rows))


if __name__ == "__main__":
    main()
