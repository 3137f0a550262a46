// Softmax, RMS norm and layer norm of the rows of a matrix, a block for each row, as textbooks begin.
//
//   softmax_naive     out[i][j] = exp(in[i][j] - largest[i]) / sum of exp(in[i][j] - largest[i]) of row i
//   rms_norm_naive    out[i][j] = in[i][j] / sqrt(mean of in[i][j]^2 of row i + 0.00001) * weight[j]
//   layer_norm_naive  out[i][j] = (in[i][j] - mean[i]) / sqrt(variance[i] + 0.00001) * weight[j] + bias[j]
//
//   in, out: m x n, row-major and dense; weight, bias: n elements. Computed in float.
//
// The threads go through the row once for each number that is needed of it and once to write it. A
// tree in shared memory adds up what they have found.
//
// Template parameters
//   T        element type          float, __half, __nv_bfloat16
//   THREADS  threads per block     32 .. 1024, a power of two
//
// Block            THREADS threads
// Grid             m blocks
// Shared memory    THREADS * 4 bytes, static
// Memory traffic   m * n * sizeof(T) bytes written, and read two or three times

#include "held_row.cuh"

namespace normalize_detail {

constexpr float kNaiveEpsilon = 1e-5f;

struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Maximum {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

/// The value of all threads of the block, found in `values`, which has room for one of each.
template <int THREADS, typename Both>
__device__ float reduced_in_block(float* values, float value, const Both& both) {
  __syncthreads();  // The values of an earlier call have been read.
  values[threadIdx.x] = value;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      values[threadIdx.x] = both(values[threadIdx.x], values[threadIdx.x + half]);
    __syncthreads();
  }
  return values[0];
}

}  // namespace normalize_detail

template <typename T, int THREADS>
__global__ void __launch_bounds__(THREADS)
    softmax_naive(const T* __restrict__ in, T* __restrict__ out, long long n) {
  using namespace normalize_detail;
  __shared__ float values[THREADS];
  const T* const row = in + blockIdx.x * n;
  float largest = -3.402823466e38f;
  for (long long j = threadIdx.x; j < n; j += THREADS) largest = fmaxf(largest, number(row[j]));
  largest = reduced_in_block<THREADS>(values, largest, Maximum());
  float sum = 0.0f;
  for (long long j = threadIdx.x; j < n; j += THREADS) sum += expf(number(row[j]) - largest);
  sum = reduced_in_block<THREADS>(values, sum, Sum());
  for (long long j = threadIdx.x; j < n; j += THREADS) {
    set_element(out, blockIdx.x * n + j, expf(number(row[j]) - largest) / sum);
  }
}

template <typename T, int THREADS>
__global__ void __launch_bounds__(THREADS)
    rms_norm_naive(const T* __restrict__ in, T* __restrict__ out, const T* __restrict__ weight,
                   long long n) {
  using namespace normalize_detail;
  __shared__ float values[THREADS];
  const T* const row = in + blockIdx.x * n;
  float sum = 0.0f;
  for (long long j = threadIdx.x; j < n; j += THREADS) sum += number(row[j]) * number(row[j]);
  sum = reduced_in_block<THREADS>(values, sum, Sum());
  const float root = sqrtf(sum / static_cast<float>(n) + kNaiveEpsilon);
  for (long long j = threadIdx.x; j < n; j += THREADS) {
    set_element(out, blockIdx.x * n + j, number(row[j]) / root * number(weight[j]));
  }
}

template <typename T, int THREADS>
__global__ void __launch_bounds__(THREADS)
    layer_norm_naive(const T* __restrict__ in, T* __restrict__ out, const T* __restrict__ weight,
                     const T* __restrict__ bias, long long n) {
  using namespace normalize_detail;
  __shared__ float values[THREADS];
  const T* const row = in + blockIdx.x * n;
  float sum = 0.0f;
  for (long long j = threadIdx.x; j < n; j += THREADS) sum += number(row[j]);
  const float mean = reduced_in_block<THREADS>(values, sum, Sum()) / static_cast<float>(n);
  float squares = 0.0f;
  for (long long j = threadIdx.x; j < n; j += THREADS) {
    const float distance = number(row[j]) - mean;
    squares += distance * distance;
  }
  squares = reduced_in_block<THREADS>(values, squares, Sum());
  const float root = sqrtf(squares / static_cast<float>(n) + kNaiveEpsilon);
  for (long long j = threadIdx.x; j < n; j += THREADS) {
    const float scaled = (number(row[j]) - mean) / root;
    set_element(out, blockIdx.x * n + j, scaled * number(weight[j]) + number(bias[j]));
  }
}
