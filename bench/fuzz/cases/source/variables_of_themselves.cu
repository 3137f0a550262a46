__global__ void k(float* out, int n) { out[threadIdx.x] = n; }
int main() {
  int n = 4;
  dim3 threads(threads.x * threads.x * threads.x * threads.x * n, 1);
  int side = side * side * side * side * side * side + n;
  k<<<1, side>>>(out, n);
  k<<<1, threads>>>(out, n);
}
