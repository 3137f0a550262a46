// Tests `smemtune replay` and `smemtune space` as their users see them: runs the built executable.

#include "tuner/core/in_shell_test_support.h"
#include "tuner/core/planted_recordings_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace smemtune {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

/// Runs a command; both output streams are in `out`.
Ended run(const std::string& words) {
  return in_shell("'" SMEMTUNE_EXECUTABLE "' " + words + " 2>&1");
}

class SearchCommands : public testing::Test {
 protected:
  /// Writes a Kernel Tuner cache of 64 configurations, the best of which is 8,8, and returns its
  /// path.
  std::string cache() const {
    std::string text =
        "{\n\"device_name\": \"Some GPU\",\n\"kernel_name\": \"scale\",\n\"problem_size\": 64,\n"
        "\"tune_params_keys\": [\"x\", \"y\"],\n"
        "\"tune_params\": {\"x\": [1,2,3,4,5,6,7,8], \"y\": [1,2,3,4,5,6,7,8]},\n\"cache\": {";
    for (int x = 1; x <= 8; ++x) {
      for (int y = 1; y <= 8; ++y) {
        const std::string at = std::to_string(x) + "," + std::to_string(y);
        text += (text.back() == '{' ? "\n\"" : ",\n\"") + at + "\": {\"x\": " + std::to_string(x) +
                ", \"y\": " + std::to_string(y) + ", \"time\": " + std::to_string(17 - x - y) +
                ", \"compile_time\": 1000}";
      }
    }
    const std::filesystem::path file = folder_ / "cache.json";
    std::ofstream(file) << text << "\n}\n}";
    return file.string();
  }

  TemporaryFolder own_folder_;
  std::filesystem::path folder_ = own_folder_.path();
};

TEST_F(SearchCommands, ReplaysWhatWasMeasured) {
  const Ended ended =
      run("replay --data " + cache() + " --strategy auto,random --seeds 5 --evaluations 64 --json");
  ASSERT_EQ(0, ended.status) << ended.out;
  const Json recording = Json::parse(ended.out).at("recordings").at(0);
  EXPECT_EQ("Some GPU", recording.at("device"));
  EXPECT_EQ(64, recording.at("configurations"));
  EXPECT_EQ(1, recording.at("best_ms"));
  for (const Json& strategy : recording.at("strategies")) {
    const Json& last = strategy.at("share_of_optimum").back();
    EXPECT_EQ(64, last.at("evaluations"));
    EXPECT_EQ(1, last.at("mean"));
  }
  EXPECT_THAT(run("replay --data " + cache() + " --seeds 2 --evaluations 30").out,
              HasSubstr("forest"));
}

TEST_F(SearchCommands, ReplayKnowsNoSecondsWhereNoneWereRecorded) {
  const auto seconds = [](const std::string& file) {
    const Ended ended =
        run("replay --json --strategy random --seeds 2 --evaluations 64 --data " + file);
    const Json recording = Json::parse(ended.out).at("recordings").at(0);
    return recording.at("strategies").at(0).at("effort").at(0).at("seconds");
  };
  const std::string file = cache();
  EXPECT_GT(seconds(file), 0);
  std::ifstream stream(file);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  const std::string compile_time = ", \"compile_time\": 1000";
  for (std::size_t at = 0; (at = text.find(compile_time)) != std::string::npos;) {
    text.erase(at, compile_time.size());
  }
  std::ofstream(file) << text;
  EXPECT_TRUE(seconds(file).is_null());
  EXPECT_THAT(run("replay --strategy random --seeds 2 --evaluations 64 --data " + file).out,
              HasSubstr("  -  "));
}

TEST_F(SearchCommands, ReplayWithWhatASpaceFileKnowsOfLaunches) {
  const std::filesystem::path file = folder_ / "blocks.json";
  std::string text =
      R"({"device_name": "NVIDIA A100", "kernel_name": "naive", "problem_size": 64,
"tune_params_keys": ["block_size_x", "block_size_y"],
"tune_params": {"block_size_x": [16, 32, 64], "block_size_y": [4, 8, 16]}, "cache": {)";
  for (const int x : {16, 32, 64}) {
    for (const int y : {4, 8, 16}) {
      text += std::string(text.back() == '{' ? "" : ",") + "\n\"" + std::to_string(x) + "," +
              std::to_string(y) + "\": {\"block_size_x\": " + std::to_string(x) +
              ", \"block_size_y\": " + std::to_string(y) + ", \"time\": " + (x == 16 ? "9" : "1") +
              "}";
    }
  }
  std::ofstream(file) << text << "\n}\n}";
  const std::string configs = std::string(SMEMTUNE_SOURCE_DIR) + "/configs/";
  const auto after_one = [&](const std::string& options) {
    const Ended ended = run("replay --json --strategy model --seeds 20 --evaluations 1 --data " +
                            file.string() + options);
    EXPECT_EQ(0, ended.status) << ended.out;
    return Json::parse(ended.out)
        .at("recordings")
        .at(0)
        .at("strategies")
        .at(0)
        .at("share_of_optimum")
        .at(0)
        .at("mean")
        .get<double>();
  };
  // The launch cost of rows of 16 is known to be higher.
  EXPECT_EQ(1, after_one(" --space " + configs + "convolution.json"));
  EXPECT_LT(after_one(""), 1);
  const Ended other = run("replay --data " + file.string() + " --space " + configs + "gemm.json");
  EXPECT_EQ(2, other.status);
  EXPECT_THAT(other.out, HasSubstr("no kernel has only parameters that are in"));
  const Ended unknown =
      run("replay --data " + cache() + " --space " + configs + "convolution.json --device none");
  EXPECT_EQ(2, unknown.status);
}

TEST_F(SearchCommands, RefuseWhatTheyCannotRead) {
  EXPECT_EQ(2, run("replay --data " + (folder_ / "none.json").string()).status);
  EXPECT_EQ(2, run("replay").status);
  EXPECT_EQ(2, run("replay --data " + cache() + " --strategy psychic").status);
  EXPECT_EQ(2, run("space " + (folder_ / "none.json").string()).status);
}

/// Expects of two recordings that `auto` finds more in 100 evaluations than `random` in 200.
void expect_that_auto_beats_random(const std::string& files) {
  const auto shares = [&](const std::string& options) {
    const Ended ended = run("replay --json --data " + files + " " + options);
    EXPECT_EQ(0, ended.status) << ended.out;
    std::map<int, double> means;
    const Json recordings = Json::parse(ended.out).at("recordings");
    for (const Json& recording : recordings) {
      for (const Json& share : recording.at("strategies").at(0).at("share_of_optimum")) {
        means[share.at("evaluations").get<int>()] += share.at("mean").get<double>() / 2;
      }
    }
    return means;
  };
  const auto random = shares("--strategy random --seeds 20 --evaluations 200");
  const auto learnt = shares("--strategy auto --seeds 4 --evaluations 100");
  EXPECT_GT(learnt.at(100), .93);
  EXPECT_GT(learnt.at(100), random.at(200));
  const auto warm = shares("--strategy auto --seeds 2 --evaluations 10 --from " + files);
  EXPECT_GT(warm.at(10), .96);
}

// A short form of the table in bench/RESULTS.md: few seeds, wide margins.
TEST(SearchOfConvolutions, FindsInAHundredEvaluationsWhatRandomDoesNotFindInTwoHundred) {
  const std::filesystem::path folder =
      std::filesystem::path(SMEMTUNE_SOURCE_DIR) / "../shared/data/convolution";
  if (!std::filesystem::exists(folder)) {
    ASSERT_EQ(nullptr, std::getenv("SMEMTUNE_REQUIRE_SHARED")) << folder << " is missing";
    GTEST_SKIP() << folder << " is missing";
  }
  expect_that_auto_beats_random((folder / "A4000.json.gz").string() + " " +
                                (folder / "A6000.json.gz").string());
}

TEST_F(SearchCommands, FindInPlantedRecordingsWhatRandomDoesNotFind) {
  write_planted_recordings(folder_);
  expect_that_auto_beats_random((folder_ / "two.json").string() + " " +
                                (folder_ / "six.json").string());
}

TEST_F(SearchCommands, SayWhatASpaceIsMadeOf) {
  const std::string gemm = std::string(SMEMTUNE_SOURCE_DIR) + "/configs/gemm.json";
  const Ended ended = run("space " + gemm + " --device h200 --json --samples 3");
  ASSERT_EQ(0, ended.status) << ended.out;
  const Json kernels = Json::parse(ended.out).at("kernels");
  for (const Json& kernel : kernels) {
    EXPECT_LE(kernel.at("valid").get<double>(), kernel.at("cartesian").get<double>());
    EXPECT_LE(kernel.at("fit"), kernel.at("looked_at"));
    EXPECT_EQ(kernel.at("looked_at"), kernel.at("valid"));
    for (const auto& [name, values] : kernel.at("parameters").items()) {
      std::uint64_t sum = 0;
      for (const auto& [value, count] : values.items()) sum += count.get<std::uint64_t>();
      EXPECT_EQ(kernel.at("fit"), sum) << name;
    }
  }
  const std::string text = run("space " + gemm + " --device h200").out;
  EXPECT_THAT(text, HasSubstr("satisfy the constraints"));
  // Finds the space that comes with smemtune.
  EXPECT_EQ(text, run("space gemm --device h200").out);
}

}  // namespace
}  // namespace smemtune
