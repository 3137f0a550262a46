#include "db/export_formats.h"
#include "db/folder_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>

namespace smemtune::db {
namespace {

using testing::HasSubstr;

StoredResult stored_result() {
  StoredResult stored;
  stored.space = "gemm";
  stored.device.name = "NVIDIA H200";
  stored.device.architecture = "sm_90";
  stored.result.kernel = "tiled";
  stored.result.problem = {{"N", std::int64_t{4096}}, {"T", "float"}};
  stored.result.configuration = {{"TILE", std::int64_t{32}}};
  stored.result.stage = Stage::final;
  stored.result.measurement.median_ms = 2;
  stored.result.metrics = {{"flops", 1e12}};
  LaunchResult launch;
  launch.shape.block = {32, 8, 1};
  launch.resources.registers_per_thread = 40;
  stored.result.launches = {launch, launch};
  return stored;
}

std::string title_line() {
  const std::string text = export_csv({});
  return text.substr(0, text.find('\n'));
}

/// Returns the cell of a column in the first row. The cells before it must need no quotes.
std::string cell(const StoredResult& stored, const std::string& column) {
  std::istringstream titles(title_line());
  std::string text = export_csv({stored});
  std::istringstream row(text.substr(text.find('\n') + 1));
  std::string title;
  std::string value;
  while (std::getline(titles, title, ',') && std::getline(row, value, ',')) {
    if (title == column) return value.substr(0, value.find('\n'));
  }
  return "no such column";
}

TEST(ExportCsv, IsOneLineForEachResult) {
  const std::string text = export_csv({stored_result(), stored_result()});
  EXPECT_EQ(std::ranges::count(text, '\n'), 3);
  EXPECT_THAT(text, HasSubstr("gemm,tiled,\"N=4096,T=float\",NVIDIA H200,gpu,sm_90,TILE=32,0,0,"
                              "unknown,final,2,"));
  EXPECT_THAT(text, HasSubstr(",5e+05,,"));  // GFLOP/s, and no GB/s because the bytes are unknown.
  EXPECT_THAT(text, HasSubstr(",32x8x1;32x8x1,"));
  EXPECT_THAT(text, HasSubstr(",40;40,"));
}

TEST(ExportCsv, TextIsNeitherAFormulaNorMoreCells) {
  StoredResult hostile = stored_result();
  for (const char* formula : {"=1+1", "+1", "-1", "@SUM(A1)", "\t=1"}) {
    hostile.space = formula;
    EXPECT_EQ(cell(hostile, "space").front(), '\'') << formula;
  }
  hostile = stored_result();
  hostile.result.kernel = "a\"b,c\nd\r";
  EXPECT_THAT(export_csv({hostile}), HasSubstr(",\"a\"\"b,c d \","));
}

TEST(ExportCsv, LeavesOutWhatIsNoNumber) {
  StoredResult stored = stored_result();
  stored.result.max_relative_error = std::numeric_limits<double>::infinity();
  stored.result.problem = {{"N", std::int64_t{4096}}};
  EXPECT_EQ(cell(stored, "max_relative_error"), "");
  EXPECT_EQ(cell(stored, "max_absolute_error"), "0");
}

TEST(ExportCsv, LeavesEmptyWhatIsNotKnown) {
  StoredResult stored = stored_result();
  stored.result.problem = {{"N", std::int64_t{4096}}};
  stored.result.launches[0].resources.registers_per_thread = 0;  // Like a result of the CPU device.
  stored.result.measurement = told_time(2);
  stored.origin =
      Origin{.format = "ktt", .file = "ktt.json", .file_sha256 = "", .tool = "KTT", .device = ""};
  forget_untold(stored);
  for (const char* column : {"median_ms", "median_low_ms", "median_high_ms", "is_default",
                             "is_reference", "max_absolute_error", "samples", "shared_from"}) {
    EXPECT_EQ(cell(stored, column), "") << column;
  }
  EXPECT_EQ(cell(stored, "mean_ms"), "2");
  EXPECT_EQ(cell(stored, "registers_per_thread"), ";40");
  EXPECT_EQ(cell(stored, "spill_bytes"), ";0");
  EXPECT_EQ(cell(stored, "occupancy_percent"), ";");
  EXPECT_EQ(cell(stored, "imported_from"), "ktt.json");
}

TEST(ExportCsv, EveryColumnIsDocumented) {
  const std::string text = contents(std::string(SMEMTUNE_SOURCE_DIR) + "/db/EXPORT.md");
  std::istringstream titles(title_line());
  std::string title;
  const std::size_t csv = text.find("## CSV");
  ASSERT_NE(csv, std::string::npos);
  while (std::getline(titles, title, ',')) {
    EXPECT_NE(text.find("`" + title + "`", csv), std::string::npos) << title;
  }
}

}  // namespace
}  // namespace smemtune::db
