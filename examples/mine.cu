#include <cstdio>
#include <vector>

#define TILE 32
#define ROWS 8

__global__ void transpose(float* out, const float* in, int width, int height) {
  __shared__ float tile[TILE][TILE + 1];
  int x = blockIdx.x * TILE + threadIdx.x;
  int y = blockIdx.y * TILE + threadIdx.y;
  for (int row = 0; row < TILE; row += ROWS)
    if (x < width && y + row < height)
      tile[threadIdx.y + row][threadIdx.x] = in[(y + row) * width + x];
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x;
  y = blockIdx.x * TILE + threadIdx.y;
  for (int row = 0; row < TILE; row += ROWS)
    if (x < height && y + row < width)
      out[(y + row) * height + x] = tile[threadIdx.x][threadIdx.y + row];
}

int main() {
  const int width = 4096, height = 4096;
  std::vector<float> host(width * height, 1.0f);
  float *in, *out;
  cudaMalloc(&in, width * height * sizeof(float));
  cudaMalloc(&out, width * height * sizeof(float));
  cudaMemcpy(in, host.data(), width * height * sizeof(float), cudaMemcpyHostToDevice);
  dim3 threads(TILE, ROWS);
  dim3 blocks(width / TILE, height / TILE);
  transpose<<<blocks, threads>>>(out, in, width, height);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
