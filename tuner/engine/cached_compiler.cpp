#include "tuner/engine/cached_compiler.h"

#include "tuner/core/hash.h"
#include "tuner/engine/messages.h"
#include "tuner/engine/wire.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace smemtune {
namespace {

namespace fs = std::filesystem;

// Part of every file's name: what lies in a cache of another layout is not read. Raise it when
// CompiledKernel or CompileRequest change.
constexpr std::string_view kLayout = "smemtune-module-1";

std::string file_name(const Compiler& compiler, const CompileRequest& request) {
  const std::vector<std::uint8_t> asked = pack(request);
  std::string text(kLayout);
  text += '\n' + compiler.version() + '\n' + compiler.sha256() + '\n';
  text.append(asked.begin(), asked.end());
  return sha256(text) + ".module";
}

std::optional<CompiledKernel> read(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return std::nullopt;
  const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(stream), {}};
  std::uint32_t checksum = 0;
  if (bytes.size() < sizeof checksum) return std::nullopt;
  std::memcpy(&checksum, bytes.data(), sizeof checksum);
  const std::span<const std::uint8_t> payload = std::span(bytes).subspan(sizeof checksum);
  if (crc32(payload) != checksum) return std::nullopt;
  try {
    return unpack<CompiledKernel>(payload);
  } catch (const WireError&) {
    return std::nullopt;
  }
}

/// Whole or not at all: a temporary beside it, then a rename. Nothing happens when that fails.
void write(const fs::path& file, const CompiledKernel& kernel) {
  const std::vector<std::uint8_t> payload = pack(kernel);
  const std::uint32_t checksum = crc32(payload);
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  const fs::path temporary = file.string() + "." + std::to_string(getpid());
  {
    std::ofstream stream(temporary, std::ios::binary | std::ios::trunc);
    stream.write(reinterpret_cast<const char*>(&checksum), sizeof checksum);
    stream.write(reinterpret_cast<const char*>(payload.data()),
                 static_cast<std::streamsize>(payload.size()));
    stream.close();
    if (!stream) {
      fs::remove(temporary, error);
      return;
    }
  }
  fs::rename(temporary, file, error);
  if (error) fs::remove(temporary, error);
}

}  // namespace

CachedCompiler::CachedCompiler(std::unique_ptr<Compiler> compiler, fs::path folder,
                               std::uint64_t max_bytes)
    : compiler_(std::move(compiler)),
      folder_(std::move(folder)),
      max_bytes_(max_bytes),
      written_since_trim_(max_bytes) {}

Outcome<CompiledKernel> CachedCompiler::compile(const CompileRequest& request) {
  const fs::path file = folder_ / file_name(*compiler_, request);
  if (std::optional<CompiledKernel> kept = read(file)) return std::move(*kept);
  Outcome<CompiledKernel> compiled = compiler_->compile(request);
  if (compiled) {
    write(file, *compiled);
    written_since_trim_ += compiled->image.size();
    if (written_since_trim_ > max_bytes_ / 16) {
      trim();
      written_since_trim_ = 0;
    }
  }
  return compiled;
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
    // Another process may remove files meanwhile: what cannot be asked is passed over.
    std::error_code gone;
    if (entry->path().extension() != ".module") continue;
    const auto written = entry->last_write_time(gone);
    if (gone) continue;
    const std::uint64_t bytes = entry->file_size(gone);
    if (gone) continue;
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
  if (const char* cache = set("XDG_CACHE_HOME")) return fs::path(cache) / "smemtune";
  const char* home = set("HOME");
  return home == nullptr ? fs::path() : fs::path(home) / ".cache" / "smemtune";
}

}  // namespace smemtune
