#include "tuner/backend/cuda/nvrtc_compiler.h"

#include <gtest/gtest.h>

#include <string>

namespace smemtune::cuda {
namespace {

using namespace std::string_literals;

TEST(ReadableText, KeepsTextAndReplacesControlCharacters) {
  EXPECT_EQ(readable_text("\x1B[31mred\x07\tgr\u00FCn \u20AC\r\n"),
            "?[31mred?\tgr\u00FCn \u20AC\n");
  EXPECT_EQ(readable_text("\xC2\x9B"
                          "31m"),
            "?31m\n");  // U+009B begins an escape sequence as well.
}

TEST(ReadableText, TurnsANulIntoANewlineAndTrimsTheEnd) {
  EXPECT_EQ(readable_text("info\0error: too much\n\0\0"s), "info\nerror: too much\n");
  EXPECT_EQ(readable_text(" \n\0"s), "");
}

TEST(ReadableText, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(readable_text("a\xFF"
                          "b"),
            "a?b\n");
  EXPECT_EQ(readable_text("\xC0\xAF"), "??\n");            // Overlong.
  EXPECT_EQ(readable_text("\xED\xA0\x80"), "???\n");       // A surrogate.
  EXPECT_EQ(readable_text("\xE2\x82"), "??\n");            // Cut short.
  EXPECT_EQ(readable_text("\xF4\x90\x80\x80"), "????\n");  // Beyond U+10FFFF.
  EXPECT_EQ(readable_text("\xF0\x9F\x98\x80"), "\xF0\x9F\x98\x80\n");
}

TEST(ReadableText, CutsOffBetweenCharactersAndSaysSo) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "\u20AC";
  const std::string cut = readable_text(text, 50);
  EXPECT_LE(cut.size(), 50u);
  EXPECT_EQ(cut, std::string(text, 0, 39) + "\n[cut off]\n");
  EXPECT_LE(readable_text(std::string(1 << 20, 'x')).size(), 65536u);
}

}  // namespace
}  // namespace smemtune::cuda
