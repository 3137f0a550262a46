#include "tuner/backend/cpu/processor.h"

#include <algorithm>
#include <fstream>
#include <sys/utsname.h>
#include <unistd.h>

#ifdef __x86_64__
#include <immintrin.h>
#include <utility>
#endif

namespace smemtune::cpu {

std::string processor_name() {
  std::ifstream stream("/proc/cpuinfo");
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t begin = line.find_first_not_of(" \t", line.find(':') + 1);
    if (begin != std::string::npos) return line.substr(begin);
  }
  utsname system = {};
  return uname(&system) == 0 ? system.machine : "CPU";
}

std::int64_t last_level_cache_bytes() {
  std::int64_t bytes = 0;
  for (const int level : {_SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL4_CACHE_SIZE}) {
    bytes = std::max<std::int64_t>(bytes, sysconf(level));
  }
  return bytes;
}

std::int64_t physical_memory_bytes() {
  return static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

bool flush_from_caches([[maybe_unused]] const unsigned char* begin,
                       [[maybe_unused]] std::size_t bytes) {
#ifdef __x86_64__
  constexpr std::size_t kLineBytes = 64;
  for (std::size_t i = 0; i < bytes; i += kLineBytes) _mm_clflush(begin + i);
  if (bytes > 0) _mm_clflush(begin + bytes - 1);
  _mm_mfence();
  return true;
#else
  return false;
#endif
}

ThreadPool::ThreadPool(int size) : size_(size) {
  for (int number = 1; number < size; ++number) {
    threads_.emplace_back([this, number] { serve(number); });
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  start_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::run(const std::function<void(int)>& work) {
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    busy_ = size_;
    ++round_;
  }
  start_.notify_all();
  call(0);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return busy_ == 0; });
  if (exception_) std::rethrow_exception(std::exchange(exception_, nullptr));
}

void ThreadPool::serve(int number) {
  for (int served = 0;;) {
    {
      std::unique_lock lock(mutex_);
      start_.wait(lock, [&] { return stopping_ || round_ != served; });
      if (stopping_) return;
      served = round_;
    }
    call(number);
  }
}

void ThreadPool::call(int number) {
  std::exception_ptr thrown;
  try {
    (*work_)(number);
  } catch (...) {  // The exception belongs to the caller of run().
    thrown = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  if (thrown) exception_ = thrown;
  if (--busy_ == 0) done_.notify_all();
}

}  // namespace smemtune::cpu
