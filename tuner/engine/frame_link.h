#pragma once

#include "tuner/engine/running_clock.h"
#include "tuner/engine/wire.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace smemtune {

/// One end of a link between hosts: frames over two descriptors that never block, and heartbeats
/// from a separate thread, so that the other end hears from this one even while it is busy. All
/// other members belong to one thread.
class FrameLink {
 public:
  using Clock = RunningClock;

  /// An end that hears nothing for `silence_s` takes the other end for lost; heartbeats are sent
  /// four times as often. The caller owns the descriptors and keeps them open as long as this
  /// object lives.
  FrameLink(int in, int out, double silence_s);
  FrameLink(const FrameLink&) = delete;
  FrameLink& operator=(const FrameLink&) = delete;
  ~FrameLink();

  /// Queues a frame and writes what can be written now.
  void send(const Frame& frame);

  void write();
  bool wants_to_write() const;

  /// Adds bytes that were read from the link before this object was made.
  void append(std::span<const std::uint8_t> bytes) { decoder_.append(bytes); }

  /// Appends the frames that have arrived, without heartbeats. When only the beginning of a frame
  /// has arrived, sends a heartbeat, so that no carrier holds back the rest. Returns false when the
  /// other end is gone. Throws WireError.
  bool read(std::vector<Frame>& frames);

  /// When the other end counts as lost unless it is heard from before.
  Clock::time_point lost_at() const { return heard_at_ + silence_; }

 private:
  void write_locked();
  void beat();
  void beat_locked();

  int in_;
  int out_;
  Clock::duration silence_;
  Clock::time_point heard_at_ = Clock::now();
  FrameDecoder decoder_;
  mutable std::mutex mutex_;
  std::vector<std::uint8_t> outbox_;
  std::size_t sent_ = 0;
  bool ends_ = false;
  std::condition_variable end_;
  std::thread heart_;
};

}  // namespace smemtune
