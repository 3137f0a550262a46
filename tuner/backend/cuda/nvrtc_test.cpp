#include "tuner/backend/cuda/nvrtc.h"

#include "tuner/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

namespace smemtune::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string message_of(const std::vector<std::string>& candidates) {
  try {
    open_nvrtc(candidates);
  } catch (const UnavailableError& error) {
    return error.what();
  }
  return "opened";
}

TEST(Nvrtc, SaysWhatWasTriedAndWhatWorksWithout) {
  EXPECT_THAT(message_of({"libnosuch-nvrtc.so.77", "/nosuch/libnvrtc.so"}),
              AllOf(HasSubstr("libnosuch-nvrtc.so.77"), HasSubstr("/nosuch/libnvrtc.so"),
                    HasSubstr("CUDA_PATH"), HasSubstr("CPU device work without")));
}

TEST(Nvrtc, RefusesALibraryWithoutItsFunctions) {
  EXPECT_THAT(message_of({"libc.so.6"}), HasSubstr("libc.so.6: has no nvrtcGetErrorString"));
}

TEST(Nvrtc, IsOpenedFromItsFolderOrAsAFile) {
  const Nvrtc found = open_nvrtc();
  EXPECT_EQ(found.path, open_nvrtc_at(found.path).path);
  EXPECT_EQ(found.path, open_nvrtc_at(found.path.parent_path()).path);
  EXPECT_EQ(found.path, open_nvrtc_version(version_number(found)).path);
  EXPECT_THROW(open_nvrtc_version(5000), UnavailableError);
}

TEST(Nvrtc, IsNotInAnyFolder) {
  const auto message_at = [](const char* path) -> std::string {
    try {
      open_nvrtc_at(path);
    } catch (const InputError& error) {
      return error.what();
    }
    return "opened";
  };
  EXPECT_THAT(message_at("/nosuch"), HasSubstr("/nosuch: there is no NVRTC; tried"));
  EXPECT_THAT(message_at("/dev"), HasSubstr("/dev: there is no NVRTC (libnvrtc.so)"));
}

TEST(Nvrtc, LooksForVersionedNamesFirst) {
  const auto candidates = nvrtc_candidates();
  ASSERT_GE(candidates.size(), 4u);
  EXPECT_EQ(candidates[0], "libnvrtc.so.13");
  const auto plain = std::ranges::find(candidates, "libnvrtc.so");
  EXPECT_NE(plain, candidates.end());
  for (auto toolkit = plain + 1; toolkit < candidates.end(); ++toolkit) {
    EXPECT_THAT(*toolkit, HasSubstr("/libnvrtc.so"));
  }
}

TEST(Nvrtc, HashDependsOnTheLibraryAndItsBuiltins) {
  const auto folder = std::filesystem::temp_directory_path() / "smemtune_nvrtc_test";
  std::filesystem::create_directories(folder);
  const auto write = [&](const char* file, const char* text) {
    std::ofstream(folder / file) << text;
  };
  Nvrtc nvrtc;
  nvrtc.path = folder / "libnvrtc.so.13";
  nvrtc.major = 13;
  write("libnvrtc.so.13", "library");
  const std::string alone = library_sha256(nvrtc);
  write("libnvrtc-builtins.so.13.0", "builtins");
  const std::string with_builtins = library_sha256(nvrtc);
  write("libnvrtc-builtins.so.13.0", "others");
  const std::string with_others = library_sha256(nvrtc);
  write("libnvrtc.so.13", "another library");
  const std::string another = library_sha256(nvrtc);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(alone.size(), 64u);
  EXPECT_EQ((std::set{alone, with_builtins, with_others, another}).size(), 4u);
  EXPECT_THROW((void)library_sha256(nvrtc), UnavailableError);
}

/// Returns an ELF file that has only a build ID, followed by `rest`.
std::string signed_library(const std::string& id, const std::string& rest) {
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_phoff = sizeof header;
  header.e_phnum = 1;
  Elf64_Phdr segment = {};
  segment.p_type = PT_NOTE;
  segment.p_offset = sizeof header + sizeof segment;
  Elf64_Nhdr note = {};
  note.n_namesz = 4;
  note.n_descsz = static_cast<Elf64_Word>(id.size());
  note.n_type = NT_GNU_BUILD_ID;
  segment.p_filesz = sizeof note + 4 + id.size();
  std::string text;
  const auto add = [&text](const auto& part) {
    text.append(reinterpret_cast<const char*>(&part), sizeof part);
  };
  add(header);
  add(segment);
  add(note);
  return text + std::string("GNU\0", 4) + id + rest;
}

TEST(Nvrtc, HashIsOfTheBuildIdWhereThereIsOne) {
  const auto folder = std::filesystem::temp_directory_path() / "smemtune_build_id_test";
  std::filesystem::create_directories(folder);
  const auto hash_of = [&](const std::string& content) {
    Nvrtc nvrtc;
    nvrtc.path = folder / "libnvrtc.so.13";
    std::ofstream(nvrtc.path, std::ios::binary) << content;
    return library_sha256(nvrtc);
  };
  const std::string one = hash_of(signed_library("0123456789abcdef", "code"));
  EXPECT_EQ(one, hash_of(signed_library("0123456789abcdef", "more code")));
  EXPECT_NE(one, hash_of(signed_library("0123456789abcdee", "code")));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace smemtune::cuda
