// A kernel whose block follows a policy for CUB's dispatch:
//
//   smemtune export --source own,shared --space transpose --kernel vectors \
//     --problem M=4096,N=4096,T=float --device H100 --format cub -o transpose_policies.h
//   nvcc -arch=sm_90 policy.cu
//
// Without a GPU it says which policy compute capability 9.0 takes.

#include "transpose_policies.h"

#include <cstdio>

using Policies = smemtune_policies::transpose::vectors;

template <typename MaxPolicy>
__global__ void __launch_bounds__(MaxPolicy::ActivePolicy::THREADS) fill(int* out, int n) {
  constexpr int kThreads = MaxPolicy::ActivePolicy::THREADS;
  for (int i = threadIdx.x; i < n; i += kThreads) out[i] = kThreads;
}

// The functor that CUB's dispatch calls with the device's policy.
struct Dispatch {
  int* out;
  int n;

  template <typename Policy>
  cudaError_t Invoke() {
    std::printf("%d threads, tiles of %d x %d\n", Policy::THREADS, Policy::ROWS, Policy::COLUMNS);
    if (out == nullptr) return cudaSuccess;
    fill<typename Policies::MaxPolicy><<<1, Policy::THREADS>>>(out, n);
    return cudaDeviceSynchronize();
  }
};

int main() {
  constexpr int kPtxVersion = 900;
  Dispatch dispatch = {nullptr, 1000};
  int devices = 0;
  const bool has_gpu = cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
  if (has_gpu && cudaMalloc(&dispatch.out, sizeof(int) * dispatch.n) != cudaSuccess) return 1;
  const cudaError_t status = Policies::MaxPolicy::Invoke(kPtxVersion, dispatch);
  if (status != cudaSuccess) {
    std::fprintf(stderr, "%s\n", cudaGetErrorString(status));
    return 1;
  }
  if (!has_gpu) {
    std::puts("no GPU");
    return 0;
  }
  int last = 0;
  if (cudaMemcpy(&last, dispatch.out + dispatch.n - 1, sizeof last, cudaMemcpyDeviceToHost) !=
          cudaSuccess ||
      cudaFree(dispatch.out) != cudaSuccess) {
    return 1;
  }
  std::printf("launched with %d threads\n", last);
}
