#!/usr/bin/env python3
"""Measures what a call costs the host, in microseconds: smemtune.Kernel with arrays of CuPy and PyTorch
beside CuPy's RawKernel and a kernel of Triton, all of them the same scaling of 256 numbers.

    python3 python/tests/call_times.py

Needs a GPU and CuPy; PyTorch and Triton where they are there.
"""

import pathlib
import statistics
import time

import cupy
import smemtune

EXAMPLE = pathlib.Path(__file__).resolve().parent.parent.parent / "examples" / "scale.json"
N = 256
ROUNDS = 50
CALLS = 200  # In a round; fewer than a stream's queue holds.


def calls():
    """Returns the functions that are measured, by name; each enqueues one kernel."""
    kernel = smemtune.Kernel(EXAMPLE, N=N, T="float", configuration={"THREADS": 64, "ITEMS": 1})
    entry = kernel.selection.launches[0].entry
    code = EXAMPLE.with_suffix(".cu").read_text(encoding="utf-8")
    raw = cupy.RawModule(code=code, options=("-std=c++17",), name_expressions=(entry,))
    function = raw.get_function(entry)
    x, out = cupy.zeros(N, dtype=cupy.float32), cupy.zeros(N, dtype=cupy.float32)
    arguments = (x, out, cupy.float32(2), cupy.int32(N))
    made = {
        "CuPy RawKernel": lambda: function((N // 64,), (64,), arguments),
        "Kernel, CuPy arrays": lambda: kernel(x, out, 2.0),
        "Kernel, CuPy arrays, no scalar": lambda: kernel(x, out),
    }
    try:
        import torch
    except ImportError:
        return made
    t, u = torch.zeros(N, device="cuda"), torch.zeros(N, device="cuda")
    made["Kernel, PyTorch tensors"] = lambda: kernel(t, u, 2.0)
    made["Kernel, PyTorch tensors, no scalar"] = lambda: kernel(t, u)
    made["Kernel, PyTorch tensors, by name"] = lambda: kernel(t, out=u, factor=2.0)
    made["PyTorch, torch.mul(out=)"] = lambda: torch.mul(t, 2.0, out=u)
    triton_call = _triton_call(t, u)
    if triton_call is not None:
        made["Triton kernel"] = triton_call
    return made


def _triton_call(t, u):
    try:
        import triton_scale
    except ImportError:
        return None
    return lambda: triton_scale.scale[(N // 64,)](t, u, 2.0, N, BLOCK=64)


def measure():
    """For each of calls(), by name, the least time of a call over all rounds in microseconds, and the
    median of the rounds. The calls take turns, so that what disturbs the machine meets them all."""
    made = calls()
    means = {name: [] for name in made}
    for number in range(ROUNDS + 1):
        for name, call in made.items():
            cupy.cuda.Device().synchronize()
            begin = time.perf_counter()
            for _ in range(CALLS):
                call()
            if number > 0:  # The first one warms up.
                means[name].append((time.perf_counter() - begin) / CALLS * 1e6)
    return {name: (min(of), statistics.median(of)) for name, of in means.items()}


def main():
    for name, (least, median) in measure().items():
        print(f"{name:36} {least:6.2f} us (median of rounds {median:.2f})")


if __name__ == "__main__":
    main()
