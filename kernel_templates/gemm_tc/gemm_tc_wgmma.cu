// Matrix product on the tensor cores of Hopper (sm_90a): TMA, wgmma.
//
//   C[row][column] = sum over i of A[row][i] * B[i][column]          gemm_tc_wgmma
//   C[row][column] = scale * sum over i of A[row][i] * B[i][column]  gemm_tc_wgmma_scaled
//
//   A: m x k and C: m x n, row-major; B: k x n, row-major, or where TRANSPOSED stored as n x k;
//   A and B T elements, C OUT elements, fp32 sums, int32 of integers; where OUT is int the sums are
//   stored as they are
//
// One block per multiprocessor stays and computes one tile after the other. Its warpgroups (four
// warps) have roles: a thread of the producer keeps a ring of stages full by TMA; CONSUMERS others
// multiply what has arrived, each some rows of the tile, whose sums it holds in registers.
//
//               ring of STAGES stages            tile of C, TILE_P x TILE_Q
//               +-----+-----+-----+-----+        +--------------------------+
//   producer    | X Y | X Y | X Y | X Y |        | consumer 0: 64 rows at a |
//   by TMA -->  |     |     |     |     | -----> | time by wgmma            |
//               +-----+-----+-----+-----+ wgmma  +--------------------------+
//                 ^ waits until    ^ waits until | consumer 1               |
//                 |  a stage is    |  a stage is |                          |
//                 |  empty         |  full       +--------------------------+
//                                                   | stmatrix where OUT has 16 bits
//               the producer already fills          v
//               stages for the next tile          panels of 16 rows of each warp, by TMA --> C
//
// The tensor cores take 64 rows (P) by 16 to 256 columns (Q). P are the rows of C, or where SWAP its
// columns: for few rows of A a tile is then 64 columns of C or more by as few as 16 rows. X is the
// operand along P (A, or B where SWAP), Y the one along Q; a stage has 128 bytes of their depth.
//
// Blocks form clusters, of
//   CLUSTER_P x CLUSTER_Q   neighboring tiles: those of one row or column of tiles need the same X or
//                           Y, of which each block loads its share for all of them (multicast); or
//   SPLIT                   blocks that compute one tile, each a part of the depth, and leave their
//                           sums in the ring: the first adds them up, always in the same order.
//
// Template parameters
//   T, OUT        __half or __nv_bfloat16; the same or float
//                 scaled: __nv_fp8_e4m3; __half, __nv_bfloat16, float
//                         signed char; signed char (the nearest, at most 127), int
//   TRANSPOSED    0: B is k x n; 1: B is n x k, always where scaled
//   SWAP          0 or 1
//   TILE_P        64 to 256, whole products of 64 for each consumer
//   TILE_Q        16 to 256 by 16, 288, 320
//   CONSUMERS     1 to 4; TILE_P * TILE_Q / CONSUMERS / 128 sums per thread must fit its registers
//   STAGES        2 or more
//   CLUSTER_P, CLUSTER_Q, SPLIT    1, 2, 4; SPLIT also 3, 8
//   PANELS        panels of each warp on their way to C; 0: all of a tile, in the ring
//   DEFER         1: a stage is given back while the next is multiplied; 0: before
//   PROMOTE       1: sums of a stage are added to the others in fp32, because tensor cores add up
//                 products of 8-bit floats with fewer digits; DEFER is 0 then
//
// Arguments        a_map, b_map: boxes of 128 bytes of each row, as many rows as a block loads at a
//                  time (where not TRANSPOSED as much depth of B), swizzled by 128 bytes
//                  c_map: boxes of one panel, swizzled by their width
//                  group: tiles are taken down the columns of groups of so many rows of tiles
//                  hilbert: or in squares of group x group (a power of two) along Hilbert's curve
// Constraints      rows of A, B and C have a multiple of 16 bytes
//                  TRANSPOSED, or a tile has a multiple of 64 columns of B
//                  PROMOTE: twice the sums must fit a thread's registers
//                  PANELS == 0 or SPLIT > 1: each block computes one tile, behind which the ring is
//                  empty; it must have room for the panels, the sums
// Block            128 * (CONSUMERS + 1) threads
// Cluster          CLUSTER_P * CLUSTER_Q * SPLIT blocks
// Grid             any number of clusters: as many as fit the GPU
// Shared memory    STAGES * (TILE_P + TILE_Q) * 128 + CONSUMERS * 4 * PANELS * 2048
//                  + (2 * STAGES + 1) * 8 bytes, dynamic

#include "../common/hopper.cuh"
#include "../common/wgmma.cuh"

namespace gemm_tc_detail {

__host__ __device__ constexpr int largest_power_of_two(int most) {
  int power = 1;
  while (2 * power <= most) power *= 2;
  return power;
}

/// Where things lie in shared memory, in bytes.
template <int TILE_P, int TILE_Q, int CONSUMERS, int STAGES, int PANELS>
struct Layout {
  static constexpr int kX = TILE_P * 128;
  static constexpr int kY = TILE_Q * 128;
  static constexpr int kStage = kX + kY;
  static constexpr int kPanel = 2048;  // Bytes for each warp: 16 of P by up to 128 bytes.
  static constexpr int kPanels = PANELS > 0 ? STAGES* kStage : 0;
  static constexpr int kBarriers = STAGES * kStage + CONSUMERS * 4 * PANELS * kPanel;
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

/// Loads a share of a stage of an operand, of which SHARERS blocks load one each, for all of them
/// where there are several: of ROWS rows or columns from `first` on, 128 bytes of their depth each,
/// the share-th part of them; or where x is not the depth the share-th part of the depth of all.
template <int ROWS, int SHARERS, bool X_IS_DEPTH>
__device__ __forceinline__ void load_share(unsigned to, const TensorMap& map, int first, int depth,
                                           int share, unsigned barrier, int blocks) {
  constexpr int kRows = X_IS_DEPTH ? ROWS / SHARERS : ROWS;
  constexpr int kBox = !X_IS_DEPTH ? 64 : kRows > 256 ? kRows / 2 : kRows;
  constexpr int kStep = X_IS_DEPTH ? kRows : 64 / SHARERS;  // From share to share, in 128 bytes.
  static_assert(kRows % kBox == 0, "shares are whole boxes");
  static_assert(kBox % 8 == 0 && kStep % 8 == 0, "the swizzle repeats every 8 rows");
  to += share * kStep * 128;
  (X_IS_DEPTH ? first : depth) += share * kStep;
#pragma unroll
  for (int i = 0; i < kRows; i += kBox) {
    const int x = X_IS_DEPTH ? depth : first + i;
    const int y = X_IS_DEPTH ? first + i : depth;
    if constexpr (SHARERS > 1) {
      hopper::load_box(to + i * 128, map, x, y, barrier, blocks);
    } else {
      hopper::load_box(to + i * 128, map, x, y, barrier);
    }
  }
}

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
          int STAGES, int CLUSTER_P, int CLUSTER_Q, int SPLIT, int PANELS, int DEFER, int PROMOTE>
__device__ __forceinline__ void compute_tiles(const TensorMap& a_map, const TensorMap& b_map,
                                              const TensorMap& c_map, float scale, int m, int n,
                                              int k, int group, int hilbert) {
  using Layout = gemm_tc_detail::Layout<TILE_P, TILE_Q, CONSUMERS, STAGES, PANELS>;
  constexpr bool kXIsDepth = SWAP == 0 || TRANSPOSED != 0;
  constexpr bool kYIsDepth = SWAP != 0 || TRANSPOSED != 0;
  using Sum = typename SumOf<T>::Type;
  constexpr int kDepth = 128 / static_cast<int>(sizeof(T));  // Of a stage.
  constexpr int kPartP = TILE_P / CONSUMERS;
  constexpr int kConsumersBarrier = 1;  // 0 is that of all threads.
  constexpr int kProducerRegisters = 56;
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
  const auto full = [&](int stage) { return shared + Layout::kBarriers + stage * 16; };
  const auto empty = [&](int stage) { return shared + Layout::kBarriers + stage * 16 + 8; };
  const unsigned sums_full = shared + Layout::kBarriers + STAGES * 16;

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
    hopper::prefetch_map(a_map);
    hopper::prefetch_map(b_map);
    hopper::prefetch_map(c_map);
    for (int stage = 0; stage < STAGES; ++stage) {
      hopper::make_barrier(full(stage), 1);
      hopper::make_barrier(empty(stage), CONSUMERS * (CLUSTER_P + CLUSTER_Q - 1));
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
    if (threadIdx.x == 0) {
      const TensorMap& x_map = SWAP != 0 ? b_map : a_map;
      const TensorMap& y_map = SWAP != 0 ? a_map : b_map;
      // X's share of this block goes to the blocks of its row of tiles, Y's to those of its column.
      int x_blocks = 0;
      for (int i = 0; i < CLUSTER_Q; ++i) x_blocks |= 1 << (first_rank + rank_p + i * CLUSTER_P);
      const int y_blocks = ((1 << CLUSTER_P) - 1) << (first_rank + rank_q * CLUSTER_P);

      Turn<STAGES> turn;
      for (int number = 0;; ++number) {
        const int tile = tile_of(number);
        if (tile < 0) break;
        if (number > 0) order.place(tile, p, q);
        p = (p * CLUSTER_P + rank_p) * TILE_P;
        q = (q * CLUSTER_Q + rank_q) * TILE_Q;
        for (int step = first_step; step < last_step; ++step) {
          hopper::wait_for_phase(empty(turn.stage), turn.phase ^ 1);
          const unsigned barrier = full(turn.stage);
          hopper::arrive_and_expect(barrier, Layout::kStage);
          const unsigned x = shared + turn.stage * Layout::kStage;
          load_share<TILE_P, CLUSTER_Q, kXIsDepth>(x, x_map, p, step * kDepth, rank_q, barrier,
                                                   x_blocks);
          load_share<TILE_Q, CLUSTER_P, kYIsDepth>(x + Layout::kX, y_map, q, step * kDepth, rank_p,
                                                   barrier, y_blocks);
          turn.next();
        }
      }
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
      if (shares_operands) hopper::arrive_in_block(empty(stage), first_rank + thread);
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
        hopper::wait_for_phase(full(turn.stage), turn.phase);
        const unsigned x = shared + turn.stage * Layout::kStage + part * kPartP * 128;
        const unsigned y = shared + turn.stage * Layout::kStage + Layout::kX;
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
          if (place == 0 && lane == 0) hopper::wait_until_read<PANELS - 1>();
          sync_sharers();
        }
#pragma unroll
        for (int number = first; number < first + kTogether; ++number) {
          write_panel<OUT, kPanel, (SWAP != 0), kSharers>(
              panel(number), place, sums[number / kPanelsOfRow] + column(number) / 2, stored);
        }
        hopper::publish_to_async();
        sync_sharers();
        if (place == 0 && lane == 0) {
#pragma unroll
          for (int number = first; number < first + kTogether; ++number) {
            const int along_p = p + number / kPanelsOfRow * 64;
            const int along_q = q + column(number);
            hopper::store_box(c_map, SWAP != 0 ? along_p : along_q, SWAP != 0 ? along_q : along_p,
                              panel(number));
          }
        }
      }
    }
    if (lane == 0) hopper::wait_until_read<0>();
  }
  // Others may still arrive at this block's barriers or read its sums.
  __syncwarp();
  if constexpr (kClusterBlocks > 1) hopper::sync_cluster();
}

}  // namespace gemm_tc_detail

template <typename T, typename OUT, int TRANSPOSED, int SWAP, int TILE_P, int TILE_Q, int CONSUMERS,
          int STAGES, int CLUSTER_P, int CLUSTER_Q, int SPLIT, int PANELS, int DEFER,
          int THREADS = (128 * (CONSUMERS + 1))>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_tc_wgmma(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
                  const __grid_constant__ TensorMap c_map, int m, int n, int k, int group,
                  int hilbert) {
  static_assert(sizeof(T) == 2, "sums of products of 8 bits are scaled");
  gemm_tc_detail::compute_tiles<T, OUT, TRANSPOSED, SWAP, TILE_P, TILE_Q, CONSUMERS, STAGES,
                                CLUSTER_P, CLUSTER_Q, SPLIT, PANELS, DEFER, 0>(
      a_map, b_map, c_map, 1, m, n, k, group, hilbert);
}

template <typename T, typename OUT, int SWAP, int TILE_P, int TILE_Q, int CONSUMERS, int STAGES,
          int SPLIT, int PANELS, int DEFER, int PROMOTE, int THREADS = (128 * (CONSUMERS + 1))>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_tc_wgmma_scaled(const __grid_constant__ TensorMap a_map,
                         const __grid_constant__ TensorMap b_map,
                         const __grid_constant__ TensorMap c_map, const float* scale, int m, int n,
                         int k, int group) {
  static_assert(sizeof(T) == 1, "sums of products of 16 bits are stored as they are");
  gemm_tc_detail::compute_tiles<T, OUT, 1, SWAP, TILE_P, TILE_Q, CONSUMERS, STAGES, 1, 1, SPLIT,
                                PANELS, DEFER, PROMOTE>(a_map, b_map, c_map, *scale, m, n, k, group,
                                                        0);
}
