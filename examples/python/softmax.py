#!/usr/bin/env python3
"""Softmax over rows: tuned, held against PyTorch's, and called from PyTorch.

On a GPU it is compared with torch.softmax, eager and compiled, and timed beside them. Without one it is
tuned on the CPU device, against NumPy; such times say nothing of a GPU.
"""

import numpy
import smemtune
from smemtune import Input, Output, Scalar, ceil_div

try:
    import torch

    on_gpu = torch.cuda.is_available()
except ImportError:
    on_gpu = False


def reference(x):
    if on_gpu:
        return torch.softmax(x.double(), dim=1)
    raised = numpy.exp(x.astype("float64") - x.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


@smemtune.tunable(
    arguments=[
        Input("x", "float", "ROWS", "COLUMNS", init="normal(0, 1)"),
        Output("out", "float", "ROWS", "COLUMNS"),
        Scalar("rows", "int", "ROWS"),
        Scalar("columns", "int", "COLUMNS"),
    ],
    # A row is for THREADS threads of a warp or less, a block for HEIGHT rows.
    parameters={"THREADS": [8, 16, 32], "HEIGHT": [1, 2, 4, 8, 16], "UNROLL": [1, 4]},
    default={"THREADS": 32, "HEIGHT": 4, "UNROLL": 1},
    constraints=[lambda THREADS, HEIGHT: THREADS * HEIGHT >= 32],
    problems=[{"ROWS": 16384, "COLUMNS": 1000}],
    cpu_problems=[{"ROWS": 64, "COLUMNS": 100}],
    entry="softmax<THREADS, HEIGHT, UNROLL>",
    block=["THREADS", "HEIGHT"],
    grid=lambda ROWS, HEIGHT: ceil_div(ROWS, HEIGHT),
    metrics={"bytes": lambda ROWS, COLUMNS: 8 * ROWS * COLUMNS},
    reference=reference,
    arrays="torch" if on_gpu else "numpy",
    relative=1e-5,
)
def softmax():
    r"""template <int THREADS, int HEIGHT, int UNROLL>
    __global__ void softmax(const float* x, float* out, int rows, int columns) {
      const int row = blockIdx.x * HEIGHT + threadIdx.y;
      const bool is_row = row < rows;
      const float* from = x + (long long)row * columns;
      // Each thread keeps the largest of its elements and the sum of e to their distances from it.
      float most = -INFINITY;
      float sum = 0;
      if (is_row) {
    #pragma unroll UNROLL
        for (int i = threadIdx.x; i < columns; i += THREADS) {
          const float larger = fmaxf(most, from[i]);
          sum = sum * expf(most - larger) + expf(from[i] - larger);
          most = larger;
        }
      }
      for (int distance = THREADS / 2; distance > 0; distance /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, most, distance);
        const float others = __shfl_xor_sync(0xffffffffu, sum, distance);
        const float larger = fmaxf(most, other);
        sum = (most == larger ? sum : sum * expf(most - larger)) +
              (other == larger ? others : others * expf(other - larger));
        most = larger;
      }
      if (!is_row) return;
    #pragma unroll UNROLL
      for (int i = threadIdx.x; i < columns; i += THREADS) {
        out[(long long)row * columns + i] = expf(from[i] - most) / sum;
      }
    }"""


def microseconds(call):
    for _ in range(20):
        call()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(200):
        call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / 200 * 1000


def main():
    run = smemtune.tune(softmax, device=None if on_gpu else "cpu")
    print("best:", run.best["configuration"], "compared with:", run.best["compared_with"])
    if not on_gpu:
        return
    problem = softmax.problems[0]
    tuned = smemtune.Kernel(softmax, **problem)
    x = torch.randn(problem["ROWS"], problem["COLUMNS"], device="cuda")
    out = torch.empty_like(x)
    tuned(x, out)
    torch.testing.assert_close(out, torch.softmax(x, dim=1))
    compiled = torch.compile(lambda x: torch.softmax(x, dim=1))
    for name, call in {
        "tuned": lambda: tuned(x, out),
        "torch.softmax": lambda: torch.softmax(x, dim=1),
        "torch.compile": lambda: compiled(x),
    }.items():
        print(f"{name:14} {microseconds(call):7.1f} us")


if __name__ == "__main__":
    main()
