#include "tuner/core/whole_file.h"

#include "tuner/core/error.h"
#include "tuner/core/input_file.h"
#include "tuner/core/temporary_folder.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstddef>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace smemtune {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& file) { return read_text(file, 1 << 20); }

class WriteWholeFile : public testing::Test {
 protected:
  const fs::path& folder() const { return folder_.path(); }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder()), fs::directory_iterator()));
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(WriteWholeFile, MakesOrReplacesAFile) {
  const fs::path file = folder() / "best.json";
  const mode_t before = umask(022);
  write_whole_file(file, "one");
  umask(before);
  EXPECT_EQ(contents(file), "one");
  EXPECT_EQ(fs::status(file).permissions(), fs::perms(0644));
  fs::permissions(file, fs::perms(0640));
  write_whole_file(file, "two");
  EXPECT_EQ(contents(file), "two");
  EXPECT_EQ(fs::status(file).permissions(), fs::perms(0640));
  EXPECT_EQ(files(), 1u);
}

TEST_F(WriteWholeFile, HeedsTheUmask) {
  const mode_t before = umask(077);
  write_whole_file(folder() / "best.json", "text");
  umask(before);
  EXPECT_EQ(fs::status(folder() / "best.json").permissions(), fs::perms(0600));
}

TEST_F(WriteWholeFile, KeepsALinkAndWritesWhereItLeads) {
  fs::create_directory(folder() / "results");
  std::ofstream(folder() / "results" / "target") << "old";
  fs::create_symlink("results/target", folder() / "link");
  fs::create_symlink(folder() / "link", folder() / "second");
  write_whole_file(folder() / "second", "new");
  EXPECT_TRUE(fs::is_symlink(folder() / "second"));
  EXPECT_TRUE(fs::is_symlink(folder() / "link"));
  EXPECT_EQ(contents(folder() / "results" / "target"), "new");

  fs::remove(folder() / "results" / "target");
  check_writable(folder() / "link");
  write_whole_file(folder() / "link", "first");
  EXPECT_TRUE(fs::is_symlink(folder() / "link"));
  EXPECT_EQ(contents(folder() / "results" / "target"), "first");
  EXPECT_EQ(files(), 3u) << "no temporary is left";
}

TEST_F(WriteWholeFile, RefusesLinksThatLeadNowhere) {
  fs::create_symlink("loop", folder() / "loop");
  EXPECT_THROW(write_whole_file(folder() / "loop", "text"), InputError);
  fs::create_symlink("missing/best.json", folder() / "link");
  EXPECT_THROW(write_whole_file(folder() / "link", "text"), InputError);
  EXPECT_THROW(check_writable(folder() / "link"), InputError);
  EXPECT_EQ(files(), 2u);
}

TEST_F(WriteWholeFile, RefusesAFolder) {
  EXPECT_THROW(write_whole_file(folder(), "text"), InputError);
  EXPECT_THROW(write_whole_file(folder() / "missing" / "best.json", "text"), InputError);
  EXPECT_EQ(files(), 0u);
}

TEST_F(WriteWholeFile, WritesToADeviceOrPipeAsItIs) {
  check_writable("/dev/null");
  write_whole_file("/dev/null", "text");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));

  const fs::path pipe = folder() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  check_writable(pipe);  // Waits for no reader.
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  fs::create_symlink("pipe", folder() / "link");
  write_whole_file(folder() / "link", "text");
  char text[8] = {};
  EXPECT_EQ(read(reader, text, sizeof text), 4);
  EXPECT_STREQ(text, "text");
  EXPECT_EQ(read(reader, text, sizeof text), 0) << "its end was closed";
  const auto fail = [](const TextSink&) { throw InputError("no text"); };
  EXPECT_THROW(write_whole_file(pipe, fail), InputError);
  close(reader);
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_EQ(files(), 2u);
  EXPECT_THROW(write_whole_file("/dev/full", "text"), InputError);
}

TEST_F(WriteWholeFile, LeavesTheOldFileWhenThereIsNoRoom) {
  const fs::path file = folder() / "best.json";
  write_whole_file(file, "old");
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {.rlim_cur = 1000, .rlim_max = RLIM_INFINITY};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(1);
    try {
      write_whole_file(file, std::string(5000, 'x'));
    } catch (const InputError&) {
      _exit(2);
    }
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 2);
  EXPECT_EQ(contents(file), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(WriteWholeFile, WritesToStandardOutputByBothNames) {
  testing::internal::CaptureStdout();
  write_whole_file("-", "text\n");
  write_whole_file("/dev/stdout", "more\n");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "text\nmore\n");
  EXPECT_EQ(files(), 0u);
}

}  // namespace
}  // namespace smemtune
