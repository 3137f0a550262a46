#pragma once

#include "tuner/engine/messages.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace smemtune {

/// Identifies a request to the workers; never reused in a pool.
using Ticket = std::uint64_t;

/// The spare processes of a device worker. A spare has greeted and holds no data, and takes the
/// place of the worker when that is lost.
class Spares {
 public:
  struct Spare {
    std::uint32_t number = 0;
    bool greeted = false;
  };

  /// Takes a spare for a worker that was lost, one that has greeted if there is one. Otherwise one
  /// more is wanted from now on, up to `most`.
  std::optional<Spare> take(std::size_t most);

  /// Returns true if another one is to be started.
  bool lacks_one() const { return !needs_room_ && spares_.size() < std::min(wanted_, most_); }
  void add(std::uint32_t number) { spares_.push_back({.number = number}); }

  /// Returns the spare with this number; null if there is none.
  Spare* find(std::uint32_t number);

  /// Removes one that failed, as where there is no memory for another context. No more are started
  /// than are left.
  void fail(std::uint32_t number);
  void limit() { most_ = spares_.size(); }

  /// Removes and returns all.
  std::vector<Spare> release() { return std::exchange(spares_, {}); }
  const std::vector<Spare>& all() const { return spares_; }

  /// None starts until the device is prepared, which may need all of its memory.
  void set_needs_room(bool needs_room) { needs_room_ = needs_room; }

 private:
  std::vector<Spare> spares_;
  std::size_t wanted_ = 0;
  std::size_t most_ = SIZE_MAX;
  bool needs_room_ = false;
};

/// A compile or device worker of a pool: its process, which may be replaced, and what it was asked.
struct WorkerSlot {
  enum class Presence {
    here,
    away,  ///< Its host is away.
    gone,  ///< It is no longer replaced.
  };
  struct Asked {
    Ticket ticket = 0;
    CompileBatch batch = {};  ///< The requests of a compile worker, for trying again.
    int attempts = 0;         ///< Number of failed attempts.
    bool ahead = false;       ///< True if sent while the worker was busy with another request.
  };

  bool is_device = false;
  std::size_t unit = 0;  ///< For a device worker.
  std::size_t host = 0;  ///< Index in WorkerCommand::hosts.
  Presence presence = Presence::here;
  std::uint32_t number = 0;  ///< Number of its process on its host.
  bool greeted = false;
  bool condemned = false;        ///< True if its messages are ignored until its end is reported.
  bool has_started = false;      ///< True if it or a predecessor has greeted.
  bool was_spare = false;        ///< True if it was a spare before.
  std::deque<Asked> asked = {};  ///< In the order of sending; it works on the first.
  std::uint64_t generation = 0;
  std::optional<Broken> broken = std::nullopt;
  Spares spares = {};                ///< For a device worker.
  std::array<bool, 2> in_line = {};  ///< Whether it is in each line of FreeCompilers.

  bool gone() const { return presence == Presence::gone; }
  bool away() const { return presence == Presence::away; }
  /// Returns true if it can be sent requests.
  bool is_there() const { return presence == Presence::here && greeted && !condemned; }
  const char* name() const { return is_device ? "device worker" : "compile worker"; }
};

/// The compile workers that can be sent a request, in the order in which they became free.
class FreeCompilers {
 public:
  /// The most requests that a worker is sent at a time: one, and one ahead.
  static constexpr std::size_t kMostAsked = 2;

  /// Puts a worker in line that has room for a request.
  void add(WorkerSlot& worker);

  /// Returns an idle worker, or with `ahead` also one that is at a request and takes another; null
  /// if there is none. `has_room`: whether a worker that was added still has room.
  template <typename HasRoom>
  WorkerSlot* next(bool ahead, const HasRoom& has_room) {
    for (std::size_t asked = 0; asked < (ahead ? kMostAsked : 1); ++asked) {
      std::deque<WorkerSlot*>& line = lines_[asked];
      for (; !line.empty(); line.pop_front()) {
        WorkerSlot& worker = *line.front();
        if (has_room(worker) && worker.asked.size() == asked) return &worker;
        worker.in_line[asked] = false;
      }
    }
    return nullptr;
  }

 private:
  /// Lines by the number of requests that their workers have, as of when they were added.
  std::array<std::deque<WorkerSlot*>, kMostAsked> lines_;
};

}  // namespace smemtune
