// libsmemtune in a program of one's own: select what is best for this GPU, compile and launch it.
//
//   scale RESULTS SPACE                     on the first GPU
//   scale RESULTS SPACE --print DEVICE CC   only say what would be launched there; needs no GPU
//
// RESULTS is a database or what `smemtune export` wrote as JSON, SPACE is examples/scale.json.

#include <smemtune/smemtune.h>

#ifdef WITH_CUDA
#include <cuda_runtime.h>
#endif

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

namespace {

constexpr int kElements = 1 << 24;
const smemtune::Problem kProblem = {{"N", kElements}, {"T", "float"}};

void print(const smemtune::Selection& best, const smemtune::KernelPlan& plan) {
  std::printf("%s\n", best.text().c_str());
  for (const smemtune::KernelLaunch& launch : plan.launches) {
    std::printf("  %s<<<%lld, %lld>>>\n", launch.entry.c_str(),
                static_cast<long long>(launch.grid[0]), static_cast<long long>(launch.block[0]));
  }
  if (plan.edited) std::printf("  the kernel has been edited since it was measured\n");
}

#ifdef WITH_CUDA
void check(cudaError_t code) {
  if (code != cudaSuccess) throw std::runtime_error(cudaGetErrorString(code));
}

int launch(const smemtune::Results& results, const std::string& space) {
  const smemtune::Gpu gpu = smemtune::gpus().front();
  const smemtune::Selection best = results.select(gpu.target(), "scale", kProblem);
  const smemtune::TunedKernel kernel(space, best, gpu);
  print(best, kernel.plan());

  std::vector<float> host(kElements, 2.0f);
  const std::size_t bytes = host.size() * sizeof(float);
  float* in = nullptr;
  float* out = nullptr;
  check(cudaMalloc(&in, bytes));
  check(cudaMalloc(&out, bytes));
  check(cudaMemcpy(in, host.data(), bytes, cudaMemcpyHostToDevice));
  kernel.launch({{"in", in}, {"out", out}, {"factor", 3.0f}});
  check(cudaMemcpy(host.data(), out, bytes, cudaMemcpyDeviceToHost));
  check(cudaFree(in));
  check(cudaFree(out));
  for (const float value : host) {
    if (value != 6.0f) return 1;
  }
  std::printf("right\n");
  return 0;
}
#else
int launch(const smemtune::Results&, const std::string&) {
  std::fprintf(stderr, "built without CUDA: only --print works\n");
  return 1;
}
#endif

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    if (words.size() == 2) return launch(smemtune::Results(words[0]), words[1]);
    if (words.size() == 5 && words[2] == "--print") {
      const smemtune::Target target = {words[3], std::atoi(words[4].c_str())};
      const smemtune::Selection best =
          smemtune::Results(words[0]).select(target, "scale", kProblem);
      print(best, smemtune::plan_kernel(words[1], best, target));
      return 0;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  std::fprintf(stderr, "scale RESULTS SPACE [--print DEVICE COMPUTE_CAPABILITY]\n");
  return 2;
}
