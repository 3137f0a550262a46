#include "tuner/engine/cached_compiler.h"

#include "tuner/core/hash.h"
#include "tuner/engine/messages.h"
#include "tuner/engine/private_files.h"
#include "tuner/engine/wire.h"
#include "tuner/engine/worker_process.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <map>
#include <optional>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace smemtune {
namespace {

namespace fs = std::filesystem;

// Part of every file's name, so that files of another layout are not read. Raise it when
// CompiledKernel or CompileRequest change, or what a compiler reads from the machine code.
constexpr std::string_view kLayout = "smemtune-module-8";

std::string file_name(const Compiler& compiler, const CompileRequest& request) {
  const std::vector<std::uint8_t> asked = pack(request);
  std::string text(kLayout);
  text += '\n' + compiler.version() + '\n' + compiler.sha256() + '\n';
  text.append(asked.begin(), asked.end());
  return sha256(text) + ".module";
}

/// Returns the checksum that a file begins with, by which a damaged file is recognized.
std::string seal(std::span<const std::uint8_t> payload) {
  return sha256({reinterpret_cast<const char*>(payload.data()), payload.size()});
}
constexpr std::size_t kSealBytes = 64;

std::optional<CompiledKernel> read_module(const fs::path& file) {
  const std::optional<std::vector<std::uint8_t>> bytes = read_private(file);
  if (!bytes || bytes->size() < kSealBytes) return std::nullopt;
  const std::span<const std::uint8_t> payload = std::span(*bytes).subspan(kSealBytes);
  if (!std::ranges::equal(seal(payload), std::span(*bytes).first(kSealBytes))) {
    return std::nullopt;
  }
  try {
    return unpack<CompiledKernel>(payload);
  } catch (const WireError&) {
    return std::nullopt;
  }
}

}  // namespace

CachedCompiler::CachedCompiler(std::unique_ptr<Compiler> compiler, fs::path folder,
                               std::uint64_t max_bytes)
    : compiler_(std::move(compiler)),
      folder_(std::move(folder)),
      max_bytes_(max_bytes),
      written_since_trim_(max_bytes) {}

Outcome<CompiledKernel> CachedCompiler::compile(const CompileRequest& request) {
  if (std::optional<CompiledKernel> kept = find(request)) return std::move(*kept);
  Outcome<CompiledKernel> compiled = compiler_->compile(request);
  if (compiled) keep({file(request)}, *compiled);
  return compiled;
}

CompiledTogether CachedCompiler::compile_together(std::span<const CompileRequest> requests) {
  CompiledTogether outcomes(requests.size(), Failure{});
  std::vector<CompileRequest> missing;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (std::optional<CompiledKernel> kept = find(requests[i])) {
      outcomes[i] = std::make_shared<const CompiledKernel>(std::move(*kept));
    } else {
      missing.push_back(requests[i]);
      places.push_back(i);
    }
  }
  if (missing.empty()) return outcomes;
  const CompiledTogether compiled = compiler_->compile_together(missing);
  std::map<const CompiledKernel*, std::vector<fs::path>> files;
  for (std::size_t i = 0; i < missing.size(); ++i) {
    outcomes[places[i]] = compiled[i];
    if (compiled[i]) files[compiled[i]->get()].push_back(file(missing[i]));
  }
  for (const auto& [module, names] : files) keep(names, *module);
  return outcomes;
}

fs::path CachedCompiler::file(const CompileRequest& request) const {
  return folder_ / file_name(*compiler_, request);
}

std::optional<CompiledKernel> CachedCompiler::find(const CompileRequest& request) {
  std::optional<CompiledKernel> kept = read_module(file(request));
  const auto is_as_it_was = [this](const ReadPlace& place) {
    const auto [state, is_new] = states_.try_emplace(place.path);
    if (is_new) state->second = state_of(place.path);
    return state->second == place.state;
  };
  if (kept && !std::ranges::all_of(kept->read, is_as_it_was)) return std::nullopt;
  return kept;
}

void CachedCompiler::keep(const std::vector<fs::path>& files, const CompiledKernel& kernel) {
  const std::vector<std::uint8_t> payload = pack(kernel);
  std::string sealed = seal(payload);
  sealed.append(payload.begin(), payload.end());
  write_private(files, sealed);
  written_since_trim_ += kernel.image.size();
  if (written_since_trim_ <= max_bytes_ / 16) return;
  trim();
  written_since_trim_ = 0;
}

void CachedCompiler::trim() const {
  struct File {
    fs::file_time_type written;
    std::uint64_t bytes = 0;
    fs::path path;
  };
  std::vector<File> files;
  std::uint64_t total = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end;
       entry.increment(error)) {
    // Another process may remove files meanwhile; a file that cannot be examined is skipped.
    std::error_code gone;
    const auto written = entry->last_write_time(gone);
    if (gone) continue;
    if (entry->path().extension() != ".module") {
      // A leftover of a process that was killed while it wrote.
      if (fs::file_time_type::clock::now() - written > std::chrono::hours(1)) {
        fs::remove(entry->path(), gone);
      }
      continue;
    }
    const std::uint64_t size = entry->file_size(gone);
    if (gone) continue;
    const std::uint64_t names = entry->hard_link_count(gone);
    if (gone) continue;
    const std::uint64_t bytes = size / std::max<std::uint64_t>(1, names);
    files.push_back({written, bytes, entry->path()});
    total += bytes;
  }
  std::sort(files.begin(), files.end(),
            [](const File& left, const File& right) { return left.written < right.written; });
  for (const File& file : files) {
    if (total <= max_bytes_) break;
    fs::remove(file.path, error);
    total -= file.bytes;
  }
}

fs::path default_cache_folder() {
  const auto set = [](const char* name) -> const char* {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : nullptr;
  };
  if (const char* folder = set("SMEMTUNE_CACHE")) {
    return std::string_view(folder) == "off" ? fs::path() : fs::path(folder);
  }
  if (const char* scratch = set("SMEMTUNE_SCRATCH")) {  // Others may use this folder, too.
    return fs::path(scratch) / ("smemtune-" + std::to_string(geteuid()));
  }
  if (const char* cache = set("XDG_CACHE_HOME")) return fs::path(cache) / "smemtune";
  const char* home = set("HOME");
  return home == nullptr ? fs::path() : fs::path(home) / ".cache" / "smemtune";
}

}  // namespace smemtune
