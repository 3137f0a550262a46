#pragma once

#include "db/import.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <filesystem>
#include <mutex>
#include <thread>
#include <variant>
#include <vector>

namespace smemtune::cli {

/// Reads files in a thread of its own, a few runs or parts of runs ahead of who stores them.
class ReadAhead {
 public:
  ReadAhead(const std::vector<std::filesystem::path>& files, const db::ImportNames& names,
            db::Runs runs);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;
  ReadAhead(ReadAhead&&) = delete;
  ReadAhead& operator=(ReadAhead&&) = delete;

  /// A run, or part of one, of the next file that is not at its end, or that it ended. Throws what
  /// reading it threw. REQUIRES: not all files have ended.
  std::variant<db::RunRecord, db::ImportedFile> next();

  /// Leaves it to the reading thread to free what that thread allocated: elsewhere it costs more.
  void discard(db::RunRecord&& used);

 private:
  using Item = std::variant<db::RunRecord, db::ImportedFile, std::exception_ptr>;

  void read(const std::vector<std::filesystem::path>& files, const db::ImportNames& names,
            db::Runs runs);
  void put(Item&& item);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> items_;
  std::vector<db::RunRecord> used_;
  bool is_unwanted_ = false;  ///< Nobody asks any more.
  std::thread thread_;
};

}  // namespace smemtune::cli
