// out = factor * in, each thread ITEMS elements, THREADS apart.
template <typename T, int THREADS, int ITEMS>
__global__ void scale(const T* in, T* out, T factor, int n) {
  const int first = blockIdx.x * THREADS * ITEMS + threadIdx.x;
  for (int item = 0; item < ITEMS; ++item) {
    const int i = first + item * THREADS;
    if (i < n) out[i] = factor * in[i];
  }
}
