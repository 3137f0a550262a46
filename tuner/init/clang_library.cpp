#include "tuner/init/clang_library.h"

#include "tuner/core/error.h"
#include "tuner/core/library_function.h"

#include <algorithm>
#include <dlfcn.h>
#include <filesystem>
#include <functional>

namespace smemtune {
namespace {

namespace fs = std::filesystem;

/// Returns the places where distributions put the library, the newest version first.
std::vector<std::string> usual_places() {
  constexpr int kNewest = 30;
  constexpr int kOldest = 13;
  std::vector<std::string> places;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("/usr/lib", error)) {
    if (!entry.path().filename().string().starts_with("llvm-")) continue;
    places.push_back((entry.path() / "lib" / "libclang.so.1").string());
  }
  std::ranges::sort(places, std::greater());
  for (int version = kNewest; version >= kOldest; --version) {
    places.push_back("libclang-" + std::to_string(version) + ".so.1");
  }
  places.insert(places.end(), {"libclang.so.1", "libclang.so"});
  return places;
}

/// Fills the table. Returns false if the library lacks a function.
bool fill(void* library, ClangLibrary& table) {
  bool is_whole = true;
#define SMEMTUNE_LOOK_UP(name) \
  is_whole = find_function(library, "clang_" #name, table.name) && is_whole;
  SMEMTUNE_CLANG_FUNCTIONS(SMEMTUNE_LOOK_UP)
#undef SMEMTUNE_LOOK_UP
  return is_whole;
}

}  // namespace

std::string ClangLibrary::text(CXString string) const {
  const char* const characters = getCString(string);
  std::string copy = characters == nullptr ? "" : characters;
  disposeString(string);
  return copy;
}

ClangLibrary open_clang(const std::vector<std::string>& candidates) {
  for (const std::string& candidate : candidates) {
    void* const library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    ClangLibrary table;
    if (fill(library, table)) return table;
    static_cast<void>(dlclose(library));  // It lacks a function, so nothing of it was used.
  }
  throw InputError(
      "init reads CUDA through libclang, which is not here: install it (Debian and Ubuntu: apt-get "
      "install libclang-dev)");
}

const ClangLibrary& clang() {
  static const ClangLibrary library = open_clang(usual_places());
  return library;
}

}  // namespace smemtune
