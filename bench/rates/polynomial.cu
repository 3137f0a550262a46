// y = 0.5 + x y, 96 times for each of N numbers: a kernel of some 10 us that computes.
template <int THREADS, int PER, int UNROLL, int VEC>
__global__ void __launch_bounds__(THREADS) polynomial(const float* in, float* out, int n) {
  const int base = blockIdx.x * (THREADS * PER) + threadIdx.x;
#pragma unroll UNROLL
  for (int p = 0; p < PER; ++p) {
    const int i = base + p * THREADS;
    if (i >= n) return;
    float x = in[i], y = 1.0f;
#pragma unroll VEC
    for (int k = 0; k < 96; ++k) y = y * x + 0.5f;
    out[i] = y;
  }
}
