#!/usr/bin/env python3
"""The exported JSON in Python: select what is best for this GPU, compile it with CuPy, launch it.

    smemtune export --space scale -o best.json
    python3 scale.py best.json                       on the first GPU; needs CuPy
    python3 scale.py best.json --print "NVIDIA H200" 9.0   only say what would be launched
"""

import json
import math
import pathlib
import sys

PROBLEM = {"N": 1 << 24, "T": "float"}
SOURCE = pathlib.Path(__file__).parent.parent / "scale.cu"


def size_ratio(one, other):
    """How far apart two problems are; None where they cannot be compared."""
    if one.keys() != other.keys():
        return None
    ratio = 1.0
    for name, value in one.items():
        if isinstance(value, str) or isinstance(other[name], str):
            if value != other[name]:
                return None
        elif value != other[name]:
            low, high = sorted((value, other[name]))
            ratio *= high / low if low > 0 else 1 + high - low
    return ratio


def select(document, space, device, compute_capability, problem):
    """The rules of db/EXPORT.md: how far the answer is stretched, its size ratio, and parameters."""
    found = []
    for entry in document["best"]:
        ratio = size_ratio(entry["problem"], problem)
        if entry["space"] != space or ratio is None:
            continue
        there = entry["device"]
        if there["name"] == device:
            match = "exact" if ratio == 1 else "nearest problem"
        elif there["kind"] == "gpu" and there["compute_capability"] == compute_capability:
            match = "same architecture"
        else:
            continue
        order = ("exact", "nearest problem", "same architecture").index(match)
        found.append((order, ratio, entry["time"]["median_ms"], match, entry["parameters"]))
    if found:
        best = min(found, key=lambda one: one[:3])
        return best[3], best[1], best[4]
    for entry in document["defaults"]:
        if entry["space"] == space:
            return "defaults", 1.0, entry["parameters"]
    return "none", 1.0, None


def plan(parameters, problem):
    """The launch of examples/scale.json for any problem: name expression, grid, block."""
    threads, items = parameters["THREADS"], parameters["ITEMS"]
    entry = f"scale<{problem['T']}, {threads}, {items}>"
    return entry, math.ceil(problem["N"] / (threads * items)), threads


def launch(entry, grid, block, n):
    import cupy

    module = cupy.RawModule(
        code=SOURCE.read_text(), options=("-std=c++17",), name_expressions=(entry,)
    )
    data = cupy.arange(n, dtype=cupy.float32)
    out = cupy.empty_like(data)
    module.get_function(entry)((grid,), (block,), (data, out, cupy.float32(2), cupy.int32(n)))
    if not bool((out == 2 * data).all()):
        sys.exit("wrong")
    print("right")


def main(words):
    if not words:
        sys.exit(__doc__)
    document = json.loads(pathlib.Path(words[0]).read_text())
    if document.get("format") != "smemtune-best" or document.get("version") != 1:
        sys.exit(f"{words[0]}: no file of `smemtune export`")
    only_print = len(words) == 4 and words[1] == "--print"
    if only_print:
        device, compute_capability = words[2], words[3]
    else:
        import cupy

        properties = cupy.cuda.runtime.getDeviceProperties(0)
        device = properties["name"].decode()
        compute_capability = f"{properties['major']}.{properties['minor']}"
    match, ratio, parameters = select(document, "scale", device, compute_capability, PROBLEM)
    if parameters is None:
        sys.exit("nothing is known of the space scale")
    entry, grid, block = plan(parameters, PROBLEM)
    print(f"{entry} grid {grid} block {block} ({match}, size ratio {ratio:g})")
    if not only_print:
        launch(entry, grid, block, PROBLEM["N"])


if __name__ == "__main__":
    main(sys.argv[1:])
