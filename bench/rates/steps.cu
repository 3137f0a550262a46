// S explicit steps of the heat equation in shared memory, for an n x n grid with sources p; the tile of a block has a
// border of S points, which shrinks by one with each step.
template <int BX, int BY, int TX, int TY, int S>
__global__ void __launch_bounds__(BX* BY) steps(const float* t, const float* p, float* out, int n) {
  constexpr int W = BX * TX + 2 * S, H = BY * TY + 2 * S;
  __shared__ float a[2][H][W];
  __shared__ float q[H][W];
  const int x0 = blockIdx.x * BX * TX - S, y0 = blockIdx.y * BY * TY - S;
  for (int y = threadIdx.y; y < H; y += BY)
    for (int x = threadIdx.x; x < W; x += BX) {
      const int gx = min(max(x0 + x, 0), n - 1), gy = min(max(y0 + y, 0), n - 1);
      a[0][y][x] = t[(long long)gy * n + gx];
      q[y][x] = p[(long long)gy * n + gx];
    }
  __syncthreads();
  for (int s = 0; s < S; ++s) {
    for (int y = threadIdx.y + 1 + s; y < H - 1 - s; y += BY)
      for (int x = threadIdx.x + 1 + s; x < W - 1 - s; x += BX) {
        const int gx = x0 + x, gy = y0 + y;
        const int l = gx <= 0 ? x : x - 1, r = gx >= n - 1 ? x : x + 1, u = gy <= 0 ? y : y - 1,
                  d = gy >= n - 1 ? y : y + 1;
        const float c = a[s & 1][y][x];
        a[(s + 1) & 1][y][x] =
            c +
            0.1f * (a[s & 1][u][x] + a[s & 1][d][x] + a[s & 1][y][l] + a[s & 1][y][r] - 4.0f * c) +
            0.01f * q[y][x];
      }
    __syncthreads();
  }
  for (int y = threadIdx.y; y < BY * TY; y += BY)
    for (int x = threadIdx.x; x < BX * TX; x += BX) {
      const int gx = x0 + S + x, gy = y0 + S + y;
      if (gx < n && gy < n) out[(long long)gy * n + gx] = a[S & 1][y + S][x + S];
    }
}
