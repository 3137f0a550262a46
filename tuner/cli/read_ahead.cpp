#include "tuner/cli/read_ahead.h"

#include "tuner/core/error.h"

#include <utility>

namespace smemtune::cli {

namespace {

/// Maximum number of items read ahead; a run, or part of one, may have thousands of results.
constexpr std::size_t kMostAhead = 4;

}  // namespace

ReadAhead::ReadAhead(const std::vector<std::filesystem::path>& files, const db::ImportNames& names,
                     db::Runs runs)
    : thread_([this, files, names, runs] { read(files, names, runs); }) {}

ReadAhead::~ReadAhead() {
  {
    const std::lock_guard lock(mutex_);
    is_unwanted_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::variant<db::RunRecord, db::ImportedFile> ReadAhead::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !items_.empty(); });
  Item item = std::move(items_.front());
  items_.pop_front();
  changed_.notify_all();
  if (auto* error = std::get_if<std::exception_ptr>(&item)) std::rethrow_exception(*error);
  if (auto* run = std::get_if<db::RunRecord>(&item)) return std::move(*run);
  return std::get<db::ImportedFile>(std::move(item));
}

void ReadAhead::discard(db::RunRecord&& used) {
  const std::lock_guard lock(mutex_);
  used_.push_back(std::move(used));
}

void ReadAhead::read(const std::vector<std::filesystem::path>& files, const db::ImportNames& names,
                     db::Runs runs) {
  try {
    for (const std::filesystem::path& file : files) {
      put(db::read_runs(file, names, runs, [this](db::RunRecord&& run) { put(std::move(run)); }));
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    items_.emplace_back(std::current_exception());
    changed_.notify_all();
  }
}

void ReadAhead::put(Item&& item) {
  std::vector<db::RunRecord> used;  // Freed after the lock is released.
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return is_unwanted_ || items_.size() < kMostAhead; });
  if (is_unwanted_) throw Error("nobody asks for what is read any more");
  items_.push_back(std::move(item));
  used.swap(used_);
  changed_.notify_all();
}

}  // namespace smemtune::cli
