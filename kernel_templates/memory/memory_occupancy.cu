// Occupancy that shared memory limits: additions of which each needs the one before.
//
//   out[i] = in[i] * (1 + ADDITIONS)     i = 0 .. threads - 1, but for rounding
//
// An addition takes about four cycles, and a multiprocessor's four schedulers can each begin one in
// every cycle. So it takes four warps per scheduler, four blocks of 128 threads, to keep them busy;
// with fewer, because the launch asks for more shared memory than the kernel uses, they wait.
//
// Template parameters
//   ADDITIONS  of the problem   1, 2, ...
//
// Block            128 threads
// Grid             threads / 128 blocks
// Shared memory    dynamic; none is used

template <int ADDITIONS>
__global__ void __launch_bounds__(128)
    memory_occupancy(const float* __restrict__ in, float* __restrict__ out) {
  const long long i = static_cast<long long>(blockIdx.x) * 128 + threadIdx.x;
  const float step = in[i];
  float sum = step;
#pragma unroll 16
  for (int addition = 0; addition < ADDITIONS; ++addition) sum += step;
  out[i] = sum;
}
