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

/// Reads files in a separate thread, a few runs or parts of runs ahead of the consumer.
class ReadAhead {
 public:
  ReadAhead(const std::vector<std::filesystem::path>& files, const db::ImportNames& names,
            db::Runs runs);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;
  ReadAhead(ReadAhead&&) = delete;
  ReadAhead& operator=(ReadAhead&&) = delete;

  /// Returns the next run, or part of one, of the current file, or an ImportedFile when that file
  /// has ended. Throws what reading it threw. REQUIRES: not all files have ended.
  std::variant<db::RunRecord, db::ImportedFile> next();

  /// Lets the reading thread free the memory that it allocated, which would cost more in another
  /// thread.
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
  bool is_unwanted_ = false;  ///< True if no more items are needed.
  std::thread thread_;
};

}  // namespace smemtune::cli
