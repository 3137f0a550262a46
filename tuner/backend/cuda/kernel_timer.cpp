#include "tuner/backend/cuda/kernel_timer.h"

#include "tuner/backend/launch_times.h"
#include "tuner/core/error.h"
#include "tuner/core/measurement.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>
#include <thread>
#include <vector>

namespace smemtune::cuda {
namespace {

// Samples whose clock is below this share of the reference are repeated.
constexpr double kMinClockShare = 0.97;
constexpr int kMaxDiscarded = 20;
// After so many in a row the clock is what this kernel's own power draw leaves.
constexpr int kMaxDiscardedInARow = 3;
constexpr double kBackOffMs = 5;
// %globaltimer may tick in microseconds: a shorter interval tells the clock no better than 1 %.
constexpr double kMinClockIntervalMs = 0.2;
// Sustained work beyond this lets boards lower their clock.
constexpr double kMaxBusyMs = 5;
constexpr double kMinGapMs = 1;
constexpr int kMaxLateSamples = 3;
// Never shorter than the resolution of an event (0.5 us), so that a time is never 0.
constexpr double kMinElapsedMs = 5e-4;

// The copies between host and device that a program would make around the kernel, its arrays being
// ordinary vectors. The host's pages are touched before.
Transfers time_transfers(const BoundKernel& bound, CUstream stream) {
  using Clock = std::chrono::steady_clock;
  const auto timed_copy = [stream](void* to, const void* from, std::size_t bytes,
                                   cudaMemcpyKind kind) {
    const Clock::time_point start = Clock::now();
    copy(to, from, bytes, kind, stream);
    synchronize(stream);
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  };
  Transfers transfers;
  for (const DeviceBuffer* buffer : bound.buffers()) {
    const Argument& argument = buffer->argument();
    buffer->restore(0, stream);
    std::vector<std::uint8_t> host = download(buffer->data(), argument.bytes(), stream);
    void* const device = as_pointer(buffer->data());
    if (argument.role == Role::input || argument.role == Role::inout) {
      transfers.to_device_ms +=
          timed_copy(device, host.data(), host.size(), cudaMemcpyHostToDevice);
      transfers.to_device_bytes += argument.bytes();
    }
    if (buffer->is_result()) {
      transfers.to_host_ms += timed_copy(host.data(), device, host.size(), cudaMemcpyDeviceToHost);
      transfers.to_host_bytes += argument.bytes();
    }
  }
  return transfers;
}

void record(const Event& event, CUstream stream) {
  check(cudaEventRecord(event.get(), stream), "cudaEventRecord");
}

}  // namespace

/// So many launches of the whole kernel per sample, over so many copies of its buffers in turn.
struct KernelTimer::Sampling {
  int launches = 1;
  std::size_t copies = 1;
  std::span<const Event> marks = {};  ///< To be recorded before every turn; may be none.
};

class KernelTimer::Series {
 public:
  /// `clock_mhz` is what the kernel is expected to run at.
  Series(KernelTimer& timer, const BoundKernel& bound, const TimeRequest& request, double clock_mhz)
      : timer_(timer), bound_(bound), request_(request), clock_mhz_(clock_mhz) {}

  /// Adds one sample at full clock, or what comes nearest.
  std::optional<Failure> add(const Sampling& sampling) {
    const auto interval = take(sampling);
    if (!interval) return interval.failure();
    const double elapsed_ms = std::max(interval->elapsed_ms, kMinElapsedMs);
    report_.samples_ms.push_back(elapsed_ms / sampling.launches);
    sampled_ms_ += interval->elapsed_ms;
    ended_ = request_.ends_after(report_.samples_ms.back(), sampled_ms_);
    return std::nullopt;
  }

  /// No further sample is wanted, as the last one was slow or all took long enough.
  bool has_ended() const { return ended_; }
  const std::vector<double>& samples_ms() const { return report_.samples_ms; }

  void start_again() {
    report_.samples_ms.clear();
    sampled_ms_ = 0;
  }

  /// The median of the clocks that can be held against other kernels'; 0: not known.
  double trusted_clock_mhz() const {
    return trusted_clocks_mhz_.empty() ? 0 : median(trusted_clocks_mhz_);
  }

  TimeReport report() const {
    TimeReport report = report_;
    if (!clocks_mhz_.empty()) report.sm_clock_mhz = median(clocks_mhz_);
    return report;
  }

 private:
  Outcome<Interval> take(const Sampling& sampling) {
    int late = 0;
    int in_a_row = 0;
    while (true) {
      auto interval = timer_.sample(bound_, request_, sampling);
      if (!interval) return interval;
      if (interval->late) {
        if (++late < kMaxLateSamples) continue;
        throw UnavailableError("the host is too slow to queue the launches of one sample");
      }
      const double clock_mhz = interval->sm_clock_mhz;
      const bool trusted = clock_mhz > 0 && interval->elapsed_ms >= kMinClockIntervalMs;
      const bool is_low = trusted && clock_mhz < kMinClockShare * clock_mhz_;
      if (in_a_row == kMaxDiscardedInARow || report_.discarded == kMaxDiscarded) discards_ = false;
      if (!discards_ || !is_low) {
        report_.throttled = report_.throttled || is_low;
        if (clock_mhz > 0) clocks_mhz_.push_back(clock_mhz);
        if (trusted) trusted_clocks_mhz_.push_back(clock_mhz);
        return interval;
      }
      ++report_.discarded;
      ++in_a_row;
      timer_.pause(kBackOffMs);
    }
  }

  KernelTimer& timer_;
  const BoundKernel& bound_;
  const TimeRequest& request_;
  double clock_mhz_;
  double sampled_ms_ = 0;
  bool ended_ = false;
  bool discards_ = true;
  TimeReport report_;
  std::vector<double> clocks_mhz_;
  std::vector<double> trusted_clocks_mhz_;
};

KernelTimer::KernelTimer(const Driver& driver, const DeviceKernels& kernels, CUstream stream,
                         const Device& device)
    : driver_(driver),
      stream_(stream),
      l2_bytes_(device.l2_bytes),
      stopwatch_(kernels, stream, device.sm_count, device.l2_bytes) {}

Outcome<TimeReport> KernelTimer::time(CudaKernel& kernel, BoundKernel& bound,
                                      const TimeRequest& request) {
  if (reference_clock_mhz_ == 0) reference_clock_mhz_ = stopwatch_.warm_up();
  std::optional<Transfers> transfers;
  if (request.with_transfers) transfers = time_transfers(bound, stream_);
  if (const auto failure = settle(kernel, bound)) return *failure;

  if (request.each_launch) return time_launches(kernel, bound, request);

  Series series(*this, bound, request, expected_clock_mhz(kernel));
  Sampling sampling = plan(bound, request, std::max(request.launches_per_sample, 1));
  if (request.launches_per_sample <= 0) {
    // A sample of one launch tells how many make one that is long enough.
    if (const auto failure = series.add(sampling)) return *failure;
    const double launches = std::ceil(request.min_sample_us / 1000 / series.samples_ms().front());
    if (!series.has_ended() && launches > 1 && request.max_launches_per_sample > 1) {
      sampling =
          plan(bound, request,
               static_cast<int>(std::min<double>(launches, request.max_launches_per_sample)));
      if (sampling.launches > 1) series.start_again();
    }
  }
  while (!series.has_ended() &&
         series.samples_ms().size() < static_cast<std::size_t>(request.samples)) {
    if (const auto failure = series.add(sampling)) return *failure;
  }

  kernel.clock_mhz = std::max(kernel.clock_mhz, series.trusted_clock_mhz());
  reference_clock_mhz_ = std::max(reference_clock_mhz_, series.trusted_clock_mhz());
  TimeReport report = series.report();
  report.launches_per_sample = sampling.launches;
  report.transfers = transfers;
  return report;
}

/// Between events around every turn; what lies between two launches counts with the first.
Outcome<TimeReport> KernelTimer::time_launches(CudaKernel& kernel, const BoundKernel& bound,
                                               const TimeRequest& request) {
  const std::size_t turns = bound.turns().size();
  std::vector<Event> marks;
  for (std::size_t i = 0; i <= turns; ++i) marks.push_back(make_event());
  Series series(*this, bound, request, expected_clock_mhz(kernel));
  std::vector<std::vector<double>> passes_ms;
  while (!series.has_ended() && passes_ms.size() < static_cast<std::size_t>(request.samples)) {
    if (const auto failure = series.add({.marks = marks})) return *failure;
    std::vector<double>& turns_ms = passes_ms.emplace_back();
    for (std::size_t i = 0; i < turns; ++i) {
      float elapsed_ms = 0;
      check(cudaEventElapsedTime(&elapsed_ms, marks[i].get(), marks[i + 1].get()),
            "cudaEventElapsedTime");
      turns_ms.push_back(elapsed_ms);
    }
  }
  TimeReport report;
  report.launches_ms = launch_times_ms(bound.turns(), bound.launches(), passes_ms);
  return report;
}

double KernelTimer::expected_clock_mhz(const CudaKernel& kernel) const {
  return kernel.clock_mhz > 0 ? kernel.clock_mhz : reference_clock_mhz_;
}

/// Undoes what an earlier kernel, found wrong, did to the buffers (further copies were only ever
/// given to kernels that were timed), and launches a kernel once that never was: that may have to
/// allocate local memory, which waits for the stream, so it must not happen while that is held.
std::optional<Failure> KernelTimer::settle(CudaKernel& kernel, const BoundKernel& bound) const {
  for (const DeviceBuffer* buffer : bound.buffers()) {
    if (buffer->has_contents()) buffer->restore(0, stream_);
  }
  if (kernel.was_launched) return std::nullopt;
  if (auto failure = bound.enqueue(driver_, 0, stream_)) return failure;
  check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize after the launch");
  kernel.was_launched = true;
  return std::nullopt;
}

// A launch that finds its buffers in the L2 cache is not cold, and one that finds what it changed
// is not the same work: so launches take turns on copies of the buffers. Where a kernel changes a
// buffer in place each launch needs a copy of its own; otherwise as many as exceed twice the cache.
KernelTimer::Sampling KernelTimer::plan(BoundKernel& bound, const TimeRequest& request,
                                        int launches) const {
  const auto turns = static_cast<int>(bound.turns().size());
  Sampling sampling = {
      .launches = std::clamp(launches, 1, std::max(1, kMaxPendingLaunches / turns)), .copies = 1};
  if (sampling.launches == 1) return sampling;
  const std::int64_t bytes = std::max<std::int64_t>(bound.bytes(), 1);
  const std::int64_t beyond_cache = 2 * l2_bytes_ / bytes + 1;
  const auto all = static_cast<std::size_t>(sampling.launches);
  std::size_t wanted = 1;
  if (request.cold) wanted = std::min(all, static_cast<std::size_t>(beyond_cache));
  if (bound.has_inout()) wanted = all;
  sampling.copies = bound.provide_copies(wanted, stream_);
  if (sampling.copies < wanted) sampling.launches = static_cast<int>(sampling.copies);
  return sampling;
}

Outcome<Interval> KernelTimer::sample(const BoundKernel& bound, const TimeRequest& request,
                                      const Sampling& sampling) {
  pause(request.gap_ms);
  if (!request.cold) {
    if (const auto failure = bound.enqueue(driver_, 0, stream_)) return *failure;
  }
  for (const DeviceBuffer* buffer : bound.buffers()) {
    if (buffer->argument().role != Role::inout) continue;
    for (std::size_t copy = 0; copy < sampling.copies; ++copy) buffer->restore(copy, stream_);
  }
  if (request.cold) stopwatch_.flush_l2();
  // A mark takes as much room in the stream's queue as a launch.
  const std::size_t most_turns =
      sampling.marks.empty() ? kMaxPendingLaunches : kMaxPendingLaunches / 2;
  const auto before_turn = [&](std::size_t turn) {
    if (turn == most_turns) stopwatch_.release();
    if (!sampling.marks.empty()) record(sampling.marks[turn], stream_);
  };
  auto interval = stopwatch_.time([&]() -> std::optional<Failure> {
    for (int i = 0; i < sampling.launches; ++i) {
      const std::size_t copy = static_cast<std::size_t>(i) % sampling.copies;
      if (auto failure = bound.enqueue(driver_, copy, stream_, before_turn)) return failure;
    }
    if (!sampling.marks.empty()) record(sampling.marks.back(), stream_);
    return std::nullopt;
  });
  if (interval) busy_ms_ += interval->elapsed_ms;
  return interval;
}

void KernelTimer::pause(double gap_ms) {
  if (busy_ms_ >= kMaxBusyMs) gap_ms = std::max(gap_ms, kMinGapMs);
  if (gap_ms <= 0) return;
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(gap_ms));
  busy_ms_ = 0;
}

}  // namespace smemtune::cuda
