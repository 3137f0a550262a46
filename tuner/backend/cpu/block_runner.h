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
  std::string kernel;  ///< The entry's name expression, for messages.
  Module* module = nullptr;
  Module::Entry entry = nullptr;
  void** arguments = nullptr;
  const Buffers* buffers = nullptr;
  Dim3 grid = {1, 1, 1};
  Dim3 block = {1, 1, 1};
  std::size_t dynamic_shared_bytes = 0;
  /// Seed of the order in which threads run; nullopt for ascending order.
  std::optional<std::uint64_t> shuffle_seed;
  /// Lets a thread go on that reads what its block has not written: another thread may write it
  /// next, which makes it a race.
  bool seeks_races = false;

  std::uint64_t blocks() const { return static_cast<std::uint64_t>(volume(grid)); }
};

/// Runs blocks, one after the other, on the OS thread that calls it.
///
/// A CUDA thread runs until it waits for others at a barrier or in a warp's operation; then the
/// next one runs. Each waiting thread has a stack of its own (Boost.Context), but threads that
/// never wait share one, so that kernels without barriers cost no switches.
///
/// A barrier is complete when every thread of the block has arrived; a thread that has returned
/// never arrives, which the programming guide leaves undefined and hardware may forgive. When no
/// thread can go on, the waiting and the missing threads are reported as `unreached_barrier`.
class BlockRunner {
 public:
  BlockRunner();
  ~BlockRunner();
  BlockRunner(const BlockRunner&) = delete;
  BlockRunner& operator=(const BlockRunner&) = delete;

  /// Runs the block of that number (x fastest). A Failure names kernel, block and thread. Signals
  /// that kernels raise are caught while a FaultSignals lives.
  std::optional<Failure> run(const Grid& grid, std::uint64_t block_number);

 private:
  friend void on_fault_signal(int signal, siginfo_t* info, void* context);

  /// `running` also stands for a thread that has not begun.
  enum class State : std::uint8_t { running, ready, at_barrier, in_warp, returned };

  /// A stack and the thread that runs on it.
  struct Fiber {
    unsigned char* stack = nullptr;
    boost::context::detail::fcontext_t context = nullptr;  ///< Null if the fiber begins anew.
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

  /// The block that kernels get a pointer to.
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
  /// Notes a failure, after which the caller leaves for good. No object that owns memory may be
  /// alive there, because the fiber is never entered again.
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
  std::uint64_t round_ = 0;  ///< Number of the current order of the threads.

  std::vector<unsigned> order_;
  std::size_t next_fresh_ = 0;  ///< Index in order_.
  std::vector<State> states_;
  std::vector<Fiber*> fiber_of_;  ///< Fibers of waiting threads.
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

  /// A failure and where it was found.
  struct Found {
    Failure failure;
    const void* at = nullptr;  ///< Address in the module's code; null when not known.
    std::string thread;
  };
  std::optional<Found> failure_;
  std::optional<Found> unwritten_;  ///< The first read of unwritten memory (Grid::seeks_races).
  sigjmp_buf escape_ = {};
  int signal_ = 0;
  const unsigned char* signal_address_ = nullptr;
  bool is_impossible_address_ = false;
};

/// Turns the signals SIGSEGV, SIGBUS, SIGFPE and SIGILL that kernels raise into Failures while it
/// lives. A process may have only one at a time.
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
