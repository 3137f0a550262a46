// Two-dimensional convolution whose threads walk down the image, with a sum in a register for each
// row of the output that the present row of the image serves.
//
//   output_image[y][x] = sum over i, j of input_image[y + i][x + j] * d_filter[i][j]
//
//   input_image:  (height + filter_height - 1) x (width + filter_width - 1) elements: the image
//                 with its border on all sides
//   d_filter:     filter_height x filter_width coefficients, in constant memory
//   output_image: height x width elements, all row-major floats
//
// A thread computes ROWS rows of COLS neighboring columns. It reads each row of its part of the
// image once and adds it to the sums of all rows of the output that it serves:
//
//   row y of the image     p0 p1 p2 ...     sums[0], of output row y,     += p * filter row 0
//   COLS + filter_width - 1 elements        sums[1], of output row y - 1, += p * filter row 1
//                                           ...
//                                           the last sums are complete then and are stored
//
// With the next row of the image every sum moves on by one place, which costs nothing: its first
// multiply-add reads the register before and writes this one. So a row takes COLS * filter_width *
// filter_height multiply-adds, whose coefficients have fixed places in constant memory, and
// COLS + filter_width - 1 elements of shared memory, where a ring of STAGES rows is filled ahead.
//
// The first and the last filter_height - 1 rows of the image serve fewer rows of the output, so the
// outermost third of them is added to a third of the sums only, the next to two thirds.
//
// Template parameters
//   VEC      elements of a global access          4, 2, 1: the most that divide COLS and the width
//                                                 of the image with and without its border
//   THREADS  threads per block                    32 .. 256
//   COLS     columns per thread                   2, 4, 8
//   ROWS     rows per thread                      16 .. 512
//   filter_width, filter_height                   1, 2, ...; at most 1024 coefficients
//
// Constraints      COLS * filter_height sums and COLS + filter_width - 1 elements in registers
// Block            THREADS threads
// Grid             ceil(width / (THREADS * COLS)) x ceil(height / ROWS) blocks
// Shared memory    4 * PITCH * 4 bytes, static;
//                  PITCH: THREADS * COLS + filter_width - 1 rounded up to 4
// Memory traffic   ((height + filter_height - 1) * (width + filter_width - 1) + height * width) * 4
//                  bytes at least

#include "../common/async_copy.cuh"
#include "convolution_filter.cuh"

template <int VEC, int THREADS, int COLS, int ROWS, int filter_width, int filter_height>
__global__ void __launch_bounds__(THREADS)
    convolution_rows(const float* __restrict__ input_image, float* __restrict__ output_image,
                     int width, int height) {
  static_assert(THREADS <= 1024, "a block has at most 1024 threads");
  static_assert(COLS % VEC == 0, "a thread stores its columns in whole accesses");
  static_assert(filter_width >= 1 && filter_height >= 1, "a filter cannot be empty");
  static_assert(filter_width * filter_height <= kMaxCoefficients,
                "a filter has at most 1024 coefficients");
  constexpr int STAGES = 4;
  constexpr int PITCH = (THREADS * COLS + filter_width - 1 + 3) / 4 * 4;
  constexpr int COPIES = (PITCH / VEC + THREADS - 1) / THREADS;  // Of a thread and row.
  constexpr int READ = COLS < 4 ? COLS : 4;
  constexpr int READS = (COLS + filter_width - 1 + READ - 1) / READ;
  static_assert(STAGES * PITCH * sizeof(float) <= 49152, "static shared memory ends at 48 KB");
  struct alignas(READ * sizeof(float)) Read {
    float element[READ];
  };
  struct alignas(VEC * sizeof(float)) Store {
    float element[VEC];
  };
  __shared__ __align__(16) float ring[STAGES][PITCH];

  const int thread = static_cast<int>(threadIdx.x);
  const int first_column = static_cast<int>(blockIdx.x) * THREADS * COLS;
  const int first_row = static_cast<int>(blockIdx.y) * ROWS;
  const int column = first_column + thread * COLS;
  const int rows = min(ROWS, height - first_row);
  const int input_width = width + filter_width - 1;
  const int input_rows = rows + filter_height - 1;
  const float* from = input_image + static_cast<long long>(first_row) * input_width + first_column;
  float* to = output_image + static_cast<long long>(first_row) * width + column;

  // Every row closes a group, also one behind the last.
  const auto start_row = [&](int y) {
#pragma unroll
    for (int copy = 0; copy < COPIES; ++copy) {
      const int x = (thread + copy * THREADS) * VEC;
      if (x >= PITCH) break;
      start_copy<VEC * sizeof(float)>(&ring[y & (STAGES - 1)][x], from + x,
                                      y < input_rows && first_column + x < input_width);
    }
    close_copies();
    from += input_width;
  };
  float sums[filter_height][COLS] = {};
  // Adds row y to the sums from `first` to `last`.
  const auto add_row = [&](int y, int first, int last) {
    wait_for_copies<STAGES - 2>();
    __syncthreads();  // Row y is there, and nobody reads row y - 1 any more.
    start_row(y + STAGES - 1);
    Read reads[READS];
#pragma unroll
    for (int read = 0; read < READS; ++read) {
      reads[read] = reinterpret_cast<const Read*>(&ring[y & (STAGES - 1)][thread * COLS])[read];
    }
#pragma unroll
    for (int i = filter_height - 1; i >= 0; --i) {
      if (i < first || i > last) continue;
#pragma unroll
      for (int j = 0; j < COLS; ++j) sums[i][j] = i > 0 ? sums[i - 1][j] : 0.0f;
#pragma unroll
      for (int x = 0; x < filter_width; ++x) {
        const float coefficient = d_filter[i * filter_width + x];
#pragma unroll
        for (int j = 0; j < COLS; ++j) {
          sums[i][j] += reads[(x + j) / READ].element[(x + j) % READ] * coefficient;
        }
      }
    }
  };
  const auto store_row = [&] {
#pragma unroll
    for (int j = 0; j < COLS; j += VEC) {
      if (column + j >= width) break;
      Store store;
#pragma unroll
      for (int e = 0; e < VEC; ++e) store.element[e] = sums[filter_height - 1][j + e];
      *reinterpret_cast<Store*>(to + j) = store;
    }
    to += width;
  };

  constexpr int THIRD = filter_height / 3;
  constexpr int LAST = filter_height - 1;
  for (int y = 0; y < STAGES - 1; ++y) start_row(y);
  int y = 0;
  for (; y < THIRD; ++y) add_row(y, 0, THIRD - 1);
  for (; y < 2 * THIRD; ++y) add_row(y, 0, 2 * THIRD - 1);
  for (; y < rows + THIRD - 1; ++y) {
    add_row(y, 0, LAST);
    if (y >= LAST) store_row();
  }
  for (; y < rows + 2 * THIRD - 1; ++y) {
    add_row(y, THIRD, LAST);
    if (y >= LAST) store_row();
  }
  for (; y < input_rows; ++y) {
    add_row(y, 2 * THIRD, LAST);
    if (y >= LAST) store_row();
  }
  wait_for_copies<0>();
}
