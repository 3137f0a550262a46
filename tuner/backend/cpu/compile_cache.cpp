#include "tuner/backend/cpu/compile_cache.h"

#include "tuner/core/hash.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace smemtune::cpu {

namespace {

// A file is the SHA-256 of the rest, then the fields, texts and numbers as decimal length + ':' +
// bytes.
constexpr std::size_t kHashLength = 64;

class FieldWriter {
 public:
  void add(std::string_view bytes) {
    text_ += std::to_string(bytes.size()) + ":";
    text_ += bytes;
  }
  void add(std::int64_t number) { add(std::to_string(number)); }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Reads what a FieldWriter wrote; the hash has been checked, so the form is right.
class FieldReader {
 public:
  explicit FieldReader(std::string_view text) : rest_(text) {}

  std::string_view bytes() {
    const std::size_t colon = rest_.find(':');
    const std::size_t length =
        std::strtoull(std::string(rest_.substr(0, colon)).c_str(), nullptr, 10);
    const std::string_view field = rest_.substr(colon + 1, length);
    rest_.remove_prefix(colon + 1 + length);
    return field;
  }
  std::string text() { return std::string(bytes()); }
  std::int64_t number() { return std::strtoll(text().c_str(), nullptr, 10); }

 private:
  std::string_view rest_;
};

std::string to_fields(const CompiledKernel& kernel) {
  FieldWriter fields;
  fields.add(static_cast<std::int64_t>(kernel.entries.size()));
  for (const CompiledEntry& entry : kernel.entries) {
    fields.add(entry.name_expression);
    fields.add(entry.lowered_name);
    fields.add(entry.resources.static_shared_bytes);
  }
  fields.add(static_cast<std::int64_t>(kernel.symbols.size()));
  for (const CompiledSymbol& symbol : kernel.symbols) {
    fields.add(symbol.name_expression);
    fields.add(symbol.lowered_name);
  }
  fields.add(kernel.log);
  fields.add(
      std::string_view(reinterpret_cast<const char*>(kernel.image.data()), kernel.image.size()));
  return fields.text();
}

CompiledKernel from_fields(std::string_view text) {
  FieldReader fields(text);
  CompiledKernel kernel;
  for (std::int64_t left = fields.number(); left > 0; --left) {
    CompiledEntry entry;
    entry.name_expression = fields.text();
    entry.lowered_name = fields.text();
    entry.resources.static_shared_bytes = fields.number();
    kernel.entries.push_back(entry);
  }
  for (std::int64_t left = fields.number(); left > 0; --left) {
    CompiledSymbol symbol;
    symbol.name_expression = fields.text();
    symbol.lowered_name = fields.text();
    kernel.symbols.push_back(symbol);
  }
  kernel.log = fields.text();
  const std::string_view image = fields.bytes();
  kernel.image.assign(image.begin(), image.end());
  return kernel;
}

}  // namespace

CompileCache::CompileCache(std::filesystem::path folder, std::uintmax_t max_bytes)
    : folder_(std::move(folder)), max_bytes_(max_bytes) {
  if (folder_.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  // What lies here is loaded and run.
  std::filesystem::permissions(folder_, std::filesystem::perms::owner_all, error);
  if (error) folder_.clear();
}

std::optional<CompiledKernel> CompileCache::find(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  std::ifstream stream(file(key), std::ios::binary);
  if (!stream) return std::nullopt;
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  if (text.size() < kHashLength) return std::nullopt;
  const std::string_view fields = std::string_view(text).substr(kHashLength);
  if (sha256(fields) != text.substr(0, kHashLength)) return std::nullopt;
  std::error_code ignored;
  std::filesystem::last_write_time(file(key), std::filesystem::file_time_type::clock::now(),
                                   ignored);
  return from_fields(fields);
}

void CompileCache::keep(const std::string& key, const CompiledKernel& kernel) const {
  if (folder_.empty()) return;
  const std::string fields = to_fields(kernel);
  // Written beside and renamed, so that another process never reads half a file.
  const std::filesystem::path beside = file(key).string() + "." + std::to_string(getpid());
  std::error_code error;
  {
    std::ofstream stream(beside, std::ios::binary | std::ios::trunc);
    stream << sha256(fields) << fields;
    stream.close();
    if (stream) {
      std::filesystem::rename(beside, file(key), error);
    } else {
      error = std::make_error_code(std::errc::io_error);
    }
  }
  if (error) std::filesystem::remove(beside, error);
  remove_oldest();
}

std::filesystem::path CompileCache::file(const std::string& key) const { return folder_ / key; }

void CompileCache::remove_oldest() const {
  struct Entry {
    std::filesystem::file_time_type used;
    std::uintmax_t bytes = 0;
    std::filesystem::path path;
  };
  std::vector<Entry> entries;
  std::uintmax_t total = 0;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(folder_, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::error_code gone;  // Another process may remove files at the same time.
    const std::uintmax_t bytes = entry->file_size(gone);
    const auto used = entry->last_write_time(gone);
    if (gone) continue;
    entries.push_back({.used = used, .bytes = bytes, .path = entry->path()});
    total += bytes;
  }
  std::ranges::sort(entries, {}, &Entry::used);
  for (const Entry& entry : entries) {
    if (total <= max_bytes_) break;
    std::filesystem::remove(entry.path, error);
    total -= entry.bytes;
  }
}

std::filesystem::path default_cache_folder() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (variable("SMEMTUNE_CACHE") == "off") return {};
  if (!variable("XDG_CACHE_HOME").empty()) {
    return std::filesystem::path(variable("XDG_CACHE_HOME")) / "smemtune" / "cpu";
  }
  if (variable("HOME").empty()) return {};
  return std::filesystem::path(variable("HOME")) / ".cache" / "smemtune" / "cpu";
}

}  // namespace smemtune::cpu
