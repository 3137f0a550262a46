#pragma once

#include "tuner/init/host_memory.h"

namespace smemtune {

/// The launches of a host in its order, each with what is around it. A walk through the host's
/// functions tells where it is; what lies outside of them launches nothing, and has no function.
class HostLaunches {
 public:
  explicit HostLaunches(const CppTokens& tokens);

  /// Begins a function or a branch: it does not go straight to here from a launch.
  void begin() { follows_ = false; }
  void clear();
  std::size_t count() const { return launches_.size(); }

  /// The place before branches, for leave_branches().
  struct Outside {
    std::size_t launches = 0;
    std::size_t conditions = 0;
    bool is_chosen = false;
    bool follows = false;
  };
  /// Enters one of several branches that `condition` chooses from.
  Outside enter_branches(std::size_t line, const std::string& condition, const HostState& state);
  void leave_branches(const Outside& outside);

  /// Records the launches in a range that are not yet recorded.
  void record(TokenRange range, const DeclaredFunction* function, const HostState& state);
  /// Records a copy on the device as the launch that does the same. A copy from or to the host is a
  /// launch of no kernel, which no other follows.
  void record_transfer(const CallText& call, std::size_t token, const DeclaredFunction* function,
                       const HostState& state);

  void enter_loop(const CountingLoop& loop) { loops_.push_back(loop); }
  void leave_loop() { loops_.pop_back(); }
  bool is_in_loop() const { return !loops_.empty(); }
  /// Returns true for the counter of a loop around this place.
  bool counts_turns(const std::string& name) const;
  /// Notes that what follows is done only in the loop's turn with this value of its counter.
  void set_turn(const std::string& counter, const std::string& value) { turns_[counter] = value; }
  void forget_turn(const std::string& counter) { turns_.erase(counter); }

  /// Returns the launches, each with the functions on the way to it.
  std::vector<LaunchSite> sites(const HostMemory& memory, const Sizes& common,
                                const Callers& callers) const;

 private:
  /// A launch, and what its function knows there.
  struct Launch {
    LaunchSite site;
    const DeclaredFunction* function = nullptr;
    HostState state;
  };

  void add(LaunchSite site, std::size_t token, const DeclaredFunction& function,
           const HostState& state);
  /// Adds a launch of an element of a list of kernels as a launch of each, between which the host
  /// chooses.
  void add_each(const std::vector<std::string>& kernels, LaunchSite site, std::size_t token,
                const DeclaredFunction& function, const HostState& state);
  void add_surroundings(LaunchSite& site, std::size_t token, const DeclaredFunction& function,
                        const HostState& state) const;

  const CppTokens& tokens_;
  std::vector<TokenRange> asserts_;
  std::vector<Launch> launches_;
  std::set<std::size_t> seen_;  ///< Tokens of launches.

  // The present place.
  std::vector<CountingLoop> loops_;  ///< Loops around it.
  /// Counters of these loops that a `case` around it has a number for.
  std::map<std::string, std::string> turns_;
  /// Conditions on it that change from turn to turn of a loop: their lines and texts.
  std::vector<std::pair<std::size_t, std::string>> conditions_;
  bool is_chosen_ = false;
  bool follows_ = false;  ///< True if it goes straight to here from a launch.
};

}  // namespace smemtune
