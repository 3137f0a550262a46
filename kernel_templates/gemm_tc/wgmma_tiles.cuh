// Tiles of C on Hopper's tensor cores, by a block whose producer keeps a ring of stages in shared memory
// full while consumers multiply: what gemm_tc_wgmma and gemm_tc_wgmma_of_copies have in common.
// gemm_tc_wgmma.cu has the picture.
//
// How operands come and how C goes is a class of each kernel, TRANSFERS here:
//
//   kThreads             of the producer's warpgroup, its first ones, that fill stages
//   kArrivals            at the barrier of a full stage, for each time around
//   kRegisters           of each thread of the producer
//   kBytesOfStage        shared memory that it needs for itself, in one piece of all stages
//   kStoresByBox         whether one thread sends a whole panel to C, which goes on by itself, or all
//                        threads that wrote the panel store it
//   begin()              in one thread, before the barriers are made
//   begin_to_fill(rank_p, rank_q, first_rank)    in the producer's kThreads: this block's place in its
//                        cluster, and the rank of the first block of those that share operands
//   fill(at, stage, p, q, depth)    starts to fill a stage, of which `at` has the addresses, in turn
//   finish(at)           behind the last stage
//   store_panel<...>(x, y, panel, thread)    a panel, whose first element is C[y][x]

#pragma once

#include "../common/hopper.cuh"
#include "../common/wgmma.cuh"

namespace gemm_tc_detail {

__host__ __device__ constexpr int largest_power_of_two(int most) {
  int power = 1;
  while (2 * power <= most) power *= 2;
  return power;
}

/// Where things lie in shared memory, in bytes.
template <int TILE_P, int TILE_Q, int CONSUMERS, int STAGES, int PANELS, int MORE_BYTES_OF_STAGE>
struct Layout {
  static constexpr int kX = TILE_P * 128;
  static constexpr int kY = TILE_Q * 128;
  static constexpr int kStage = kX + kY;
  static constexpr int kPanel = 2048;  // Bytes for each warp: 16 of P by up to 128 bytes.
  static constexpr int kPanels = PANELS > 0 ? STAGES* kStage : 0;
  static constexpr int kMore = STAGES * kStage + CONSUMERS * 4 * PANELS * kPanel;
  static constexpr int kBarriers = kMore + STAGES * MORE_BYTES_OF_STAGE;

  // Addresses, of stages by their number.
  unsigned shared;
  __device__ __forceinline__ unsigned stage(int number) const { return shared + number * kStage; }
  __device__ __forceinline__ unsigned more(int number) const {
    return shared + kMore + number * MORE_BYTES_OF_STAGE;
  }
  __device__ __forceinline__ unsigned full(int number) const {
    return shared + kBarriers + number * 16;
  }
  __device__ __forceinline__ unsigned empty(int number) const { return full(number) + 8; }
  __device__ __forceinline__ unsigned sums_full() const { return full(STAGES); }
};

/// The tiles of C in the order in which clusters take them, counted in tiles of clusters. Those that
/// are computed at a time shall share operands, which then come from the L2 cache.
struct Order {
  int tiles_p, tiles_q, group, hilbert;

  __device__ __forceinline__ void place(int tile, int& p, int& q) const {
    const int band = tile / (group * tiles_q);  // Of `group` rows of tiles.
    const int within = tile - band * group * tiles_q;
    const int rows = min(group, tiles_p - band * group);
    p = within % rows;
    q = within / rows;
    const int square = q / group;
    if (hilbert != 0 && rows == group && (square + 1) * group <= tiles_q) {
      place_on_curve(within % (group * group), p, q);
      q += square * group;
    }
    // Every other band goes backwards, and so begins where the last operands still are.
    if (band % 2 != 0) q = tiles_q - 1 - q;
    p += band * group;
  }

  /// Hilbert's curve through group x group tiles: each next one is a neighbor.
  __device__ __forceinline__ void place_on_curve(int at, int& p, int& q) const {
    p = 0;
    q = 0;
    for (int side = 1; side < group; side *= 2, at /= 4) {
      const int right = at / 2 % 2;
      const int down = (at ^ right) % 2;
      if (down == 0) {
        if (right != 0) {
          p = side - 1 - p;
          q = side - 1 - q;
        }
        const int old_p = p;
        p = q;
        q = old_p;
      }
      q += right * side;
      p += down * side;
    }
  }
};

/// A stage of the ring, and how often the ring has been around.
template <int STAGES>
struct Turn {
  int stage = 0;
  int phase = 0;
  __device__ __forceinline__ void next() {
    if (++stage == STAGES) {
      stage = 0;
      phase ^= 1;
    }
  }
};

/// Starts the products of a stage, as one group, of PART_P rows that begin at `x` by all at `y`. With
/// `add` 0 the sums begin with them.
template <typename T, bool X_IS_DEPTH, bool Y_IS_DEPTH, int PART_P, int TILE_Q, typename Sum>
__device__ __forceinline__ void multiply_stage(Sum (&sums)[PART_P / 64][TILE_Q / 2], unsigned x,
                                               unsigned y, int add) {
  constexpr int kN = TILE_Q <= 256 ? TILE_Q : Y_IS_DEPTH ? TILE_Q / 2 : 192;  // Of one product.
  constexpr int kProducts = (TILE_Q + kN - 1) / kN;
  constexpr int kLastN = TILE_Q - (kProducts - 1) * kN;
  const unsigned long long x_tile = wgmma::describe<X_IS_DEPTH>(x);
  const unsigned long long y_tile = wgmma::describe<Y_IS_DEPTH>(y);
  wgmma::begin();
#pragma unroll
  for (int depth = 0; depth < 4; ++depth) {  // 32 bytes each.
    const int add_here = depth > 0 ? 1 : add;
#pragma unroll
    for (int i = 0; i < PART_P / 64; ++i) {
      const unsigned long long x_rows =
          x_tile + i * (64 * 128 / 16) + depth * wgmma::kDepthStep<X_IS_DEPTH>;
#pragma unroll
      for (int j = 0; j < kProducts; ++j) {
        const unsigned long long y_rows =
            y_tile + j * (kN * 128 / 16) + depth * wgmma::kDepthStep<Y_IS_DEPTH>;
        if (j < kProducts - 1) {
          wgmma::multiply<T, kN, X_IS_DEPTH, Y_IS_DEPTH>(sums[i] + j * kN / 2, x_rows, y_rows,
                                                         add_here);
        } else {
          wgmma::multiply<T, kLastN, X_IS_DEPTH, Y_IS_DEPTH>(sums[i] + (kProducts - 1) * kN / 2,
                                                             x_rows, y_rows, add_here);
        }
      }
    }
  }
  wgmma::commit();
}

/// Where byte `at` of a panel with rows of ROW_BYTES lies: TMA's swizzle by that width.
template <int ROW_BYTES>
__device__ __forceinline__ unsigned swizzled(unsigned at) {
  constexpr unsigned kSwizzle = (ROW_BYTES - 16) & 0x70;
  return at ^ (at >> 3 & kSwizzle);
}

/// Writes a warp's 16 rows (P) of COLUMNS columns (Q) of sums to a panel, whose rows are those of P,
/// or of Q where SWAP. There SHARERS warps lie beside each other, this one at `place`. `stored` gives
/// what is stored of a sum.
template <typename OUT, int COLUMNS, bool SWAP, int SHARERS, typename Sum, typename Stored>
__device__ __forceinline__ void write_panel(unsigned panel, int place, const Sum* sums,
                                            const Stored& stored) {
  constexpr int kSize = sizeof(OUT);
  constexpr int kRowBytes = SWAP ? SHARERS * 16 * kSize : COLUMNS * kSize;
  const int beside = place * 16 * kSize;  // Bytes.
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if constexpr (kSize == 2) {
#pragma unroll
    for (int e = 0; e < COLUMNS; e += 16) {
      const Sum* const sum = sums + e / 2;
      // Four matrices of 8 x 8: lane l has the address of row l % 8 of matrix l / 8.
      const unsigned at =
          SWAP ? (e + lane / 16 * 8 + lane % 8) * kRowBytes + beside + lane / 8 % 2 * 16
               : (lane / 8 % 2 * 8 + lane % 8) * kRowBytes + (e + lane / 16 * 8) * 2;
      hopper::store_matrices<SWAP>(
          panel + swizzled<kRowBytes>(at), pack<OUT>(stored(sum[0]), stored(sum[1])),
          pack<OUT>(stored(sum[2]), stored(sum[3])), pack<OUT>(stored(sum[4]), stored(sum[5])),
          pack<OUT>(stored(sum[6]), stored(sum[7])));
    }
  } else {
#pragma unroll
    for (int e = 0; e < COLUMNS; e += 4) {
      const Sum* const sum = sums + e / 4 * 2;
      const int row = lane / 4 + e / 4 % 2 * 8;  // Every other pair is 8 rows below.
      const int column = e / 8 * 8 + lane % 4 * 2;
      const unsigned at =
          SWAP ? column * kRowBytes + beside + row * kSize : row * kRowBytes + column * kSize;
      const auto first = stored(sum[0]);
      const auto second = stored(sum[1]);
      if constexpr (kSize == 1 && SWAP) {
        hopper::store_bytes(panel + swizzled<kRowBytes>(at), first);
        hopper::store_bytes(panel + swizzled<kRowBytes>(at + kRowBytes), second);
      } else if constexpr (kSize == 1) {
        hopper::store_bytes(panel + swizzled<kRowBytes>(at), first, second);
      } else if constexpr (SWAP) {
        hopper::store(panel + swizzled<kRowBytes>(at), first);
        hopper::store(panel + swizzled<kRowBytes>(at + kRowBytes), second);
      } else {
        hopper::store(panel + swizzled<kRowBytes>(at), first, second);
      }
    }
  }
}

/// All tiles of this block. `scale` is used where T has 8 bits.
template <typename T, typename OUT, int TRANSPOSED, int SWAP, int TILE_P, int TILE_Q, int CONSUMERS,
          int STAGES, int CLUSTER_P, int CLUSTER_Q, int SPLIT, int PANELS, int DEFER, int PROMOTE,
          typename TRANSFERS>
__device__ __forceinline__ void compute_tiles(TRANSFERS& transfers, float scale, int m, int n,
                                              int k, int group, int hilbert) {
  using Layout =
      gemm_tc_detail::Layout<TILE_P, TILE_Q, CONSUMERS, STAGES, PANELS, TRANSFERS::kBytesOfStage>;
  constexpr bool kXIsDepth = SWAP == 0 || TRANSPOSED != 0;
  constexpr bool kYIsDepth = SWAP != 0 || TRANSPOSED != 0;
  using Sum = typename SumOf<T>::Type;
  constexpr int kDepth = 128 / static_cast<int>(sizeof(T));  // Of a stage.
  constexpr int kPartP = TILE_P / CONSUMERS;
  constexpr int kConsumersBarrier = 1;  // 0 is that of all threads.
  constexpr int kProducerRegisters = TRANSFERS::kRegisters;
  // The block keeps the registers that it was launched with, which the compiler gives to all alike.
  constexpr int kRegistersAtLaunch = 512 / (CONSUMERS + 1) / 8 * 8;
  constexpr int kConsumerRegisters =
      (kRegistersAtLaunch * (CONSUMERS + 1) - kProducerRegisters) / CONSUMERS / 8 * 8;
  static_assert(kPartP % 64 == 0, "a product has 64 rows");
  static_assert(kYIsDepth || TILE_Q % 64 == 0, "boxes have 64 columns of B");
  static_assert(SPLIT == 1 || TILE_P * TILE_Q * 4 <= STAGES * Layout::kStage,
                "the ring has room for all sums");
  static_assert(PROMOTE == 0 || DEFER == 0, "a stage's sums are complete before they are added");

  extern __shared__ __align__(1024) unsigned char stages[];
  const unsigned shared = hopper::shared_address(stages);
  const Layout at = {shared};
  const unsigned sums_full = at.sums_full();

  const int rank = hopper::rank_in_cluster();
  const int rank_p = rank % CLUSTER_P;
  const int rank_q = rank / CLUSTER_P % CLUSTER_Q;
  const int rank_k = rank / (CLUSTER_P * CLUSTER_Q);
  const int first_rank = rank_k * CLUSTER_P * CLUSTER_Q;  // Of those that share operands.

  const int p_size = SWAP != 0 ? n : m;
  const int q_size = SWAP != 0 ? m : n;
  const Order order = {
      (p_size + TILE_P * CLUSTER_P - 1) / (TILE_P * CLUSTER_P),
      (q_size + TILE_Q * CLUSTER_Q - 1) / (TILE_Q * CLUSTER_Q),
      group,
      hilbert,
  };
  constexpr int kClusterBlocks = CLUSTER_P * CLUSTER_Q * SPLIT;
  const int tiles = order.tiles_p * order.tiles_q;
  const int first_tile = static_cast<int>(blockIdx.x) / kClusterBlocks;
  const int clusters = static_cast<int>(gridDim.x) / kClusterBlocks;
  const int steps = (k + kDepth - 1) / kDepth;
  const int first_step = steps * rank_k / SPLIT;
  const int last_step = steps * (rank_k + 1) / SPLIT;

  // The same in all lanes, which the compiler shall know: descriptions lie in uniform registers.
  const int warpgroup = __shfl_sync(~0u, static_cast<int>(threadIdx.x) / 128, 0);

  // A thread makes the barriers while the producer finds its first tile.
  if (threadIdx.x == 128) {
    transfers.begin();
    for (int stage = 0; stage < STAGES; ++stage) {
      hopper::make_barrier(at.full(stage), TRANSFERS::kArrivals);
      hopper::make_barrier(at.empty(stage), CONSUMERS * (CLUSTER_P + CLUSTER_Q - 1));
    }
    hopper::make_barrier(sums_full, SPLIT > 1 ? (SPLIT - 1) * CONSUMERS * 4 : 1);
    hopper::publish_barriers();
  }
  if constexpr (kClusterBlocks > 1) hopper::arrive_at_cluster();
  int p, q;
  if (warpgroup == 0) order.place(first_tile, p, q);
  if constexpr (kClusterBlocks > 1) {
    hopper::wait_for_cluster();
  } else {
    __syncthreads();
  }

  // The number-th tile of this block; behind the last one -1. (Where loops add `clusters` to the tile
  // instead, ptxas 13.0 spills registers of some instances.)
  const auto tile_of = [&](int number) {
    const int tile = first_tile + number * clusters;
    return tile < tiles ? tile : -1;
  };

  if (warpgroup == 0) {
    // The producer.
    if constexpr (CONSUMERS > 1) hopper::give_up_registers<kProducerRegisters>();
    if (threadIdx.x < TRANSFERS::kThreads) {
      transfers.begin_to_fill(rank_p, rank_q, first_rank);
      Turn<STAGES> turn;
      for (int number = 0;; ++number) {
        const int tile = tile_of(number);
        if (tile < 0) break;
        if (number > 0) order.place(tile, p, q);
        p = (p * CLUSTER_P + rank_p) * TILE_P;
        q = (q * CLUSTER_Q + rank_q) * TILE_Q;
        for (int step = first_step; step < last_step; ++step) {
          hopper::wait_for_phase(at.empty(turn.stage), turn.phase ^ 1);
          transfers.fill(at, turn.stage, p, q, step * kDepth);
          turn.next();
        }
      }
      transfers.finish(at);
    }
  } else {
    // A consumer.
    if constexpr (CONSUMERS > 1) hopper::take_registers<kConsumerRegisters>();
    const int part = warpgroup - 1;
    const int thread = static_cast<int>(threadIdx.x) % 128;
    const int warp = thread / 32;
    const int lane = thread % 32;
    // Threads of each consumer that say that a stage is empty, one for each block that fills it.
    const bool shares_operands = thread < CLUSTER_P * CLUSTER_Q &&
                                 (thread % CLUSTER_P == rank_p || thread / CLUSTER_P == rank_q);
    const auto release = [&](int stage) {
      if (shares_operands) hopper::arrive_in_block(at.empty(stage), first_rank + thread);
    };

    Turn<STAGES> turn;
    for (int number = 0;; ++number) {
      const int tile = tile_of(number);
      if (tile < 0) break;
      Sum sums[kPartP / 64][TILE_Q / 2];
      constexpr int kSums = kPartP / 64 * TILE_Q / 2;
      Sum* const sum = &sums[0][0];
      if (PROMOTE != 0 || (SPLIT > 1 && first_step == last_step)) {
#pragma unroll
        for (int i = 0; i < kSums; ++i) sum[i] = 0;
      }
      order.place(tile, p, q);
      int before = -1;
      for (int step = first_step; step < last_step; ++step) {
        hopper::wait_for_phase(at.full(turn.stage), turn.phase);
        const unsigned x = at.stage(turn.stage) + part * kPartP * 128;
        const unsigned y = at.stage(turn.stage) + Layout::kX;
        if constexpr (PROMOTE == 0) {
          multiply_stage<T, kXIsDepth, kYIsDepth, kPartP, TILE_Q>(sums, x, y, step > first_step);
          wgmma::wait<DEFER>();
        } else {
          Sum of_stage[kPartP / 64][TILE_Q / 2];
          multiply_stage<T, kXIsDepth, kYIsDepth, kPartP, TILE_Q>(of_stage, x, y, 0);
          wgmma::wait<0>();
#pragma unroll
          for (int i = 0; i < kSums; ++i) {
            wgmma::complete((&of_stage[0][0])[i]);
            sum[i] += (&of_stage[0][0])[i];
          }
        }
        if constexpr (DEFER == 0) {
          release(turn.stage);
        } else {
          if (before >= 0) release(before);
          before = turn.stage;
        }
        turn.next();
      }
      if constexpr (DEFER != 0) {
        wgmma::wait<0>();
        if (before >= 0) release(before);
      }

      // Nobody reads the ring any more.
      if constexpr (PANELS == 0 || SPLIT > 1) {
        hopper::sync_threads<CONSUMERS * 128>(kConsumersBarrier);
      }
      if constexpr (SPLIT > 1) {
        // Four sums at a time, those of neighboring threads behind each other.
        const unsigned own = shared + (part * 128 + thread) * 16;
        if (rank_k > 0) {
#pragma unroll
          for (int i = 0; i < kSums; i += 4) {
            hopper::store(own + i / 4 * (CONSUMERS * 128 * 16), sum[i], sum[i + 1], sum[i + 2],
                          sum[i + 3]);
          }
          __syncwarp();
          if (lane == 0) {
            hopper::publish_and_arrive_in_block(sums_full, rank % (CLUSTER_P * CLUSTER_Q));
          }
          break;
        }
        hopper::wait_and_see(sums_full, 0);
#pragma unroll 1
        for (int other = 1; other < SPLIT; ++other) {
          const unsigned there = hopper::in_block(own, rank + other * CLUSTER_P * CLUSTER_Q);
#pragma unroll
          for (int i = 0; i < kSums; i += 4) {
            Sum more[4];
            hopper::load_of_cluster(more, there + i / 4 * (CONSUMERS * 128 * 16));
#pragma unroll
            for (int e = 0; e < 4; ++e) sum[i + e] += more[e];
          }
        }
      }

      // Each warp stores its 16 of every 64 rows by itself, or where SWAP with its neighbors, whose
      // rows are neighboring columns of C, a panel of kPanel columns at a time: the largest power of
      // two that the tile and 128 bytes hold. The last panel of a row of panels overlaps the one
      // before where the tile is no multiple of it, and stores the same again.
      constexpr int kMost = 128 / static_cast<int>(sizeof(OUT));
      constexpr int kPanel = largest_power_of_two(TILE_Q < kMost ? TILE_Q : kMost);
      constexpr int kSharers = SWAP == 0 ? 1 : kMost < 64 ? kMost / 16 : 4;  // Warps of a panel.
      constexpr int kPanelsOfRow = (TILE_Q + kPanel - 1) / kPanel;
      constexpr int kPanelsOfTile = kPartP / 64 * kPanelsOfRow;
      constexpr int kPlaces = PANELS > 0 ? PANELS : kPanelsOfTile;  // For panels.
      constexpr int kTogether = PANELS > 0 ? 1 : kPanelsOfTile;
      static_assert(kPanelsOfTile % kPlaces == 0, "every tile begins with the same panel");
      static_assert(
          PANELS > 0 || CONSUMERS * 4 * kPlaces * Layout::kPanel <= STAGES * Layout::kStage,
          "the ring has room for all panels");
      const auto stored = [&](Sum value) {
        if constexpr (sizeof(T) == 1) {
          return scaled<OUT>(value, scale);
        } else {
          return value;
        }
      };
      const int place = warp % kSharers;
      const int first_warp = warp - place;
      p = (p * CLUSTER_P + rank_p) * TILE_P + part * kPartP + first_warp * 16;
      q = (q * CLUSTER_Q + rank_q) * TILE_Q;
      const unsigned panels =
          shared + Layout::kPanels + (part * 4 + first_warp) * kPlaces * Layout::kPanel;
      const auto sync_sharers = [&] {
        if constexpr (kSharers == 1) {
          __syncwarp();
        } else {
          hopper::sync_threads<kSharers * 32>(kConsumersBarrier + 1 +
                                              (part * 4 + first_warp) / kSharers);
        }
      };
      const auto panel = [&](int number) {
        return panels + number % kPlaces * kSharers * Layout::kPanel;
      };
      const auto column = [&](int number) {
        return min(number % kPanelsOfRow * kPanel, TILE_Q - kPanel);
      };
#pragma unroll
      for (int first = 0; first < kPanelsOfTile; first += kTogether) {
        if constexpr (PANELS > 0) {
          if constexpr (TRANSFERS::kStoresByBox) {
            if (place == 0 && lane == 0) hopper::wait_until_read<PANELS - 1>();
          }
          sync_sharers();
        }
#pragma unroll
        for (int number = first; number < first + kTogether; ++number) {
          write_panel<OUT, kPanel, (SWAP != 0), kSharers>(
              panel(number), place, sums[number / kPanelsOfRow] + column(number) / 2, stored);
        }
        if constexpr (TRANSFERS::kStoresByBox) hopper::publish_to_async();
        sync_sharers();
        if (!TRANSFERS::kStoresByBox || (place == 0 && lane == 0)) {
#pragma unroll
          for (int number = first; number < first + kTogether; ++number) {
            const int along_p = p + number / kPanelsOfRow * 64;
            const int along_q = q + column(number);
            constexpr int kColumns = SWAP != 0 ? kSharers * 16 : kPanel;  // Of C.
            constexpr int kRows = SWAP != 0 ? kPanel : 16;
            transfers.template store_panel<kRows, kColumns, kSharers * 32>(
                SWAP != 0 ? along_p : along_q, SWAP != 0 ? along_q : along_p, panel(number),
                place * 32 + lane);
          }
        }
      }
    }
    if (TRANSFERS::kStoresByBox && lane == 0) hopper::wait_until_read<0>();
  }
  // Others may still arrive at this block's barriers or read its sums.
  __syncwarp();
  if constexpr (kClusterBlocks > 1) hopper::sync_cluster();
}

}  // namespace gemm_tc_detail
