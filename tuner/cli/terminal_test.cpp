#include "tuner/cli/terminal.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <pty.h>
#include <unistd.h>

namespace smemtune::cli {
namespace {

class Terminal : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"COLUMNS", "NO_COLOR"}) unsetenv(name);
    setenv("TERM", "xterm", 1);
    winsize size{};
    size.ws_row = 24;
    size.ws_col = 57;
    ASSERT_EQ(openpty(&other_end_, &terminal_, nullptr, nullptr, &size), 0);
    ASSERT_EQ(pipe(pipe_), 0);
  }
  void TearDown() override {
    for (const int descriptor : {other_end_, terminal_, pipe_[0], pipe_[1]}) close(descriptor);
  }

  int other_end_ = -1;
  int terminal_ = -1;
  int pipe_[2] = {-1, -1};
};

TEST_F(Terminal, IsAsWideAsColumnsSaysOrElseAsItSaysItself) {
  EXPECT_EQ(terminal_columns(terminal_), 57u);
  setenv("COLUMNS", "123", 1);
  EXPECT_EQ(terminal_columns(terminal_), 123u);
  EXPECT_EQ(terminal_columns(pipe_[1]), 0u) << "a pipe has no width";
  for (const char* none : {"0", "wide", "80x", "-1", ""}) {
    setenv("COLUMNS", none, 1);
    EXPECT_EQ(terminal_columns(terminal_), 57u) << none;
  }
}

TEST_F(Terminal, ShowsColorsUnlessAskedNotTo) {
  EXPECT_TRUE(colors(terminal_));
  EXPECT_FALSE(colors(pipe_[1]));
  setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(colors(terminal_));
  EXPECT_TRUE(can_redraw(terminal_));
  setenv("NO_COLOR", "", 1);
  EXPECT_TRUE(colors(terminal_));
}

TEST_F(Terminal, ThatIsDumbIsWrittenToAsAPipeIs) {
  setenv("TERM", "dumb", 1);
  EXPECT_FALSE(can_redraw(terminal_));
  EXPECT_FALSE(colors(terminal_));
}

}  // namespace
}  // namespace smemtune::cli
