/* The C interface of libsmemtune: select what is best for this GPU, compile and launch it.
 *
 *   scale RESULTS SPACE                     on the first GPU
 *   scale RESULTS SPACE --print DEVICE CC   only say what would be launched there; needs no GPU
 *
 * RESULTS is a database or what `smemtune export` wrote as JSON, SPACE is examples/scale.json. */

#include <smemtune/smemtune_c.h>

#ifdef WITH_CUDA
#include <cuda_runtime_api.h>
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ELEMENTS (1 << 24)
static const char kProblem[] = "N=16777216,T=float";

static void print(const smemtune_selection* best, const smemtune_plan* plan) {
  size_t i;
  printf("%s\n", best->text);
  for (i = 0; i < plan->launch_count; ++i) {
    const smemtune_launch_shape* launch = &plan->launches[i];
    printf("  %s<<<%lld, %lld>>>\n", launch->entry, (long long)launch->grid[0],
           (long long)launch->block[0]);
  }
  for (i = 0; i < plan->argument_count; ++i) {
    const smemtune_argument* argument = &plan->arguments[i];
    printf("  %s: %lld bytes of %s\n", argument->name, (long long)argument->bytes, argument->type);
  }
  if (plan->edited) printf("  the kernel has been edited since it was measured\n");
}

#ifdef WITH_CUDA
/* Returns 0 if the kernel has computed what it should. */
static int launch(const smemtune_plan* plan) {
  const size_t bytes = ELEMENTS * sizeof(float);
  const float factor = 3.0f;
  smemtune_kernel* kernel = NULL;
  float* host = malloc(bytes);
  void* in = NULL;
  void* out = NULL;
  const void* values[4] = {&in, &out, &factor, NULL}; /* As the plan lists them. */
  size_t wrong = 0;
  size_t i;
  if (host == NULL || cudaMalloc(&in, bytes) != cudaSuccess ||
      cudaMalloc(&out, bytes) != cudaSuccess) {
    return 1;
  }
  for (i = 0; i < ELEMENTS; ++i) host[i] = 2.0f;
  if (smemtune_load(plan, NULL, &kernel) != SMEMTUNE_OK) return 1;
  if (cudaMemcpy(in, host, bytes, cudaMemcpyHostToDevice) != cudaSuccess) return 1;
  if (smemtune_launch(kernel, values, 4, NULL) != SMEMTUNE_OK) return 1;
  if (cudaMemcpy(host, out, bytes, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
  for (i = 0; i < ELEMENTS; ++i) wrong += host[i] != 6.0f;
  smemtune_unload(kernel);
  cudaFree(in);
  cudaFree(out);
  free(host);
  printf(wrong == 0 ? "right\n" : "wrong\n");
  return wrong != 0;
}
#else
static int launch(const smemtune_plan* plan) {
  (void)plan;
  fprintf(stderr, "built without CUDA: only --print works\n");
  return 1;
}
#endif

int main(int argc, char** argv) {
  const int prints = argc == 6 && strcmp(argv[3], "--print") == 0;
  const char* files[1];
  smemtune_results* results = NULL;
  smemtune_space* space = NULL;
  smemtune_target target = {NULL, 0, -1};
  const smemtune_selection* best = NULL;
  const smemtune_plan* plan = NULL;
  smemtune_status status = SMEMTUNE_OK;
  int failed = 0;
  if (argc != 3 && !prints) {
    fprintf(stderr, "scale RESULTS SPACE [--print DEVICE COMPUTE_CAPABILITY]\n");
    return 2;
  }
  files[0] = argv[1];
  if (prints) {
    target.device = argv[4];
    target.compute_capability = atoi(argv[5]);
  } else {
    status = smemtune_find_gpu(0, &target);
  }
  if (status == SMEMTUNE_OK) status = smemtune_open_results(files, 1, &results);
  if (status == SMEMTUNE_OK) status = smemtune_open_space(argv[2], NULL, &space);
  if (status == SMEMTUNE_OK) {
    status = smemtune_select(results, space, kProblem, NULL, &target, &best);
  }
  if (status == SMEMTUNE_OK) status = smemtune_plan_selection(space, best, &target, &plan);
  if (status == SMEMTUNE_OK) {
    print(best, plan);
    if (!prints) failed = launch(plan);
  }
  if (status != SMEMTUNE_OK || failed) fprintf(stderr, "%s\n", smemtune_error());
  smemtune_free_plan(plan);
  smemtune_free_selection(best);
  smemtune_close_space(space);
  smemtune_close_results(results);
  return status != SMEMTUNE_OK ? (int)status : failed;
}
