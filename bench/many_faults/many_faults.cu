// Where FAR is 1 it writes 4 TiB behind its output: the device's context is lost.
template <int FAR, int ITEMS, int THREADS>
__global__ void twice(const float* in, float* out, int n) {
  float* const target = out + (FAR ? 1LL << 40 : 0);
  for (int k = 0; k < ITEMS; ++k) {
    const int i = (blockIdx.x * ITEMS + k) * THREADS + threadIdx.x;
    if (i < n) target[i] = 2 * in[i];
  }
}
