/* A tuned transpose with nothing but the CUDA driver: no NVRTC, no smemtune when it runs.
 *
 *   smemtune export --source own,shared --space transpose --format cubins -o transpose.h
 *   cc -I. -I/usr/local/cuda/include launch.c -lcuda
 *
 * Without a GPU it says what it would launch on an H100. */

#include "transpose.h"

#include <stdio.h>
#include <stdlib.h>

#define SIZE 4096
static const char kProblem[] = "M=4096,N=4096,T=float";

static void check(CUresult status, const char* what) {
  const char* words = "unknown error";
  if (status == CUDA_SUCCESS) return;
  (void)cuGetErrorString(status, &words);
  fprintf(stderr, "%s: %s\n", what, words);
  exit(1);
}

static void show(const transpose_kernel* kernel) {
  if (kernel == NULL) {
    fprintf(stderr, "no kernel for %s\n", kProblem);
    exit(1);
  }
  printf("%s %s: %u x %u blocks of %u threads\n", kernel->name, kernel->configuration,
         kernel->launches[0].grid[0], kernel->launches[0].grid[1], kernel->launches[0].block[0]);
}

static int is_transposed(const float* in, const float* out) {
  size_t row, column;
  for (row = 0; row < SIZE; ++row) {
    for (column = 0; column < SIZE; ++column) {
      if (out[column * SIZE + row] != in[row * SIZE + column]) return 0;
    }
  }
  return 1;
}

static void run(const transpose_kernel* kernel) {
  const size_t bytes = sizeof(float) * SIZE * SIZE;
  float* in = malloc(bytes);
  float* out = malloc(bytes);
  CUdeviceptr d_in, d_out;
  transpose_loaded loaded;
  const void* values[5] = {NULL}; /* The scalars are those of the problem. */
  size_t i;
  if (in == NULL || out == NULL) exit(1);
  for (i = 0; i < (size_t)SIZE * SIZE; ++i) in[i] = (float)i;
  check(transpose_load(kernel, &loaded), "loading");
  check(cuMemAlloc(&d_in, bytes), "cuMemAlloc");
  check(cuMemAlloc(&d_out, bytes), "cuMemAlloc");
  check(cuMemcpyHtoD(d_in, in, bytes), "cuMemcpyHtoD");
  values[0] = &d_in;
  values[1] = &d_out;
  check(transpose_launch(&loaded, values, NULL), "launching");
  check(cuMemcpyDtoH(out, d_out, bytes), "cuMemcpyDtoH");
  printf("%s\n", is_transposed(in, out) ? "right" : "wrong");
  check(cuMemFree(d_in), "cuMemFree");
  check(cuMemFree(d_out), "cuMemFree");
  check(transpose_unload(&loaded), "unloading");
  free(in);
  free(out);
}

int main(void) {
  const transpose_kernel* kernel;
  CUdevice device;
  CUcontext context;
  char name[256];
  int major, minor;
  if (cuInit(0) != CUDA_SUCCESS) {
    printf("no GPU\n");
    show(transpose_find("NVIDIA H100 80GB HBM3", 90, kProblem));
    return 0;
  }
  check(cuDeviceGet(&device, 0), "cuDeviceGet");
  check(cuDeviceGetName(name, sizeof name, device), "cuDeviceGetName");
  check(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device), name);
  check(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device), name);
  kernel = transpose_find(name, 10 * major + minor, kProblem);
  show(kernel);
  check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  run(kernel);
  check(cuDevicePrimaryCtxRelease(device), "cuDevicePrimaryCtxRelease");
  return 0;
}
