// One-dimensional stencil through a tile with halo in shared memory.
//
//   out[i] = in[i - RADIUS] + ... + in[i] + ... + in[i + RADIUS]     T elements
//
//   in, out: n + 2 * RADIUS elements: RADIUS ghost cells, n cells, RADIUS ghost cells; i is one of
//            the cells, and out's ghost cells keep their contents
//
// A block computes THREADS * ITEMS neighboring elements. It loads their cells and RADIUS more on
// either side, coalesced, each once, VEC at a time:
//
//   tile   | RADIUS: halo | THREADS * ITEMS: the block's own cells | RADIUS: halo |
//
// CONSECUTIVE chooses which elements a thread computes:
//   0  every THREADS-th: neighboring threads read neighboring elements, and each thread reads
//      (2 * RADIUS + 1) * ITEMS elements of the tile;
//   1  ITEMS in a row: each thread keeps its 2 * RADIUS + ITEMS elements in registers and reads
//      each once, but neighboring threads read and write ITEMS elements apart.
//
// Template parameters
//   T            element type                 int, float, double
//   RADIUS       of the problem               0, 1, ...; any, also above the tile's own cells
//   THREADS      threads per block            64 .. 1024
//   ITEMS        elements per thread          1, 2, 4, 8
//   CONSECUTIVE  see above                    0 or 1
//   VEC          elements of a load           1, 2, 4; at most 16 bytes
//
// Constraints      shared memory <= 49152 bytes,  VEC divides THREADS * ITEMS
// Block            THREADS threads
// Grid             ceil(n / (THREADS * ITEMS)) blocks
// Shared memory    THREADS * ITEMS + 2 * RADIUS elements in whole loads, static
// Memory traffic   (2 * n + 2 * RADIUS * ceil(n / (THREADS * ITEMS))) * sizeof(T) bytes

template <typename T, int RADIUS, int THREADS, int ITEMS, int CONSECUTIVE, int VEC>
__global__ void __launch_bounds__(THREADS)
    stencil1d_shared(const T* __restrict__ in, T* __restrict__ out, long long n) {
  static_assert(RADIUS >= 0, "a window cannot be empty");
  static_assert(THREADS >= 1 && THREADS <= 1024, "a block has 1 to 1024 threads");
  static_assert(ITEMS >= 1, "each thread must compute at least one element");
  static_assert(VEC * sizeof(T) <= 16, "a load has at most 16 bytes");
  static_assert(THREADS * ITEMS % VEC == 0, "a block's first cell must begin a load");
  constexpr int OWN = THREADS * ITEMS;
  constexpr int LOADS = (OWN + 2 * RADIUS + VEC - 1) / VEC;
  static_assert(LOADS * VEC * sizeof(T) <= 49152, "static shared memory ends at 48 KB");
  constexpr int WINDOW = 2 * RADIUS + 1;
  struct alignas(VEC * sizeof(T)) Load {
    T element[VEC];
  };
  __shared__ Load loads[LOADS];
  const T* const tile = loads[0].element;

  // Load the tile. Behind the last cell there is nothing to read.
  const int thread = static_cast<int>(threadIdx.x);
  const long long first = static_cast<long long>(blockIdx.x) * OWN;
  const long long cells = n + 2 * RADIUS;
  for (int i = thread; i < LOADS; i += THREADS) {
    const long long cell = first + i * VEC;
    if (cell + VEC <= cells) {
      loads[i] = *reinterpret_cast<const Load*>(in + cell);
    } else {
#pragma unroll
      for (int j = 0; j < VEC; ++j) loads[i].element[j] = cell + j < cells ? in[cell + j] : T(0);
    }
  }
  __syncthreads();

  // Add up and store.
  if constexpr (CONSECUTIVE != 0) {
    const int begin = thread * ITEMS;
    if (first + begin >= n) return;
    T sums[ITEMS];
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) sums[item] = T(0);
#pragma unroll
    for (int offset = 0; offset < WINDOW + ITEMS - 1; ++offset) {
      const T element = tile[begin + offset];
#pragma unroll
      for (int item = 0; item < ITEMS; ++item) {
        if (item <= offset && offset < item + WINDOW) sums[item] += element;
      }
    }
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      if (first + begin + item < n) out[first + begin + item + RADIUS] = sums[item];
    }
  } else {
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      const int begin = item * THREADS + thread;
      if (first + begin >= n) return;
      T sum = T(0);
#pragma unroll
      for (int offset = 0; offset < WINDOW; ++offset) sum += tile[begin + offset];
      out[first + begin + RADIUS] = sum;
    }
  }
}
