#include "tuner/core/text.h"

#include <gtest/gtest.h>

#include <limits>

namespace smemtune {
namespace {

TEST(Printable, MarksWhatSteersATerminal) {
  EXPECT_EQ(printable("a\x1b[31mb\x7f"), "a?[31mb?");
  EXPECT_EQ(printable("\u202eevil\u2066"), "?evil?");
  EXPECT_EQ(printable("x\xc2\x9by"), "x?y");  // The byte is CSI as one C1 character.
  EXPECT_EQ(printable("\u200b\ufeff\u2060"), "???");
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a?b");
}

TEST(Printable, IsOneLine) { EXPECT_EQ(printable("a\r\n\tb"), "a   b"); }

TEST(Printable, KeepsTextAndMarksWhatIsNotUtf8) {
  EXPECT_EQ(printable("caf\u00e9 \u4e16 \U0001f600"), "caf\u00e9 \u4e16 \U0001f600");
  EXPECT_EQ(printable("caf\xe9 x"), "caf? x");
  EXPECT_EQ(printable("\xc0\xaf"), "??");        // Overlong.
  EXPECT_EQ(printable("\xed\xa0\x80"), "???");   // A surrogate.
  EXPECT_EQ(printable("end\xe4\xb8"), "end??");  // Cut off.
}

TEST(Printable, CutsBetweenCharacters) {
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdefg", 6), "abcdef...");
  EXPECT_EQ(printable("a\u00e9bc", 2), "a\u00e9...");
  EXPECT_EQ(quote(std::string(100, 'x'), 3), "'xxx...'");
}

TEST(PrintableLines, KeepsLinesAndTabs) {
  EXPECT_EQ(printable_lines("a\n\tb\r\n\x1b]0;title\x07"), "a\n\tb \n?]0;title?");
}

TEST(WithControlsEscaped, WritesThemAsJsonDoes) {
  EXPECT_EQ(with_controls_escaped("{\n  \"a\": \"\u202e\xc2\x9b caf\u00e9\x7f\"\n}\n"),
            "{\n  \"a\": \"\\u202e\\u009b caf\u00e9\\u007f\"\n}\n");
}

TEST(Text, IsPutTogether) {
  EXPECT_EQ(decimal(1.25, 1), "1.2");
  EXPECT_EQ(counted(1, "kernel"), "1 kernel");
  EXPECT_EQ(counted(0, "kernel"), "0 kernels");
  EXPECT_EQ(counted(1234567, "kernel"), "1,234,567 kernels");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(std::numeric_limits<std::uint64_t>::max()), "18,446,744,073,709,551,615");
  const std::vector<std::string> words = {"", "a", "b"};
  EXPECT_EQ(joined(words, ", "), ", a, b");
  EXPECT_EQ(joined({}, ", "), "");
}

TEST(NearestName, IsAtMostAThirdAway) {
  const std::vector<std::string> known = {"TILE_M", "TILE_N", "THREADS"};
  EXPECT_EQ("TILE_N", nearest_name("TILEN", known));
  EXPECT_EQ("THREADS", nearest_name("HTREDAS", known));
  EXPECT_EQ("run", nearest_name("rnu", std::vector<std::string>{"ruin", "run"}));
  EXPECT_EQ("", nearest_name("ROWS", known));
  EXPECT_EQ("; did you mean 'THREADS'?", suggestion("threads", known));
  EXPECT_EQ("", suggestion("", known));
}

}  // namespace
}  // namespace smemtune
