__global__ void k(
#if SIDES == 1
    float* out
#else
    int* out
#endif
) {
  out[0] = 1;
}
