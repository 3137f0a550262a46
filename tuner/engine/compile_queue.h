#pragma once

#include "tuner/engine/batch_size.h"
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

/// Feeds compile workers in the order in which modules are wanted, several requests of one program
/// together where that is faster, and remembers modules, so that a request that comes again is not
/// compiled again.
class CompileQueue {
 public:
  /// While modules of more than `max_bytes` are held, here or by whoever took them, those used
  /// longest ago are forgotten and compiling waits.
  explicit CompileQueue(WorkerPool& pool, std::size_t max_bytes = std::size_t{512} << 20)
      : pool_(pool), max_bytes_(max_bytes), held_bytes_(std::make_shared<std::size_t>(0)) {}

  /// Wants a module. The number serves ready(), take() and forget().
  std::uint64_t add(CompileRequest request);

  /// The same, before all others and whatever is held.
  std::uint64_t add_first(CompileRequest request);

  bool ready(std::uint64_t number) const;

  /// The numbers that have become ready since this was last called.
  std::vector<std::uint64_t> take_ready() { return std::exchange(ready_, {}); }

  /// REQUIRES: ready(number). Each number once.
  Outcome<Module> take(std::uint64_t number);

  /// The modules of all of them, or the first failure. REQUIRES: each is ready.
  Outcome<std::vector<Module>> take(const std::vector<std::uint64_t>& numbers);

  /// Nobody wants it any more. What is being compiled goes on.
  void forget(std::uint64_t number);

  /// Gives idle workers what is wanted.
  void pump();

  void handle(const WorkerEvent& event);

  /// Requests compiled by workers so far, not those that were remembered.
  std::uint64_t compiled() const { return compiled_; }

 private:
  struct Wanted {
    CompileRequest request;
    std::string key;
    std::string program;  ///< Equal for requests of one program.
    bool first = false;
    bool alone = false;  ///< A worker was lost over it and others.
    bool queued = false;
    std::optional<Outcome<Module>> outcome = std::nullopt;
  };
  struct Remembered {
    std::string key;
    Module module;
  };

  std::uint64_t add(CompileRequest request, bool first);
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
  std::shared_ptr<std::size_t> held_bytes_;  ///< Counted down by the modules' end.
  std::map<std::uint64_t, Wanted> wanted_;
  std::map<std::string, std::set<std::uint64_t>> numbers_;  ///< The numbers of `wanted_`.
  std::deque<std::uint64_t> order_;                         ///< Not yet given to a worker.
  std::map<std::string, std::size_t> together_;  ///< Of `order_`, those that may share a batch.
  std::map<Ticket, std::vector<std::string>> working_;  ///< Keys of what workers compile...
  std::set<std::string> working_keys_;                  ///< ... of all of them.
  std::map<std::string, BatchSize> batch_sizes_;        ///< By program.
  std::list<Remembered> remembered_;                    ///< Used last first.
  std::map<std::string, std::list<Remembered>::iterator> by_key_;
  std::vector<std::uint64_t> ready_;  ///< Of the next take_ready().
  std::uint64_t last_number_ = 0;
  std::uint64_t compiled_ = 0;
};

}  // namespace smemtune
