// Bins that the threads of a block count in, in shared memory.

#pragma once

#include "../common/read_once.cuh"
#include "histogram_zero.cuh"

/// The threads that share a copy of the bins, if a block has several copies.
enum Owner { of_warp, of_lane };

namespace histogram_detail {

/// COPIES copies of the bins. With OWNER of_warp, warp w counts in copy w % COPIES, and copies lie one
/// after the other; with of_lane, lane l of each warp counts in copy l % COPIES, and the copies of a bin
/// are neighbors: then fewer lanes of a warp meet in a bank or in a bin, with 32 copies none.
template <Owner OWNER, int COPIES, int RUNS>
class BlockBins {
 public:
  __device__ __forceinline__ BlockBins(unsigned* shared, int bins, int shift)
      : shared_(shared), bins_(static_cast<unsigned>(bins)), shift_(shift) {
    const int thread = static_cast<int>(threadIdx.x);
    if constexpr (OWNER == of_warp) {
      own_ = shared + thread / 32 % COPIES * bins;
    } else {
      own_ = shared + thread % COPIES;
    }
  }

  /// Sets the bins to 0. All threads of the block call it.
  __device__ __forceinline__ void clear() const {
    for (unsigned i = threadIdx.x; i < bins_ * COPIES; i += blockDim.x) shared_[i] = 0;
    __syncthreads();
  }

  /// Counts the elements of a piece; with RUNS neighbors in the same bin together.
  template <int VEC, typename Piece>
  __device__ __forceinline__ void count(const Piece& piece) const {
    unsigned bin = bin_of(piece.element[0]);
    unsigned times = 1;
#pragma unroll
    for (int e = 1; e < VEC; ++e) {
      const unsigned next = bin_of(piece.element[e]);
      if (RUNS == 0 || next != bin) {
        add(bin, times);
        times = 0;
      }
      bin = next;
      ++times;
    }
    add(bin, times);
  }

  /// Counts one element.
  template <typename T>
  __device__ __forceinline__ void count_one(T element) const {
    add(bin_of(element), 1u);
  }

  /// Adds what was counted to the bins in global memory. All threads of the block call it.
  __device__ __forceinline__ void add_to(unsigned* out) const {
    __syncthreads();
    for (unsigned bin = threadIdx.x; bin < bins_; bin += blockDim.x) {
      unsigned sum = 0;
#pragma unroll
      for (unsigned copy = 0; copy < COPIES; ++copy) {
        sum += OWNER == of_warp ? shared_[copy * bins_ + bin] : shared_[bin * COPIES + copy];
      }
      if (sum != 0) atomicAdd(out + bin, sum);
    }
  }

 private:
  template <typename T>
  __device__ __forceinline__ unsigned bin_of(T element) const {
    return static_cast<unsigned>(element) >> shift_;
  }

  __device__ __forceinline__ void add(unsigned bin, unsigned times) const {
    if (bin >= bins_) return;
    atomicAdd(own_ + (OWNER == of_warp ? bin : bin * COPIES), times);
  }

  unsigned* shared_;
  unsigned* own_;
  unsigned bins_;
  int shift_;
};

}  // namespace histogram_detail
