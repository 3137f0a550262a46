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
    ],
    # A row is for LANES threads of a warp, a block for HEIGHT rows; a thread reads VECTOR elements at once.
    parameters={"LANES": [8, 16, 32], "HEIGHT": [1, 2, 4, 8, 16], "VECTOR": [1, 2, 4]},
    default={"LANES": 32, "HEIGHT": 4, "VECTOR": 1},
    constraints=[
        lambda LANES, HEIGHT: LANES * HEIGHT >= 32,
        lambda COLUMNS, VECTOR: COLUMNS % VECTOR == 0,
    ],
    problems=[{"ROWS": 16384, "COLUMNS": 1000}],
    cpu_problems=[{"ROWS": 60, "COLUMNS": 100}],
    entry="softmax<LANES, HEIGHT, VECTOR, COLUMNS>",
    block=["LANES", "HEIGHT"],
    grid=lambda ROWS, HEIGHT: ceil_div(ROWS, HEIGHT),
    metrics={"bytes": lambda ROWS, COLUMNS: 8 * ROWS * COLUMNS},
    reference=reference,
    arrays="torch" if on_gpu else "numpy",
    relative=1e-5,
)
def softmax():
    r"""template <int SIZE>
    struct alignas(4 * SIZE) Elements {
      float at[SIZE];
    };

    template <int LANES, int HEIGHT, int VECTOR, int COLUMNS>
    __global__ void softmax(const float* x, float* out, int rows) {
      constexpr int ALL = COLUMNS / VECTOR;
      constexpr int OWN = (ALL + LANES - 1) / LANES;
      // Rows beyond the last one write the last one once more.
      const int row = min(blockIdx.x * HEIGHT + threadIdx.y, rows - 1);
      const Elements<VECTOR>* from = (const Elements<VECTOR>*)x + (long long)row * ALL;
      Elements<VECTOR>* to = (Elements<VECTOR>*)out + (long long)row * ALL;
      Elements<VECTOR> own[OWN];  // In registers: the row is read once.
      float most = -INFINITY;
    #pragma unroll
      for (int k = 0; k < OWN; ++k) {
        const int i = k * LANES + threadIdx.x;
        if (i < ALL) own[k] = from[i];
    #pragma unroll
        for (int j = 0; j < VECTOR; ++j) {
          if (i >= ALL) own[k].at[j] = -INFINITY;
          most = fmaxf(most, own[k].at[j]);
        }
      }
      for (int distance = LANES / 2; distance > 0; distance /= 2) {
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, distance));
      }
      float sum = 0;
    #pragma unroll
      for (int k = 0; k < OWN; ++k) {
    #pragma unroll
        for (int j = 0; j < VECTOR; ++j) sum += own[k].at[j] = expf(own[k].at[j] - most);
      }
      for (int distance = LANES / 2; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, distance);
      }
    #pragma unroll
      for (int k = 0; k < OWN; ++k) {
        const int i = k * LANES + threadIdx.x;
    #pragma unroll
        for (int j = 0; j < VECTOR; ++j) own[k].at[j] /= sum;
        if (i < ALL) to[i] = own[k];
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
