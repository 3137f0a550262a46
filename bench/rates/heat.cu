// One explicit step of the heat equation on n x n points with sources p: bound by memory.
template <int BX, int BY, int TX, int TY>
__global__ void __launch_bounds__(BX* BY) heat(const float* t, const float* p, float* out, int n) {
  __shared__ float tile[BY * TY + 2][BX * TX + 2];
  const int x0 = blockIdx.x * BX * TX - 1, y0 = blockIdx.y * BY * TY - 1;
  for (int y = threadIdx.y; y < BY * TY + 2; y += BY)
    for (int x = threadIdx.x; x < BX * TX + 2; x += BX) {
      const int gx = min(max(x0 + x, 0), n - 1), gy = min(max(y0 + y, 0), n - 1);
      tile[y][x] = t[(long long)gy * n + gx];
    }
  __syncthreads();
  for (int j = 0; j < TY; ++j)
    for (int i = 0; i < TX; ++i) {
      const int x = threadIdx.x + i * BX, y = threadIdx.y + j * BY;
      const int gx = x0 + 1 + x, gy = y0 + 1 + y;
      if (gx >= n || gy >= n) continue;
      const float c = tile[y + 1][x + 1];
      out[(long long)gy * n + gx] = c +
                                    0.1f * (tile[y][x + 1] + tile[y + 2][x + 1] + tile[y + 1][x] +
                                            tile[y + 1][x + 2] - 4.0f * c) +
                                    0.01f * p[(long long)gy * n + gx];
    }
}
