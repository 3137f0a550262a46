#include "reports/table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace smemtune {
namespace {

TEST(Table, GoesOnInColumnsThatGetWiderOnly) {
  Table table({"name", ">n"});
  table.add_row({"abcdef", "10"});
  EXPECT_EQ("name     n\nabcdef  10\n", table.next_text());
  table.add_row({"a", "2"});
  table.add_row({"abcdefgh", "3"});
  EXPECT_EQ("a          2\nabcdefgh   3\n", table.next_text());
  EXPECT_EQ("", table.next_text());
}

TEST(Table, AlignsColumnsByTheirWidestCell) {
  Table table({"kernel", ">time", "why"});
  table.add_row({"tiled", "1.5 ms", "fast"});
  table.add_row({"n", "12.25 ms", ""});
  EXPECT_EQ(table.text(),
            "kernel      time  why\n"
            "tiled     1.5 ms  fast\n"
            "n       12.25 ms\n");
}

TEST(Table, IsIndented) {
  Table table({"a"});
  table.add_row({"b"});
  EXPECT_EQ(table.text("  "), "  a\n  b\n");
}

TEST(Table, CountsCodePointsAndNotBytes) {
  Table table({"name", ">n"});
  table.add_row({"caf\u00e9", "1"});
  table.add_row({"coffee", "2"});
  EXPECT_EQ(table.text(), "name    n\ncaf\u00e9    1\ncoffee  2\n");
}

TEST(Table, ShowsWhatSteersATerminalAsQuestionMarks) {
  Table table({"a", "b"});
  table.add_row({"x\x1b[2Jy\n", "\u202etxt"});
  EXPECT_EQ(table.text(), "a        b\nx?[2Jy   ?txt\n");
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    widest = std::max(widest, text_width(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return widest;
}

TEST(Table, IsNeverWiderThanThePage) {
  for (const std::size_t columns : {1u, 2u, 3u, 8u, 40u}) {
    for (const std::size_t length : {1u, 7u, 30u, 500u}) {
      for (const char* const mark : {"", ">", "=", "?", "=?"}) {
        Table table(std::vector<std::string>(columns, mark + std::string("a title / of words")));
        Table next = table;
        for (const char letter : {'a', 'b'}) {
          const std::vector<std::string> row(columns, std::string(length, letter));
          table.add_row(row);
          if (columns <= 8) next.add_row(row);
        }
        EXPECT_LE(widest_line(table.text("  ")), page_columns()) << columns << " " << length;
        if (columns > 8) continue;
        EXPECT_LE(widest_line(next.next_text()), page_columns()) << columns;
      }
    }
  }
}

TEST(Table, SaysOnceWhatAllRowsHaveInCommon) {
  Table table({"=device", ">time", "=configuration"});
  table.add_row({"H100", "1 ms", "PAD=0,TILE=16"});
  table.add_row({"H100", "2 ms", "PAD=0,TILE=32"});
  EXPECT_EQ(table.text(),
            "device: H100\n"
            "configuration in all rows: PAD=0\n"
            "time  configuration\n"
            "1 ms  TILE=16\n"
            "2 ms  TILE=32\n");
}

TEST(Table, KeepsSentencesWholeThatNameAValue) {
  Table table({"kernel", "=compared with", "=detail"});
  table.add_row({"tiled", "definition (not at N=1, N=2)", "T = float, N = 4"});
  table.add_row({"naive", "another kernel (not at N=1, N=2)", "T = half, N = 4"});
  EXPECT_EQ(table.text(),
            "kernel  compared with                     detail\n"
            "tiled   definition (not at N=1, N=2)      T = float, N = 4\n"
            "naive   another kernel (not at N=1, N=2)  T = half, N = 4\n");
}

TEST(Table, LeavesOutOptionalColumnsWhereThereIsNoRoom) {
  Table table({"name", "?first", "?second"});
  table.add_row({std::string(40, 'n'), std::string(36, '1'), std::string(30, '2')});
  const std::string text = table.text();
  EXPECT_NE(text.find("111"), std::string::npos) << text;
  EXPECT_EQ(text.find("second") == std::string::npos, text.find("222") == std::string::npos);
  EXPECT_LE(widest_line(text), page_columns());
}

TEST(Table, ShowsALongLastColumnBelowItsRows) {
  Table table({"kernel", ">time", "configuration"});
  std::string key = "A=1";
  for (char name = 'B'; name <= 'Z'; ++name) key += std::string(",") + name + "=1";
  table.add_row({std::string(50, 'k'), "1.000 ms", key});
  EXPECT_NE(table.text().find("\n    A=1,B=1,"), std::string::npos) << table.text();
}

TEST(Table, IsShownInPartsRatherThanWithBrokenNumbers) {
  const std::string name(30, 'k');
  Table table({"name", ">time", ">compute", ">memory"});
  table.add_row({name, "1.000 ms", "3.74 GFLOP/s of 9.87 GFLOP/s", "175 MB/s of 256 MB/s"});
  const std::string text = table.text();
  for (const char* const number : {"3.74 GFLOP/s of 9.87 GFLOP/s", "175 MB/s of 256 MB/s"}) {
    EXPECT_NE(text.find(number), std::string::npos) << text;
  }
  EXPECT_EQ(text.find(name), text.find("1.000 ms") - name.size() - 2) << text;
  EXPECT_NE(text.find(name), text.rfind(name)) << text;
}

TEST(Wrapped, BreaksBetweenWordsAndIndentsTheRest) {
  EXPECT_EQ(wrapped("short\n  one two three\n", 11), "short\n  one two\n    three\n");
  EXPECT_EQ(wrapped("a /a/path/that/is/long b", 8), "a\n/a/path/that/is/long\nb");
  EXPECT_EQ(wrapped("keeps all of 82.8 %; one", 17), "keeps all of\n82.8 %; one");
  EXPECT_EQ(wrapped("keeps 82.8 %", 6), "keeps\n82.8 %");
  EXPECT_EQ(wrapped("take A=1,B=2,C=3 now", 8), "take\nA=1,B=2,\nC=3 now");
}

TEST(FormatSpread, SaysWhereOneSampleHasNone) {
  Measurement measurement = {
      .samples_ms = {}, .sample_count = 3, .median_ms = 2, .q1_ms = 1.98, .q3_ms = 2.02};
  EXPECT_EQ(format_spread(measurement), "+-1.0 %");
  measurement = {.samples_ms = {}, .sample_count = 1, .median_ms = 2, .q1_ms = 2, .q3_ms = 2};
  EXPECT_EQ(format_spread(measurement), "1 sample");
}

TEST(FormatTime, HasFourDigitsAndTheUnitThatFits) {
  EXPECT_EQ(format_time(1.2344), "1.234 ms");
  EXPECT_EQ(format_time(0.012344), "12.34 us");
  EXPECT_EQ(format_time(123.44), "123.4 ms");
  EXPECT_EQ(format_time(4567), "4.567 s");
  EXPECT_EQ(format_time(0.00025), "250.0 ns");
  EXPECT_EQ(format_time(123456), "123.5 s");
  EXPECT_EQ(format_time(0), "0 ns");
}

TEST(FormatTime, RoundsIntoTheNextUnit) {
  EXPECT_EQ(format_time(9.99949), "9.999 ms");
  EXPECT_EQ(format_time(9.9996), "10.00 ms");
  EXPECT_EQ(format_time(0.99994), "999.9 us");
  EXPECT_EQ(format_time(0.99996), "1.000 ms");
}

TEST(FormatTime, HasAWordForWhatIsNoNumber) {
  EXPECT_EQ(format_time(std::numeric_limits<double>::quiet_NaN()), "?");
  EXPECT_EQ(format_time(std::numeric_limits<double>::infinity()), "?");
}

TEST(FormatRate, HasThreeDigitsAndAPrefix) {
  EXPECT_EQ(format_rate(48.21e12, "FLOP/s"), "48.2 TFLOP/s");
  EXPECT_EQ(format_rate(312.4e9, "B/s"), "312 GB/s");
  EXPECT_EQ(format_rate(4.8e12, "B/s"), "4.80 TB/s");
  EXPECT_EQ(format_rate(999.7e9, "B/s"), "1.00 TB/s");
  EXPECT_EQ(format_rate(1500, "1/s"), "1.50 k1/s");
  EXPECT_EQ(format_rate(12, "B/s"), "12.0 B/s");
  EXPECT_EQ(format_rate(0, "B/s"), "0 B/s");
  EXPECT_EQ(format_rate(std::numeric_limits<double>::infinity(), "B/s"), "?");
}

TEST(FormatBytes, CountsIn1024) {
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(49152), "48.0 KB");
  EXPECT_EQ(format_bytes(62914560), "60.0 MB");
  EXPECT_EQ(format_bytes(150109880320), "139.8 GB");
}

TEST(FormatUtc, IsTheSameInEveryTimeZone) {
  EXPECT_EQ(format_utc(0), "1970-01-01 00:00:00Z");
  EXPECT_EQ(format_utc(1795269787.9), "2026-11-21 14:03:07Z");
  EXPECT_EQ(format_utc(-1), "?");
  EXPECT_EQ(format_utc(1e300), "?");
}

}  // namespace
}  // namespace smemtune
