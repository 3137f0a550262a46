// fuzz_seeds FOLDER: writes the seeds that no file of the repository is: a database, frames, a
// cached module, a .npy file. A folder for each target.

#include "db/result_store.h"
#include "fuzz_folder.h"
#include "tuner/core/h200.h"
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
  bytes.insert(bytes.end(), {0, 0});  // Without a journal.
  write_seed(folder, "results", bytes);
}

void write_frames(const fs::path& folder) {
  const auto frame = [&](const char* name, MessageType type, std::vector<std::uint8_t> payload) {
    write_seed(folder, (std::string(name) + ".payload").c_str(), payload);
    write_seed(folder, name, encode({.type = type, .sequence = 1, .payload = std::move(payload)}));
  };
  frame("hello", MessageType::hello, pack(DeviceHello{h200_limits()}));
  frame("broken", MessageType::broken, pack(Broken{"no device", false}));
  frame("phase", MessageType::phase, pack(Phase{"load", 1}));
  CompileRequest request;
  request.architecture = "sm_90";
  request.source.files.push_back({"a.cu", "__global__ void a() {}"});
  request.name_expressions = {"a"};
  frame("compile", MessageType::compile, pack(CompileBatch{{request}}));
  EvaluateReply reply;
  reply.time.samples_ms = {1.5, 1.25};
  frame("evaluated", MessageType::evaluated, pack(reply));
  frame("sampled", MessageType::sampled, pack(SampleRoundReply{{RoundSample{.time_ms = 1}}}));
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
  return 0;
}
