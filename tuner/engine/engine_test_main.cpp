// The tests' executable is its own worker, as smemtune is.

#include "tuner/backend/fake/fake_compiler.h"
#include "tuner/backend/fake/fake_launcher.h"
#include "tuner/backend/fake/script.h"
#include "tuner/core/error.h"
#include "tuner/engine/compile_worker.h"
#include "tuner/engine/device_worker.h"
#include "tuner/engine/engine_test_kit.h"
#include "tuner/engine/worker_channel.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

namespace smemtune::test {

namespace {

/// `argument`: of a device worker, the number of its unit, `broken` or `late` (it greets when
/// FakeFolder::let_happen() is called).
int run_worker(const std::string& word, const std::string& argument,
               const WorkerDescriptors& descriptors) {
  if (word == kCompileWord) {
    return compile_worker_main(
        [&] { return std::make_unique<fake::FakeCompiler>(descriptors.out); }, descriptors.in,
        descriptors.out);
  }
  return device_worker_main(
      [&] {
        if (argument == "broken") throw UnavailableError("the fake driver is missing");
        if (argument == "late") fake::commit("wait", descriptors.out);
        const int unit = argument.empty() || argument == "late" ? 0 : std::stoi(argument);
        return std::make_unique<fake::FakeLauncher>(1, descriptors.out, unit);
      },
      descriptors.in, descriptors.out);
}

/// Tunes something that hangs, after writing down the workers' process ids in `folder`.
int run_parent(const std::string& folder) {
  FakeSpace fake;
  fake.add("tiled", "fault hang in run");
  FakeRun run(fake);
  run.pool = std::make_shared<WorkerPool>(run.workers);
  run.observer.progress = [&](const Progress& progress) {
    if (progress.phase != "search" || progress.waiting_for == "compiler") return;
    std::ofstream file(folder + "/ids.new");
    for (const int id : run.pool->process_ids()) file << id << "\n";
    file.close();
    std::filesystem::rename(folder + "/ids.new", folder + "/ids");
  };
  run.run();
  return 0;
}

}  // namespace

}  // namespace smemtune::test

int main(int argc, char** argv) {
  using namespace smemtune;
  const std::string word = argc > 1 ? argv[1] : "";
  if (const auto descriptors = worker_descriptors()) {
    return test::run_worker(word, argc > 2 ? argv[2] : "", *descriptors);
  }
  if (word == test::kParentWord && argc > 2) return test::run_parent(argv[2]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
