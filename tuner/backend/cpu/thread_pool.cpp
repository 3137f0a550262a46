#include "tuner/backend/cpu/thread_pool.h"

#include <utility>

namespace smemtune::cpu {

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
