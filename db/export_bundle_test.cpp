#include "db/export_formats.h"
#include "db/planted_results_test_support.h"
#include "tuner/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace smemtune::db {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

StoredResult tuned(std::int64_t n, const std::string& space = "gemm") {
  StoredResult result;
  result.space = space;
  result.device = planted_device("NVIDIA H200");
  result.result = planted({{"TILE", std::int64_t{32}}}, 2.0, n);
  return result;
}

BundledKernel bundled(std::uint8_t code) {
  Argument out;
  out.name = "out";
  out.type = ScalarType::int32;
  out.shape = {16};
  Argument n = out;
  n.name = "n";
  n.shape = {};
  return {.parameters = {{.argument = out}, {.argument = n, .value = {7, 0, 0, 0}}},
          .launches = {{.entry = "_Z4tile",
                        .grid = {8, 4, 1},
                        .block = {32, 2, 1},
                        .cluster = {2, 1, 1},
                        .dynamic_shared_bytes = 65536,
                        .cooperative = true,
                        .taken = {{.parameter = 0}, {.parameter = 1, .value = {9, 0, 0, 0}}}}},
          .cubin = {code, 2, 3}};
}

TEST(ExportBundle, HasEachCubinOnceAndALineForEachResult) {
  const std::string text =
      export_bundle({tuned(512), tuned(64), tuned(16)}, {bundled(1), bundled(200), bundled(1)});
  EXPECT_THAT(text, HasSubstr("static const unsigned char gemm_cubin_0[] = {\n  1,2,3,\n};"));
  EXPECT_THAT(text, HasSubstr("static const unsigned char gemm_cubin_1[] = {\n  200,2,3,\n};"));
  EXPECT_THAT(text, Not(HasSubstr("gemm_cubin_2")));
  EXPECT_THAT(text, HasSubstr("{\"NVIDIA H200\", \"N=16,T=float\", \"tiled\",\n   \"TILE=32\",\n"
                              "   90, 2, gemm_cubin_0, 2, 1, gemm_arguments_0, gemm_launches_0},"));
  EXPECT_THAT(text, HasSubstr("{\"_Z4tile\", {8u, 4u, 1u}, {32u, 2u, 1u}, {2u, 1u, 1u}, 65536u, 1, "
                              "2, gemm_taken_0_0},"));
  EXPECT_THAT(text, HasSubstr("gemm_value_0_1[] = {\n  7,0,0,0,\n};"));
  EXPECT_THAT(text, HasSubstr("gemm_taken_0_0[] = {{0, NULL}, {1, gemm_value_0_0}, };"));
  EXPECT_THAT(text, Not(HasSubstr("SPACE")));
}

TEST(ExportBundle, TheSameResultsInAnotherOrderGiveTheSameText) {
  EXPECT_EQ(export_bundle({tuned(512), tuned(16)}, {bundled(1), bundled(2)}),
            export_bundle({tuned(16), tuned(512)}, {bundled(2), bundled(1)}));
}

TEST(ExportBundle, StoredTextStaysText) {
  StoredResult hostile = tuned(16);
  hostile.device.name = "*/ evil \"\\\n#define EVIL SPACE_x";
  hostile.result.problem["T"] = "*/\nint evil;";
  BundledKernel named = bundled(1);
  named.parameters[0].argument.name = "\", evil, \"";
  const std::string text = export_bundle({hostile}, {named});
  EXPECT_THAT(text, Not(HasSubstr("\n#define EVIL")));
  EXPECT_THAT(text, Not(HasSubstr("\nint evil;")));
  EXPECT_THAT(text, Not(HasSubstr("\", evil, \"")));
  EXPECT_THAT(text, HasSubstr("SPACE_x"));  // No place of the space's name.
  for (const char* space : {"", "a b", "int", "1x", "a\nb"}) {
    EXPECT_THROW(export_bundle({tuned(16, space)}, {bundled(1)}), InputError) << space;
  }
}

TEST(ExportBundle, TellsOfConstantMemoryAndTensorMaps) {
  BundledKernel special = bundled(1);
  special.parameters[0].symbol = "_ZN6filterE";
  EXPECT_THAT(export_bundle({tuned(16)}, {special}),
              AllOf(HasSubstr("{\"out\", 64, NULL, \"_ZN6filterE\", NULL},"),
                    Not(HasSubstr("#define gemm_HAS_TENSOR_MAPS"))));
  special = bundled(1);
  Argument& out = special.parameters[0].argument;
  out.type = ScalarType::float16;
  out.shape = {3, 10, 256};
  out.memory = MemorySpace::tensor_map;
  out.box = {1, 8, 64};
  out.element_strides = {2, 1, 1};
  out.swizzle = 128;
  EXPECT_THAT(export_bundle({tuned(16)}, {special}),
              AllOf(HasSubstr("#define gemm_HAS_TENSOR_MAPS 1\n"),
                    HasSubstr("{\"out\", 15360, NULL, NULL, &gemm_map_0_0},"),
                    HasSubstr("gemm_map_0_0 = {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, "
                              "CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,\n"
                              "  3, {256, 10, 3}, {512, 5120, 0}, {64, 8, 1}, {1, 1, 2}};")));
}

TEST(ExportBundle, IsOfOneSpace) {
  EXPECT_THROW(export_bundle({tuned(16), tuned(16, "other")}, {bundled(1), bundled(2)}),
               InputError);
}

}  // namespace
}  // namespace smemtune::db
