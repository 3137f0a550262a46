// Tests `smemtune why` as its users see it, on kernels that are planted for its rules: compiled for
// sm_90, stored with made-up times.

#include "db/json_forms.h"
#include "db/planted_results_test_support.h"
#include "db/result_store.h"
#include "tuner/core/in_shell_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace smemtune {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;
using testing::Not;

struct Pair {
  const char* space;
  const char* kernel;
  const char* faster;
  const char* slower;   ///< Stored as the kernel's default.
  const char* cause;    ///< Empty: nothing may be singled out.
  const char* problem;  ///< Empty: the space's first.
};

class WhyCommand : public testing::TestWithParam<Pair> {
 protected:
  void SetUp() override {
#if !SMEMTUNE_CUDA_BUILD
    GTEST_SKIP() << "built without CUDA";
#endif
  }

  Ended run(const std::string& words) {
    return in_shell("SMEMTUNE_SHIPPED=off COLUMNS=1000 SMEMTUNE_DB='" + database().string() +
                    "' XDG_CACHE_HOME='" + folder_.string() + "' '" SMEMTUNE_EXECUTABLE "' " +
                    words);
  }

  /// Compiles a configuration, and returns what is known of it with a made-up time.
  std::optional<Result> compiled(const Pair& pair, const std::string& configuration, double ms) {
    const std::filesystem::path kept = folder_ / (configuration + ".kept");
    const std::string problem =
        *pair.problem == '\0' ? "" : std::string(" --problem '") + pair.problem + "'";
    const Ended ended =
        run("run --space '" SMEMTUNE_SOURCE_DIR "/configs/" + std::string(pair.space) +
            "' --dry-run --device sm_90 --kernel " + pair.kernel + " --config '" + configuration +
            "' --keep '" + kept.string() + "'" + problem);
    std::ifstream file(kept / (std::string(pair.kernel) + ".json"));
    const Json document = Json::parse(file, nullptr, false);
    if (ended.status != 0 || document.is_discarded()) {
      ADD_FAILURE() << configuration << ": " << ended.out << ended.err;
      return std::nullopt;
    }
    Result result = db::result_from(document["problems"][0]["results"][0]);
    result.status = Status::correct;
    result.stage = Stage::final;
    result.measurement = db::planted({}, ms).measurement;
    return result;
  }

  /// Stores both, the slower one as the default, and returns why the faster one wins.
  Json why(const Pair& pair) {
    std::optional<Result> faster = compiled(pair, pair.faster, 1);
    std::optional<Result> slower = compiled(pair, pair.slower, 2);
    if (!faster || !slower) return {};
    faster->chosen = true;
    faster->is_default = false;
    slower->is_default = true;
    Device device = db::planted_device("Planted");
    device.sm_count = 132;
    db::ResultStore store(database());
    const auto log = store.begin_run(db::planted_run(device, "planted", "planted"));
    log->record("hash", *faster);
    log->record("hash", *slower);
    const Json document = Json::parse(run("why --space planted --json").out, nullptr, false);
    EXPECT_EQ(document.value("format", ""), "smemtune-why");
    return document;
  }

  std::filesystem::path database() const { return folder_ / "results.sqlite"; }

  TemporaryFolder own_folder_;
  std::filesystem::path folder_ = own_folder_.path();
};

TEST_P(WhyCommand, SinglesOutWhatWasPlanted) {
  const Json problem = why(GetParam())["problems"][0];
  ASSERT_EQ(problem["silent_because"], "");
  ASSERT_EQ(problem["beats"].size(), 1u);
  const Json& beats = problem["beats"][0];
  EXPECT_EQ(beats["other"], "its default");
  EXPECT_EQ(beats["factor"], 2);
  EXPECT_EQ(beats["cause"], GetParam().cause) << beats["sentence"] << "\n" << beats["differences"];
  EXPECT_EQ(beats["sentence"] == "", beats["cause"] == "");
  const Ended text = run("why --space planted");
  EXPECT_THAT(text.out, HasSubstr("2.00x over its default, " + std::string(GetParam().kernel)));
  EXPECT_THAT(text.out,
              HasSubstr(*GetParam().cause == '\0' ? "no single figure tells why"
                                                  : GetParam().cause + std::string(": it ")));
}

INSTANTIATE_TEST_SUITE_P(
    Planted, WhyCommand,
    testing::Values(
        Pair{"memory_registers.json", "spills", "LIVE=64,BLOCKS=1", "LIVE=64,BLOCKS=8", "spills",
             ""},
        Pair{"memory_registers.json", "index", "INDEX=by_constant", "INDEX=by_run_time",
             "local memory", ""},
        Pair{"memory_occupancy.json", "add", "SHARED_KB=0", "SHARED_KB=112", "occupancy", ""},
        Pair{"memory_atomics.json", "histogram", "PLACE=shared,ITEMS=64", "PLACE=global,ITEMS=64",
             "atomics", ""},
        Pair{"memory_bandwidth.json", "read", "PLACE=shared", "PLACE=global", "shared memory", ""},
        Pair{"memory_banks.json", "stride", "BYTES=8,STRIDE=1", "BYTES=4,STRIDE=1",
             "wide shared accesses", ""},
        // The winner on an H200 beside a grid for half of its multiprocessors.
        Pair{"gemm.json", "register_tiled",
             "BLOCKS=2,COLS=8,DEPTH=8,ROWS=4,SPLIT=1,STAGES=4,TILE_M=64,TILE_N=128",
             "BLOCKS=1,COLS=8,DEPTH=8,ROWS=8,SPLIT=1,STAGES=3,TILE_M=128,TILE_N=128", "blocks",
             "K=1024,M=1024,N=1024,T=float"},
        // Machine code does not tell these.
        Pair{"memory_banks.json", "stride", "BYTES=4,STRIDE=1", "BYTES=4,STRIDE=32", "", ""},
        Pair{"memory_banks.json", "padding", "PAD=1", "PAD=0", "", ""},
        Pair{"memory_coalescing.json", "read", "STRIDE=1,OFFSET=0", "STRIDE=8,OFFSET=0", "", ""},
        Pair{"memory_coalescing.json", "read", "STRIDE=1,OFFSET=0", "STRIDE=1,OFFSET=4", "", ""},
        Pair{"memory_constant.json", "read", "DISTINCT=1", "DISTINCT=32", "", ""},
        Pair{"memory_occupancy.json", "add", "SHARED_KB=0", "SHARED_KB=16", "", ""}),
    [](const auto& planted) {
      std::string name = std::string(planted.param.kernel) + "_" + planted.param.faster;
      name += std::string("_over_") + planted.param.slower;
      std::ranges::replace_if(
          name, [](char c) { return std::isalnum(c) == 0; }, '_');
      return name;
    });

TEST_F(WhyCommand, SaysWhyItSaysNothing) {
  db::ResultStore store(database());
  const auto log = store.begin_run(db::planted_run(db::planted_device("Planted"), "p", "planted"));
  Result best = db::planted({{"TILE", std::int64_t{8}}}, 1);
  best.stage = Stage::final;
  best.chosen = true;
  log->record("hash", best);
  const Ended text = run("why --space planted");
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("nothing is stored of its launches"));
  EXPECT_THAT(text.out, Not(HasSubstr("over its default")));
  EXPECT_EQ(run("why --space nosuch").status, 2);
}

}  // namespace
}  // namespace smemtune
