#!/usr/bin/env python3
"""What was tuned, in Python: select what is best for this GPU, compile it, call it with an array.

    smemtune --space examples/scale.json
    python3 scale.py                       on the current GPU; needs PyTorch or CuPy
    python3 scale.py best.json             with the results of a database or of `smemtune export`
    python3 scale.py best.json --print "NVIDIA H200" 9.0   only say what would be launched
"""

import pathlib
import sys

import smemtune

SPACE = pathlib.Path(__file__).parent.parent / "scale.json"
PROBLEM = {"N": 1 << 24, "T": "float"}


def show(best):
    launch = best.launches[0]
    print(
        f"{launch.entry} grid {launch.grid[0]} block {launch.block[0]} "
        f"({best.match}, size ratio {best.size_ratio:g})"
    )
    if best.edited:
        print("the kernel has been edited since it was measured")


def launch(db):
    try:
        import torch

        data = torch.arange(PROBLEM["N"], dtype=torch.float32, device="cuda")
        out = torch.empty_like(data)
    except ImportError:
        import cupy

        data = cupy.arange(PROBLEM["N"], dtype=cupy.float32)
        out = cupy.empty_like(data)
    scale = smemtune.Kernel(SPACE, db=db, **PROBLEM)
    show(scale.selection)
    scale(data, out, factor=2.0)
    if not bool((out == 2 * data).all()):
        sys.exit("wrong")
    print("right")


def main(words):
    if len(words) == 4 and words[1] == "--print":
        target = (words[2], round(10 * float(words[3])))
        show(smemtune.select(SPACE, target, db=words[0], **PROBLEM))
    elif len(words) <= 1:
        launch(words[0] if words else None)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
