#pragma once

#include "tuner/engine/worker_pool.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace smemtune {

/// Chooses how many configurations of one program to compile together. A program has a fixed cost
/// (its source is parsed, a process started, something linked) and a cost for each entry. Both are
/// estimated from what was compiled so far, and batches grow until the fixed part is small.
class BatchSize {
 public:
  /// Records that a module of `entries` entries took `compile_ms` milliseconds to compile.
  void add(std::size_t entries, double compile_ms);

  /// Returns the size of the next batch, at least 1, when `waiting` configurations wait for
  /// `workers` workers. No worker is left without work for the sake of a larger batch, and no batch
  /// takes much longer than kMaxBatch_ms.
  std::size_t next(std::size_t waiting, std::size_t workers) const;

  /// Returns whether it is known that compiling several together is not worthwhile.
  bool is_known_to_be_one() const {
    return singles_.count > 0 && batches_.count > 0 && wanted() == 1;
  }

  static constexpr double kMaxBatch_ms = 2000;
  static constexpr std::size_t kMaxEntries = 64;

 private:
  struct Mean {
    double entries = 0;
    double compile_ms = 0;
    double count = 0;
    void add(double more_entries, double more_ms);
  };

  std::size_t wanted() const;

  Mean singles_;
  Mean batches_;
};

/// Feeds compile workers with requests in the order in which their modules are wanted, several
/// requests of one program together where that is faster. Remembers modules, so that a repeated
/// request is not compiled again.
class CompileQueue {
 public:
  /// While modules of more than `max_bytes` are held, by this queue or by their users, the least
  /// recently used ones are forgotten and compiling waits.
  explicit CompileQueue(WorkerPool& pool, std::size_t max_bytes = std::size_t{512} << 20)
      : pool_(pool), max_bytes_(max_bytes), held_bytes_(std::make_shared<std::size_t>(0)) {}

  /// Requests a module and returns the number for ready(), take() and forget(). `first`: ahead of all
  /// requests that were not added so, and regardless of how many bytes are held.
  std::uint64_t add(CompileRequest request, bool first = false);

  /// Returns whether requests of this one's program are known to be best compiled one by one, so that
  /// those which are added as `first` cost no more than others.
  bool compiles_alone(const CompileRequest& request) const;

  /// Returns true if a module was requested, whatever has become of it.
  bool was_asked() const { return last_number_ > 0; }

  bool ready(std::uint64_t number) const;

  /// Requests several modules, as add() does, and returns their numbers.
  std::vector<std::uint64_t> add_all(const std::vector<CompileRequest>& requests,
                                     bool first = false);
  bool all_ready(const std::vector<std::uint64_t>& numbers) const;

  /// Returns the numbers that have become ready since the last call.
  std::vector<std::uint64_t> take_ready() { return std::exchange(ready_, {}); }

  /// Takes a module out of the queue, which forgets the number. REQUIRES: ready(number).
  Outcome<Module> take(std::uint64_t number);

  /// Takes the modules of all numbers, or returns the first failure. REQUIRES: each is ready.
  Outcome<std::vector<Module>> take(const std::vector<std::uint64_t>& numbers);

  /// Withdraws a request. A compilation that has begun goes on.
  void forget(std::uint64_t number);

  /// Gives waiting requests to idle workers.
  void pump();

  void handle(const WorkerEvent& event);

  /// Number of requests compiled by workers so far; remembered modules do not count.
  std::uint64_t compiled() const { return compiled_; }

 private:
  struct Wanted {
    CompileRequest request;
    std::string key;
    std::string program;  ///< Hash that requests of one program share.
    bool first = false;
    bool alone = false;  ///< True if a worker was lost while compiling this and other requests.
    bool queued = false;
    std::optional<Outcome<Module>> outcome = std::nullopt;
  };
  struct Remembered {
    std::string key;
    Module module;
  };

  void enqueue(std::uint64_t number, bool at_front);
  void dequeue(std::uint64_t number);
  std::vector<std::uint64_t> next_batch();
  void settle(std::uint64_t number, Outcome<Module> outcome);
  void settle_all(const std::string& key, const Outcome<Module>& outcome);
  Module hold(const Module& module) const;
  void remember(const std::string& key, const Module& module);
  Module recall(const std::string& key);
  void make_room();

  WorkerPool& pool_;
  std::size_t max_bytes_;
  std::shared_ptr<std::size_t> held_bytes_;  ///< Shared with the deleters of the modules, which
                                             ///< subtract from it.
  std::map<std::uint64_t, Wanted> wanted_;
  /// Numbers in `wanted_` by key.
  std::map<std::string, std::set<std::uint64_t>> numbers_;
  std::deque<std::uint64_t> order_;  ///< Requests not yet given to a worker.
  /// Number of requests of `order_` that may share a batch, by program.
  std::map<std::string, std::size_t> together_;
  std::map<Ticket, std::vector<std::string>> working_;  ///< Keys of what each worker compiles.
  std::set<std::string> working_keys_;                  ///< The keys of `working_`.
  std::map<std::string, BatchSize> batch_sizes_;        ///< One for each program.
  std::list<Remembered> remembered_;                    ///< Most recently used first.
  std::map<std::string, std::list<Remembered>::iterator> by_key_;
  std::vector<std::uint64_t> ready_;  ///< Result of the next take_ready().
  std::uint64_t last_number_ = 0;
  std::uint64_t compiled_ = 0;
};

}  // namespace smemtune
