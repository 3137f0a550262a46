// The kernel of spaces that are only counted: it is never run.
template <int... VALUES>
__global__ void nothing(float* out) {
  out[threadIdx.x] = 0;
}
