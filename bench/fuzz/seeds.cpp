// fuzz_seeds FOLDER: writes the seeds that are not files of the repository: a database, frames, a
// cached module, a .npy file. There is a folder for each target.

#include "db/result_store.h"
#include "fuzz_folder.h"
#include "tuner/core/device.h"
#include "tuner/engine/messages.h"
#include "tuner/engine/wire.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace smemtune {
namespace {

namespace fs = std::filesystem;

std::vector<std::uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

void write_seed(const fs::path& folder, const char* name, std::span<const std::uint8_t> bytes) {
  fs::create_directories(folder);
  write_bytes(folder / name, bytes);
}

void write_database(const fs::path& folder) {
  const FuzzFolder work;
  const fs::path file = work / "results.sqlite";
  {
    db::ResultStore store(file);
    Run run;
    run.id = "run-1";
    run.space = "gemm";
    run.space_json = "{}";
    run.device = h200_limits();
    run.device.uuid = "GPU-1";
    const auto log = store.begin_run(run);
    for (const std::int64_t tile : {16, 32}) {
      Result result;
      result.kernel = "tiled";
      result.problem = {{"N", std::int64_t{4096}}, {"T", "float"}};
      result.configuration = {{"TILE", tile}};
      result.stage = Stage::final;
      result.measurement = summarize(std::vector<double>{1.5, 1.25, 1.75});
      log->record("hash", result);
    }
    store.end_run("run-1", "complete");
  }
  std::ifstream stream(file, std::ios::binary);
  std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(stream), {}};
  bytes.insert(bytes.end(), {0, 0});  // There is no journal.
  write_seed(folder, "results", bytes);
}

void write_frames(const fs::path& folder) {
  const auto frame = [&](const char* name, MessageType type, std::vector<std::uint8_t> payload) {
    write_seed(folder, (std::string(name) + ".payload").c_str(), payload);
    write_seed(folder, name, encode({.type = type, .sequence = 1, .payload = std::move(payload)}));
  };
  frame("hello", MessageType::hello, pack(h200_limits()));
  frame("broken", MessageType::broken, pack(Broken{"no device", false}));
  frame("phase", MessageType::phase, pack(Phase{"load", 1}));
  CompileRequest request;
  request.architecture = "sm_90";
  request.source.files.push_back({"a.cu", "__global__ void a() {}"});
  request.name_expressions = {"a"};
  frame("compile", MessageType::compile, pack(CompileBatch{request}));
  EvaluateReply reply;
  reply.time.samples_ms = {1.5, 1.25};
  frame("evaluated", MessageType::evaluated, pack(reply));
  frame("sampled", MessageType::sampled, pack(SampleRoundReply{RoundSample{.time_ms = 1}}));
}

void write_cache(const fs::path& folder) {
  CompiledKernel kernel;
  kernel.entries.push_back({.name_expression = "a<1>", .lowered_name = "_Z1a"});
  kernel.image = {1, 2, 3};
  kernel.log = "a warning";
  write_seed(folder, "module", pack(kernel));
}

void write_npy(const fs::path& folder) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  header.resize(117, ' ');
  header += '\n';
  const std::string magic("\x93NUMPY\x01\x00\x76\x00", 10);
  write_seed(folder, "floats.npy", bytes_of(magic + header + std::string(24, '\0')));
}

/// Writes seeds of files of other tuners, and of lists in Python's syntax.
void write_imports(const fs::path& folder) {
  write_seed(folder / "import", "cache.json", bytes_of(R"({"device_name": "GPU A",
"kernel_name": "scale", "problem_size": [4096, 512], "tune_params_keys": ["BLOCK", "TYPE"],
"tune_params": {"BLOCK": [32, 64], "TYPE": ["float"]}, "objective": "time", "cache": {
"32,float": {"BLOCK": 32, "TYPE": "float", "time": 1.5, "times": [1, 2], "compile_time": 9,
"timestamp": "2023-12-22 09:54:05.502007+00:00"},
"64,float": {"BLOCK": 64, "TYPE": "float", "__error__": "RuntimeFailedConfig"}
}
})"));
  write_seed(folder / "import", "t4.json", bytes_of(R"({"metadata": {"timeunit": "microseconds"},
"results": [{"configuration": {"BLOCK": 64}, "invalidity": "correct", "correctness": 1,
"times": {"compilation": 5, "runtimes": [3, 5]}, "measurements": [{"name": "time", "value": 4}]},
{"configuration": {"BLOCK": 32}, "invalidity": "timeout", "times": {}}]})"));
  for (const char* list :
       {"[1, 'a']", "list(range(1, 9, 3))", "[2**i for i in range(6) if i > 2]"}) {
    write_seed(folder / "t1", std::to_string(std::string(list).size()).c_str(), bytes_of(list));
  }
}

}  // namespace
}  // namespace smemtune

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: fuzz_seeds FOLDER\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  smemtune::write_database(folder / "database");
  smemtune::write_frames(folder / "frame");
  smemtune::write_cache(folder / "cache");
  smemtune::write_npy(folder / "npy");
  smemtune::write_imports(folder);
  return 0;
}
