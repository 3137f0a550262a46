"""The kernel of examples/scale.cu in Triton, for call_times.py."""

import triton
import triton.language as tl


@triton.jit
def scale(x, out, factor, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, factor * tl.load(x + i, mask=i < n), mask=i < n)
