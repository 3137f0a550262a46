#include "tuner/core/machine_fault.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace smemtune {
namespace {

TEST(MachineFault, IsAShortageAndNotAMistake) {
  for (const int number : {EMFILE, ENFILE, ENOMEM, ENOSPC, EDQUOT, EAGAIN}) {
    EXPECT_TRUE(is_shortage(number)) << number;
    EXPECT_THROW(throw_system_error("opening it", number), MachineError) << number;
  }
  EXPECT_FALSE(is_shortage(ENOENT));
  try {
    throw_system_error("opening it", ENOENT);
    FAIL();
  } catch (const MachineError&) {
    FAIL();
  } catch (const UnavailableError& error) {
    EXPECT_STREQ("opening it: No such file or directory", error.what());
  }
}

TEST(MachineFault, IsFoundInWhatProgramsSay) {
  EXPECT_TRUE(tells_of_shortage("cc1plus: fatal error: k.cu: Too many open files"));
  EXPECT_TRUE(tells_of_shortage("fatal error: error writing to /tmp/x.s: No space left on device"));
  EXPECT_TRUE(tells_of_shortage("g++: fatal error: Killed signal terminated program cc1plus"));
  EXPECT_TRUE(tells_of_shortage("clang: error: unable to execute command: Killed"));
  EXPECT_FALSE(tells_of_shortage("k.cu:1:1: error: expected ';'"));
  // A compiler that crashes does so because of the text that it was given.
  EXPECT_FALSE(tells_of_shortage(
      "g++: internal compiler error: Segmentation fault signal terminated program cc1plus"));
}

}  // namespace
}  // namespace smemtune
