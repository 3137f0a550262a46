#include "tuner/backend/compiler.h"

#include "tuner/core/hash.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <sys/stat.h>
#include <system_error>
#include <utility>
#include <vector>

namespace smemtune {

namespace {

using Places = std::span<const std::size_t>;

template <typename T>
void add_new(std::vector<T>& all, const std::vector<T>& more) {
  for (const T& one : more) {
    if (std::ranges::find(all, one) == all.end()) all.push_back(one);
  }
}

/// Compiles one program for the requests at `places`, which all belong to it.
void compile_as_one(Compiler& compiler, std::span<const CompileRequest> requests, Places places,
                    CompiledTogether& outcomes) {
  CompileRequest merged = requests[places.front()];
  for (const std::size_t place : places.subspan(1)) {
    add_new(merged.name_expressions, requests[place].name_expressions);
    add_new(merged.symbol_expressions, requests[place].symbol_expressions);
    add_new(merged.signatures, requests[place].signatures);
  }
  Outcome<CompiledKernel> compiled = compiler.compile(merged);
  if (compiled) {
    const auto module = std::make_shared<const CompiledKernel>(std::move(*compiled));
    for (const std::size_t place : places) outcomes[place] = module;
  } else if (places.size() == 1) {
    outcomes[places.front()] = compiled.failure();
  } else {
    const std::size_t half = places.size() / 2;
    compile_as_one(compiler, requests, places.first(half), outcomes);
    compile_as_one(compiler, requests, places.subspan(half), outcomes);
  }
}

}  // namespace

const CompiledEntry* CompiledKernel::entry(const std::string& name_expression) const {
  const auto found = std::ranges::find(entries, name_expression, &CompiledEntry::name_expression);
  return found == entries.end() ? nullptr : &*found;
}

const CompiledSymbol* CompiledKernel::symbol(const std::string& name_expression) const {
  const auto found = std::ranges::find(symbols, name_expression, &CompiledSymbol::name_expression);
  return found == symbols.end() ? nullptr : &*found;
}

bool of_one_program(const CompileRequest& a, const CompileRequest& b) {
  return a.architecture == b.architecture && a.options == b.options && a.source == b.source;
}

CompiledTogether Compiler::compile_together(std::span<const CompileRequest> requests) {
  CompiledTogether outcomes(requests.size(), Failure{});
  std::vector<bool> done(requests.size());
  for (std::size_t first = 0; first < requests.size(); ++first) {
    if (done[first]) continue;
    std::vector<std::size_t> places;
    for (std::size_t i = first; i < requests.size(); ++i) {
      if (done[i] || !of_one_program(requests[first], requests[i])) continue;
      places.push_back(i);
      done[i] = true;
    }
    compile_as_one(*this, requests, places, outcomes);
  }
  return outcomes;
}

namespace {

namespace fs = std::filesystem;

std::string text_of(const timespec& time) {
  return std::to_string(time.tv_sec) + "." + std::to_string(time.tv_nsec);
}

/// Contains the time of the status change too, because the time of the last write can be set back.
std::string text_of(const struct stat& found) {
  return std::to_string(found.st_size) + " " + text_of(found.st_mtim) + " " +
         text_of(found.st_ctim);
}

class FolderState {
 public:
  std::string of(const fs::path& folder) {
    add(folder);
    std::ranges::sort(lines_);  // The order of a folder's entries is arbitrary.
    std::string text;
    for (const std::string& line : lines_) text += line + "\n";
    return sha256(text);
  }

 private:
  void add(const fs::path& folder) {
    struct stat found = {};
    if (stat(folder.c_str(), &found) != 0) return;
    if (!seen_.insert({found.st_dev, found.st_ino}).second) return;  // Links may form a ring.
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
      const fs::path& path = entry->path();
      if (stat(path.c_str(), &found) != 0) continue;
      if (S_ISDIR(found.st_mode)) {
        add(path);
      } else {
        lines_.push_back(path.string() + " " + text_of(found));
      }
    }
  }

  std::set<std::pair<dev_t, ino_t>> seen_;
  std::vector<std::string> lines_;
};

}  // namespace

std::string state_of(const fs::path& place) {
  struct stat found = {};
  if (stat(place.c_str(), &found) != 0) return "missing";
  return S_ISDIR(found.st_mode) ? FolderState().of(place) : text_of(found);
}

ReadPlace read_place(const fs::path& place) {
  return {.path = place.string(), .state = state_of(place)};
}

ReadPlace read_since(const fs::path& file, std::chrono::system_clock::time_point begun) {
  // A file system's clock may lag behind by a tick.
  constexpr std::chrono::milliseconds kTick{20};
  struct stat found = {};
  const bool is_there = stat(file.c_str(), &found) == 0;
  const auto last_s = std::max(
      std::chrono::seconds(found.st_ctim.tv_sec) + std::chrono::nanoseconds(found.st_ctim.tv_nsec),
      std::chrono::seconds(found.st_mtim.tv_sec) + std::chrono::nanoseconds(found.st_mtim.tv_nsec));
  if (!is_there || last_s > (begun - kTick).time_since_epoch()) {
    return {.path = file.string(), .state = "unknown"};
  }
  return {.path = file.string(), .state = text_of(found)};
}

}  // namespace smemtune
