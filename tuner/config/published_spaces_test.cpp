#include "tuner/config/space_file.h"
#include "tuner/core/device.h"
#include "tuner/core/kernel_binding.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

namespace smemtune {
namespace {

TEST(PublishedSpaces, HaveTheirPublishedCounts) {
  struct Counts {
    double cartesian;
    std::uint64_t valid;
  };
  const std::map<std::string, Counts> published = {
      {"convolution_milo", {10'240, 4'362}}, {"dedispersion", {22'272, 11'130}},
      {"gemm_milo", {663'552, 116'928}},     {"hotspot", {22'200'000, 349'853}},
      {"hotspot_milo", {4'440'000, 82'984}}, {"microhh", {1'166'400, 138'600}}};
  const std::filesystem::path folder = std::filesystem::path(SMEMTUNE_SOURCE_DIR) / "bench/spaces";
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    ++files;
    const LoadedSpace loaded = load_space(entry.path(), folder);
    const Space& space = loaded.space;
    ASSERT_TRUE(published.contains(space.name)) << entry.path();
    const KernelBinding bound(space, space.kernels.front(), space.problems.front(), h200_limits());
    EXPECT_EQ(bound.search_space().cartesian_size(), published.at(space.name).cartesian)
        << space.name;
    EXPECT_EQ(bound.search_space().size(), published.at(space.name).valid) << space.name;
  }
  EXPECT_EQ(files, published.size());
}

}  // namespace
}  // namespace smemtune
