// The launch with which a histogram begins.

#pragma once

template <int THREADS>
__global__ void __launch_bounds__(THREADS) histogram_zero(unsigned* out, int bins) {
  const int bin = static_cast<int>(blockIdx.x) * THREADS + static_cast<int>(threadIdx.x);
  if (bin < bins) out[bin] = 0;
}
