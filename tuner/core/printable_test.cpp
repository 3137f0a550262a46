#include "tuner/core/printable.h"

#include <gtest/gtest.h>

namespace smemtune {
namespace {

TEST(Printable, LeavesNothingForATerminalToObey) {
  EXPECT_EQ("?[2J?", printable("\x1b[2J\x7f"));
  EXPECT_EQ("a?b?c", printable("a\nb\tc"));
  EXPECT_EQ("\xc3\xa4", printable("\xc3\xa4"));  // A letter with two bytes.
  EXPECT_EQ("?", printable("\xc2\x9b"));         // C1: the one-character form of ESC [.
  EXPECT_EQ("x?y", printable("x\xe2\x80\xae"
                             "y"));  // Right-to-left override.
  EXPECT_EQ("x?y", printable("x\xe2\x81\xa6"
                             "y"));                      // Left-to-right isolate.
  EXPECT_EQ("\xe2\x82\xac", printable("\xe2\x82\xac"));  // The euro sign.
  EXPECT_EQ("?x", printable("\xff"
                            "x"));         // No UTF-8.
  EXPECT_EQ("??", printable("\xe2\x82"));  // Cut off.
  EXPECT_EQ("abcd...", printable("abcdefgh", 4));
}

}  // namespace
}  // namespace smemtune
