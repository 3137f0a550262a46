// Copies from global to shared memory that go on while the thread computes: cp.async, from sm_80
// on. Elsewhere, on older GPUs and on the CPU device, a copy is done at once.
//
// Copies are waited for by groups: a thread closes a group behind the copies that belong to it, and
// sees what it copied after wait_for_copies(), the other threads of its block after a barrier
// behind that.

#pragma once

/// Copies BYTES (4, 8 or 16) bytes, or writes as many zeros where `inside` does not hold; `from` is
/// not read then. Both addresses must be multiples of BYTES.
template <int BYTES>
__device__ __forceinline__ void start_copy(void* to_shared, const void* from, bool inside) {
  static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "a copy has 4, 8 or 16 bytes");
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(to_shared));
  const int bytes = inside ? BYTES : 0;
  if constexpr (BYTES == 16) {  // Past the L1 cache, which holds nothing that is read once.
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(BYTES),
                 "r"(bytes)
                 : "memory");
  }
#else
  struct alignas(BYTES) Words {
    unsigned word[BYTES / 4];
  };
  *static_cast<Words*>(to_shared) = inside ? *static_cast<const Words*>(from) : Words{};
#endif
}

/// Ends the group of the copies that this thread has started since the last one.
__device__ __forceinline__ void close_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits for all groups that this thread has closed but the last LATER ones.
template <int LATER>
__device__ __forceinline__ void wait_for_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(LATER) : "memory");
#endif
}
