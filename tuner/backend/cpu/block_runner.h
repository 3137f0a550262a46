#pragma once

#include "tuner/backend/cpu/buffers.h"
#include "tuner/backend/cpu/kernel_abi.h"
#include "tuner/backend/cpu/module.h"
#include "tuner/backend/cpu/shared_memory.h"
#include "tuner/core/kernel_binding.h"
#include "tuner/core/outcome.h"

#include <array>
#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <setjmp.h>
#include <signal.h>
#include <string>
#include <vector>

namespace smemtune::cpu {

/// One launch of a kernel.
struct Grid {
  std::string kernel;  ///< For messages: the entry's name expression.
  Module* module = nullptr;
  Module::Entry entry = nullptr;
  void** arguments = nullptr;
  const Buffers* buffers = nullptr;
  Dim3 grid = {1, 1, 1};
  Dim3 block = {1, 1, 1};
  std::size_t dynamic_shared_bytes = 0;
  std::optional<std::uint64_t> shuffle_seed;  ///< Threads run in an order of the seed's.
  /// What reads what its block has not written goes on: another thread may write it next, and then
  /// it is a race.
  bool seeks_races = false;

  std::uint64_t blocks() const { return static_cast<std::uint64_t>(volume(grid)); }
};

/// Runs blocks, one after the other, on the OS thread that calls it.
///
/// A CUDA thread runs until it waits for others at a barrier or in a warp's operation; then the
/// next one runs. Each waiting thread has a stack of its own (Boost.Context), but threads that
/// never wait share one, so that kernels without barriers cost no switches.
///
/// A barrier is complete when every thread of the block has arrived; one that has returned never
/// arrives, which the programming guide leaves undefined and hardware may forgive. When no thread
/// can go on, those that wait and those that are missing are reported as `unreached_barrier`.
class BlockRunner {
 public:
  BlockRunner();
  ~BlockRunner();
  BlockRunner(const BlockRunner&) = delete;
  BlockRunner& operator=(const BlockRunner&) = delete;

  /// Runs the block of that number (x fastest). A Failure names kernel, block and thread. Signals
  /// of the kernel's faults are caught while a FaultSignals lives.
  std::optional<Failure> run(const Grid& grid, std::uint64_t block_number);

 private:
  friend void on_fault_signal(int signal, siginfo_t* info, void* context);

  /// `running` is also a thread that has not begun.
  enum class State : std::uint8_t { running, ready, at_barrier, in_warp, returned };

  /// A stack, and whose it is.
  struct Fiber {
    unsigned char* stack = nullptr;
    boost::context::detail::fcontext_t context = nullptr;  ///< Null: begins anew.
    void* fake_stack = nullptr;                            ///< AddressSanitizer's.
    abi::Thread* thread() const;
  };

  struct Lane {
    unsigned long long value = 0;
    unsigned long long result = 0;
    unsigned mask = 0;
    int source = -1;
  };

  struct Warp {
    unsigned arrived = 0;
    unsigned active = 0;
  };

  /// What kernels get a pointer to.
  struct Block : abi::Block {
    BlockRunner* runner = nullptr;
  };

  void begin(const Grid& grid, std::uint64_t block_number);
  void run_threads();
  bool step_waiting_threads();
  void report_stuck();
  void report_signal();

  Fiber* idle_fiber();
  void add_stacks();
  void enter(Fiber& fiber);
  void leave(bool for_good);
  void run_fiber(boost::context::detail::transfer_t from);
  void order_threads();

  int barrier(const abi::Thread& thread, abi::Vote vote, int predicate);
  unsigned long long exchange(const abi::Thread& thread, unsigned mask, unsigned long long value,
                              int source);
  void complete_exchange(unsigned warp, unsigned mask, unsigned last);
  void access(const abi::Thread& thread, const void* address, std::size_t bytes, abi::Access kind,
              const void* place);
  /// The caller then leaves for good. No object that owns memory may be alive there, because the
  /// fiber is never entered again.
  void note_failure(const abi::Thread& thread, Failure noted, const void* place = nullptr);
  std::string where(const abi::Thread& thread) const;
  static BlockRunner& of(const abi::Thread& thread);
  static const abi::Services& services();

  SharedMemory shared_;
  std::vector<MappedMemory> stacks_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;

  const Grid* grid_ = nullptr;
  Block block_;
  unsigned thread_count_ = 0;
  std::uint64_t block_number_ = 0;
  std::uint64_t round_ = 0;  ///< Of the order of the threads.

  std::vector<unsigned> order_;
  std::size_t next_fresh_ = 0;  ///< In order_.
  std::vector<State> states_;
  std::vector<Fiber*> fiber_of_;  ///< Of threads that wait.
  std::vector<Lane> lanes_;
  std::array<Warp, 32> warps_;
  unsigned returned_ = 0;
  unsigned at_barrier_ = 0;
  unsigned votes_ = 0;
  unsigned vote_result_ = 0;

  Fiber* current_ = nullptr;
  boost::context::detail::fcontext_t scheduler_ = nullptr;
  const void* scheduler_stack_ = nullptr;  ///< For AddressSanitizer.
  std::size_t scheduler_stack_bytes_ = 0;
  void* scheduler_fake_stack_ = nullptr;

  /// What was found, and where.
  struct Found {
    Failure failure;
    const void* at = nullptr;  ///< In the module's code; null: not known.
    std::string thread;
  };
  std::optional<Found> failure_;
  std::optional<Found> unwritten_;  ///< The first read of what was not written (Grid::seeks_races).
  sigjmp_buf escape_ = {};
  int signal_ = 0;
  const unsigned char* signal_address_ = nullptr;
  bool is_impossible_address_ = false;
};

/// Turns SIGSEGV, SIGBUS, SIGFPE and SIGILL of kernels into Failures while it lives. One at a time
/// in a process.
class FaultSignals {
 public:
  FaultSignals();
  ~FaultSignals();
  FaultSignals(const FaultSignals&) = delete;
  FaultSignals& operator=(const FaultSignals&) = delete;

 private:
  std::array<struct sigaction, 4> before_ = {};
};

/// A stack for signal handlers of the calling OS thread, so that a kernel's stack may overflow.
class SignalStack {
 public:
  SignalStack();
  ~SignalStack();
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  MappedMemory memory_;
  stack_t before_ = {};
};

}  // namespace smemtune::cpu
