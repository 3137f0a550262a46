#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace smemtune::cpu {

/// Returns the model's name from /proc/cpuinfo, or the architecture's if that gives none.
std::string processor_name();

/// Returns 0 if it is not known.
std::int64_t last_level_cache_bytes();

std::int64_t physical_memory_bytes();

/// Flushes `bytes` bytes from `begin` on from the caches of all cores to memory. Returns false if the
/// processor has no instruction for that.
bool flush_from_caches(const unsigned char* begin, std::size_t bytes);

/// A pool of OS threads that wait for work.
class ThreadPool {
 public:
  explicit ThreadPool(int size);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return size_; }

  /// Calls work(0) .. work(size - 1) at the same time, work(0) on the caller's thread; the others
  /// are always called by the same threads. Rethrows one of their exceptions.
  void run(const std::function<void(int)>& work);

 private:
  void serve(int number);
  void call(int number);

  int size_;
  std::mutex mutex_;
  std::condition_variable start_;
  std::condition_variable done_;
  const std::function<void(int)>* work_ = nullptr;
  int round_ = 0;
  int busy_ = 0;
  bool stopping_ = false;
  std::exception_ptr exception_;
  std::vector<std::thread> threads_;
};

}  // namespace smemtune::cpu
