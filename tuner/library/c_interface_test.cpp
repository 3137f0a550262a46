#include "smemtune/smemtune_c.h"
#include "tuner/core/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace smemtune {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kProblem = "N=4096,T=float";
constexpr smemtune_target kH200 = {"NVIDIA H200", 90, -1};

constexpr const char* kBest = R"({"format": "smemtune-best", "version": 1, "best": [
  {"space": "scale", "kernel": "scale", "problem": {"N": 2048, "T": "float"},
   "device": {"kind": "gpu", "name": "NVIDIA H200", "compute_capability": "9.0"},
   "parameters": {"THREADS": 128, "ITEMS": 2}, "time": {"median_ms": 0.5},
   "compared_with": "definition", "provenance": {"kernel_hash": "abc", "stale": true}}]})";

/// Objects of the C interface, released when a test ends.
class CInterface : public testing::Test {
 protected:
  CInterface() {
    std::ofstream(file_) << kBest;
    setenv("SMEMTUNE_CACHE", (folder_.path() / "cache").c_str(), 1);
    const char* const files[] = {file_.c_str()};
    EXPECT_EQ(smemtune_open_results(files, 1, &results_), SMEMTUNE_OK) << smemtune_error();
    EXPECT_EQ(smemtune_open_space(SMEMTUNE_SOURCE_DIR "/examples/scale.json", SMEMTUNE_SOURCE_DIR,
                                  &space_),
              SMEMTUNE_OK)
        << smemtune_error();
  }
  ~CInterface() override {
    smemtune_free_plan(plan_);
    smemtune_free_selection(selection_);
    smemtune_close_space(space_);
    smemtune_close_results(results_);
  }
  CInterface(const CInterface&) = delete;
  CInterface& operator=(const CInterface&) = delete;

  smemtune_status select(const smemtune_target& target, const char* problem = kProblem,
                         const char* kernel = nullptr) {
    smemtune_free_selection(selection_);
    selection_ = nullptr;
    return smemtune_select(results_, space_, problem, kernel, &target, &selection_);
  }

  smemtune_status plan(const smemtune_target& target = kH200) {
    smemtune_free_plan(plan_);
    plan_ = nullptr;
    return smemtune_plan_selection(space_, selection_, &target, &plan_);
  }

  TemporaryFolder folder_;
  fs::path file_ = folder_.path() / "best.json";
  smemtune_results* results_ = nullptr;
  smemtune_space* space_ = nullptr;
  const smemtune_selection* selection_ = nullptr;
  const smemtune_plan* plan_ = nullptr;
};

TEST_F(CInterface, SelectsAndSaysWhy) {
  ASSERT_EQ(select(kH200), SMEMTUNE_OK) << smemtune_error();
  EXPECT_EQ(selection_->match, SMEMTUNE_NEAREST_PROBLEM);
  EXPECT_EQ(selection_->size_ratio, 2);
  EXPECT_STREQ(selection_->space, "scale");
  EXPECT_STREQ(selection_->kernel, "scale");
  EXPECT_STREQ(selection_->configuration, "ITEMS=2,THREADS=128");
  EXPECT_STREQ(selection_->problem, kProblem);
  EXPECT_STREQ(selection_->measured_problem, "N=2048,T=float");
  EXPECT_STREQ(selection_->measured_device, "NVIDIA H200");
  EXPECT_STREQ(selection_->compared_with, "definition");
  EXPECT_STREQ(selection_->kernel_hash, "abc");
  EXPECT_STREQ(selection_->shared_from, "");
  EXPECT_EQ(selection_->time_ms, 0.5);
  EXPECT_EQ(selection_->stale, 1);
  EXPECT_THAT(selection_->text, HasSubstr("nearest problem: N=2048,T=float"));
}

TEST_F(CInterface, FallsBackToTheSpacesDefaults) {
  ASSERT_EQ(select({"NVIDIA A100", 80, -1}), SMEMTUNE_OK) << smemtune_error();
  EXPECT_EQ(selection_->match, SMEMTUNE_DEFAULTS);
  EXPECT_STREQ(selection_->configuration, "ITEMS=1,THREADS=256");
  EXPECT_STREQ(selection_->measured_problem, "");
}

TEST_F(CInterface, PlansWhatALaunchAsksOfTheDriver) {
  const fs::path examples = fs::path(SMEMTUNE_SOURCE_DIR) / "examples";
  std::ifstream file(examples / "scale.json");
  std::string text(std::istreambuf_iterator<char>(file), {});
  const std::string block = R"("block": ["THREADS"],)";
  text.insert(text.find(block), R"("shared_carveout": "THREADS / 4", "programmatic": 1, )");
  std::ofstream(folder_.path() / "scale.json") << text;
  fs::copy(examples / "scale.cu", folder_.path());
  smemtune_close_space(space_);
  ASSERT_EQ(
      smemtune_open_space((folder_.path() / "scale.json").c_str(), SMEMTUNE_SOURCE_DIR, &space_),
      SMEMTUNE_OK)
      << smemtune_error();
  ASSERT_EQ(select(kH200), SMEMTUNE_OK) << smemtune_error();
  ASSERT_EQ(plan(), SMEMTUNE_OK) << smemtune_error();
  EXPECT_EQ(plan_->launches[0].shared_carveout, 32);
  EXPECT_EQ(plan_->launches[0].programmatic, 1);
}

TEST_F(CInterface, NamesLaterFilesThatItSelectsFrom) {
  const fs::path folder = folder_.path() / "shared";
  fs::create_directory(folder);
  fs::copy(file_, folder / "team.json");
  std::ofstream(file_) << R"({"format": "smemtune-best", "version": 1, "best": []})";
  const std::string shared = folder.string();
  const char* const files[] = {file_.c_str(), shared.c_str()};
  smemtune_close_results(results_);
  ASSERT_EQ(smemtune_open_results(files, 2, &results_), SMEMTUNE_OK) << smemtune_error();
  ASSERT_EQ(select(kH200), SMEMTUNE_OK) << smemtune_error();
  EXPECT_EQ(selection_->shared_from, shared + "/team.json");
}

TEST_F(CInterface, PlansLaunchesAndArguments) {
  ASSERT_EQ(select(kH200), SMEMTUNE_OK) << smemtune_error();
  ASSERT_EQ(plan(), SMEMTUNE_OK) << smemtune_error();
  ASSERT_EQ(plan_->launch_count, 1u);
  const smemtune_launch_shape& launch = plan_->launches[0];
  EXPECT_STREQ(launch.entry, "scale<float, 128, 2>");
  EXPECT_EQ(launch.grid[0], 16);
  EXPECT_EQ(launch.block[0], 128);
  EXPECT_EQ(launch.cluster[0], 1);
  EXPECT_EQ(launch.dynamic_shared_bytes, 0);
  EXPECT_EQ(launch.cooperative, 0);
  EXPECT_EQ(launch.shared_carveout, -1);
  EXPECT_EQ(launch.programmatic, 0);
  EXPECT_EQ(plan_->edited, 1) << "its hash is not that of the source";
  ASSERT_EQ(launch.argument_count, 4u);
  ASSERT_EQ(plan_->argument_count, 4u);
  const smemtune_argument& in = plan_->arguments[launch.arguments[0].index];
  EXPECT_STREQ(in.name, "in");
  EXPECT_STREQ(in.type, "float");
  EXPECT_EQ(in.role, SMEMTUNE_INPUT_BUFFER);
  EXPECT_EQ(in.memory, SMEMTUNE_GLOBAL);
  ASSERT_EQ(in.dimensions, 1u);
  EXPECT_EQ(in.shape[0], 4096);
  EXPECT_EQ(in.bytes, 16384);
  EXPECT_EQ(in.value, nullptr);
  EXPECT_EQ(plan_->arguments[launch.arguments[1].index].role, SMEMTUNE_OUTPUT);
  const smemtune_argument& factor = plan_->arguments[launch.arguments[2].index];
  EXPECT_EQ(factor.role, SMEMTUNE_SCALAR);
  ASSERT_EQ(factor.bytes, 4);
  float value = 0;
  std::memcpy(&value, factor.value, sizeof value);
  EXPECT_EQ(value, 2.5f);
}

TEST_F(CInterface, PlansWhatTheCallerNames) {
  ASSERT_EQ(smemtune_select_given(space_, kProblem, nullptr, "THREADS=64", &selection_),
            SMEMTUNE_OK)
      << smemtune_error();
  EXPECT_EQ(selection_->match, SMEMTUNE_GIVEN);
  EXPECT_STREQ(selection_->text, "scale ITEMS=1,THREADS=64 (given by the caller)");
  ASSERT_EQ(plan(), SMEMTUNE_OK) << smemtune_error();
  EXPECT_STREQ(plan_->launches[0].entry, "scale<float, 64, 1>");
  EXPECT_EQ(plan_->edited, 0);
}

TEST_F(CInterface, ObjectsOutliveWhatTheyWereMadeFrom) {
  ASSERT_EQ(select(kH200), SMEMTUNE_OK) << smemtune_error();
  ASSERT_EQ(plan(), SMEMTUNE_OK) << smemtune_error();
  smemtune_free_selection(selection_);
  smemtune_close_space(space_);
  smemtune_close_results(results_);
  selection_ = nullptr;
  space_ = nullptr;
  results_ = nullptr;
  EXPECT_STREQ(plan_->launches[0].entry, "scale<float, 128, 2>");
  EXPECT_STREQ(plan_->arguments[0].name, "in");
}

TEST_F(CInterface, SaysWhatIsWrong) {
  smemtune_results* none = nullptr;
  const std::string missing = (folder_.path() / "missing.json").string();
  const char* const files[] = {missing.c_str()};
  EXPECT_NE(smemtune_open_results(files, 1, &none), SMEMTUNE_OK);
  EXPECT_THAT(smemtune_error(), HasSubstr("missing.json"));
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(smemtune_open_results(nullptr, 1, &none), SMEMTUNE_INPUT);
  EXPECT_STREQ(smemtune_error(), "files is NULL");
  EXPECT_EQ(select(kH200, "N=1"), SMEMTUNE_INPUT);
  EXPECT_THAT(smemtune_error(), HasSubstr("lacks 'T'"));
  EXPECT_EQ(select(kH200, "N=1,T=float,M=2"), SMEMTUNE_INPUT);
  EXPECT_THAT(smemtune_error(), HasSubstr("has no 'M'"));
  EXPECT_EQ(select(kH200, kProblem, "shared"), SMEMTUNE_INPUT);
  EXPECT_THAT(smemtune_error(), HasSubstr("has no kernel shared; its kernels are scale"));
  const smemtune_selection* given = nullptr;
  EXPECT_EQ(smemtune_select_given(space_, kProblem, nullptr, "TILE=4", &given), SMEMTUNE_INPUT);
  EXPECT_THAT(smemtune_error(), HasSubstr("TILE"));
  ASSERT_EQ(smemtune_select_given(space_, kProblem, nullptr, "ITEMS=8,THREADS=512", &selection_),
            SMEMTUNE_OK);
  EXPECT_EQ(plan(), SMEMTUNE_INPUT);
  EXPECT_THAT(smemtune_error(), HasSubstr("cannot run on N=4096,T=float"));
  EXPECT_EQ(plan_, nullptr);
}

TEST_F(CInterface, KeepsAMessageForEachThread) {
  ASSERT_EQ(select(kH200, "N=1"), SMEMTUNE_INPUT);
  std::thread([this] {
    EXPECT_STREQ(smemtune_error(), "");
    const smemtune_selection* selected = nullptr;
    EXPECT_EQ(smemtune_select(results_, space_, kProblem, "x", &kH200, &selected), SMEMTUNE_INPUT);
    EXPECT_THAT(smemtune_error(), HasSubstr("no kernel x"));
  }).join();
  EXPECT_THAT(smemtune_error(), HasSubstr("lacks 'T'"));
}

TEST_F(CInterface, ThreadsShareItsObjects) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([this, thread] {
      const std::string problem = "N=" + std::to_string(2048 << thread) + ",T=float";
      const smemtune_selection* selected = nullptr;
      const smemtune_plan* planned = nullptr;
      ASSERT_EQ(smemtune_select(results_, space_, problem.c_str(), nullptr, &kH200, &selected),
                SMEMTUNE_OK);
      ASSERT_EQ(smemtune_plan_selection(space_, selected, &kH200, &planned), SMEMTUNE_OK);
      EXPECT_EQ(planned->launches[0].grid[0], 8 << thread);
      smemtune_free_plan(planned);
      smemtune_free_selection(selected);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(CInterface, CompilesCubinsAndPtx) {
  ASSERT_EQ(select(kH200), SMEMTUNE_OK) << smemtune_error();
  ASSERT_EQ(plan(), SMEMTUNE_OK) << smemtune_error();
  const smemtune_module* module = nullptr;
  const smemtune_status status = smemtune_compile(plan_, nullptr, nullptr, &module);
  if (!SMEMTUNE_CUDA_BUILD || status == SMEMTUNE_UNAVAILABLE) {
    EXPECT_EQ(status, SMEMTUNE_UNAVAILABLE);
    GTEST_SKIP() << smemtune_error();
  }
  ASSERT_EQ(status, SMEMTUNE_OK) << smemtune_error();
  ASSERT_EQ(module->entry_count, 1u);
  EXPECT_THAT(module->entries[0], HasSubstr("scale"));
  EXPECT_EQ(module->symbol_count, 4u);
  EXPECT_STREQ(module->symbols[0], "");
  ASSERT_GT(module->image_bytes, 4u);
  EXPECT_EQ(std::memcmp(module->image, "\177ELF", 4), 0);
  smemtune_free_module(module);
  ASSERT_EQ(smemtune_compile(plan_, "compute_90", nullptr, &module), SMEMTUNE_OK)
      << smemtune_error();
  const std::string ptx = static_cast<const char*>(module->image);
  EXPECT_EQ(ptx.size() + 1, module->image_bytes);
  EXPECT_THAT(ptx, HasSubstr(".target sm_90"));
  EXPECT_THAT(ptx, HasSubstr(module->entries[0]));
  smemtune_free_module(module);
  module = nullptr;
  EXPECT_NE(smemtune_compile(plan_, "sm_1", nullptr, &module), SMEMTUNE_OK);
  EXPECT_STRNE(smemtune_error(), "");
  EXPECT_EQ(smemtune_compile(plan_, nullptr, "/nowhere", &module), SMEMTUNE_INPUT);
  EXPECT_THAT(smemtune_error(), HasSubstr("/nowhere"));
  EXPECT_EQ(module, nullptr);
}

TEST(CInterfaceOnItsOwn, PlansForAModelThatIsNotHereByItsPublishedLimits) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "blocks.json").string();
  std::ofstream(folder.path() / "blocks.cu") << "__global__ void blocks(int* out) { *out = 1; }\n";
  std::ofstream(file) << R"({"name": "blocks", "problems": [{"N": 1}],
      "arguments": [{"name": "out", "type": "int", "shape": [1], "role": "output"}],
      "verify": {"reference": "blocks"},
      "kernels": [{"name": "blocks", "source": "blocks.cu", "entry": "blocks", "pass": "define",
                   "parameters": {"THREADS": [32]}, "block": ["THREADS"], "grid": ["sm_count"]}]})";
  smemtune_space* space = nullptr;
  ASSERT_EQ(smemtune_open_space(file.c_str(), SMEMTUNE_SOURCE_DIR, &space), SMEMTUNE_OK)
      << smemtune_error();
  const smemtune_selection* selection = nullptr;
  ASSERT_EQ(smemtune_select_given(space, "N=1", nullptr, "", &selection), SMEMTUNE_OK)
      << smemtune_error();
  const auto blocks = [&](const char* device, int capability) {
    const smemtune_target target = {device, capability, -1};
    const smemtune_plan* plan = nullptr;
    EXPECT_EQ(smemtune_plan_selection(space, selection, &target, &plan), SMEMTUNE_OK)
        << smemtune_error();
    const std::int64_t grid = plan == nullptr ? 0 : plan->launches[0].grid[0];
    smemtune_free_plan(plan);
    return grid;
  };
  EXPECT_EQ(blocks("NVIDIA H200", 90), 132);
  EXPECT_EQ(blocks("NVIDIA H200", 80), 1);
  EXPECT_EQ(blocks("a GPU of tomorrow", 90), 1);
  smemtune_free_selection(selection);
  smemtune_close_space(space);
}

TEST_F(CInterface, LoadsOnlyForAGpuThatIsHere) {
  ASSERT_EQ(select(kH200), SMEMTUNE_OK) << smemtune_error();
  ASSERT_EQ(plan(), SMEMTUNE_OK) << smemtune_error();
  smemtune_kernel* kernel = nullptr;
  EXPECT_EQ(smemtune_load(plan_, nullptr, &kernel),
            SMEMTUNE_CUDA_BUILD ? SMEMTUNE_INPUT : SMEMTUNE_UNAVAILABLE);
  EXPECT_EQ(kernel, nullptr);
  smemtune_target target = {"kept", 0, 0};
  EXPECT_EQ(smemtune_find_gpu(1000, &target), SMEMTUNE_UNAVAILABLE);
  EXPECT_STREQ(target.device, "kept");
}

TEST(CInterfaceOnItsOwn, ReleasesNothingGladly) {
  smemtune_close_results(nullptr);
  smemtune_close_space(nullptr);
  smemtune_free_selection(nullptr);
  smemtune_free_plan(nullptr);
  smemtune_free_module(nullptr);
  smemtune_unload(nullptr);
  EXPECT_EQ(smemtune_c_version(), SMEMTUNE_C_VERSION);
  EXPECT_THAT(smemtune_version(), testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

TEST(CInterfaceOnItsOwn, ExportsNothingElse) {
  FILE* const symbols = popen("nm -D --defined-only " SMEMTUNE_C_LIBRARY, "r");
  ASSERT_NE(symbols, nullptr);
  char line[4096];
  int exported = 0;
  while (std::fgets(line, sizeof line, symbols) != nullptr) {
    const std::string text = line;
    const std::string name = text.substr(text.rfind(' ') + 1);
    if (name.starts_with("SMEMTUNE_1")) continue;  // The version itself.
    EXPECT_TRUE(name.starts_with("smemtune_")) << name;
    ++exported;
  }
  EXPECT_EQ(pclose(symbols), 0);
  std::ifstream header(SMEMTUNE_SOURCE_DIR "/tuner/library/include/smemtune/smemtune_c.h");
  int declared = 0;
  for (std::string words; std::getline(header, words);) {
    if (words.starts_with("SMEMTUNE_API ")) ++declared;
  }
  EXPECT_EQ(exported, declared);
}

}  // namespace
}  // namespace smemtune
