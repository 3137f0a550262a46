// Two-dimensional convolution, several elements per thread in registers, with or without a tile of
// the image in shared memory.
//
//   output_image[y][x] = sum over i, j of input_image[y + i][x + j] * d_filter[i][j]
//
//   input_image:  (height + filter_height - 1) x (width + filter_width - 1) elements: the image
//                 with its border on all sides
//   d_filter:     filter_height x filter_width coefficients, in constant memory
//   output_image: height x width elements, all row-major floats
//
// A block computes block_size_x * tile_size_x columns of block_size_y * tile_size_y rows; a thread
//
//   columns  threadIdx.x + j * block_size_x,   j = 0 .. tile_size_x-1
//   rows     threadIdx.y * tile_size_y + i,    i = 0 .. tile_size_y-1
//
// so that neighboring threads read neighboring elements, and each element that a thread reads
// serves all of its rows. With use_shmem the block first loads what it needs, each element once:
//
//   block_size_y * tile_size_y + filter_height - 1 rows of
//   block_size_x * tile_size_x + filter_width - 1 elements, and padding
//
// Padding is for blocks whose rows end within a warp: its threads read from several rows of the
// tile, which fall on different banks when the pitch of tile_size_y rows is block_size_x modulo 32.
//
// Names, values and valid configurations are those of convolution_milo in the FAIR benchmark hub
// for auto-tuning: 4362 for a 15 x 15 filter and 48 KB. Its filter_width and filter_height are the
// problem's here, its use_cmem, always 1, is left out.
//
// Template parameters
//   block_size_x   threads of a block in x        16, 32, ... 256
//   block_size_y   threads of a block in y        1, 2, 4, 8, 16
//   tile_size_x    columns per thread             1, 2, 3, 4
//   tile_size_y    rows per thread                1, 2, 3, 4
//   read_only      0 or 1: read the image by way of the read-only cache
//   use_padding    0 or 1: fewest unused elements after each row of the tile that remove the bank
//                  conflicts; only with use_shmem, and where block_size_x % 32 == 16
//   use_shmem      0: each thread reads the image itself; 1: through the tile
//   filter_width, filter_height                   1, 2, ...; at most 1024 coefficients
//
// Constraints      block_size_x * block_size_y <= 1024 threads,  48 KB of static shared memory
// Block            block_size_x x block_size_y threads
// Grid             ceil(width / (block_size_x * tile_size_x)) x
//                  ceil(height / (block_size_y * tile_size_y)) blocks
// Shared memory    use_shmem * pitch * (block_size_y * tile_size_y + filter_height - 1) * 4 bytes,
//                  static; pitch: block_size_x * tile_size_x + filter_width - 1 and padding
// Memory traffic   ((height + filter_height - 1) * (width + filter_width - 1) + height * width) * 4
//                  bytes at least

#include "convolution_filter.cuh"

// The pointers are not __restrict__, which would let the compiler take the read-only cache anyway.
template <int block_size_x, int block_size_y, int tile_size_x, int tile_size_y, int read_only,
          int use_padding, int use_shmem, int filter_width, int filter_height>
__global__ void __launch_bounds__(block_size_x* block_size_y)
    convolution_tiled(const float* input_image, float* output_image, int width, int height) {
  static_assert(block_size_x * block_size_y <= 1024, "a block has at most 1024 threads");
  static_assert(tile_size_x >= 1 && tile_size_y >= 1, "each thread computes at least one element");
  static_assert(use_padding == 0 || (use_shmem != 0 && block_size_x % 32 == 16),
                "padding is for tiles whose rows are read by half warps");
  static_assert(filter_width >= 1 && filter_height >= 1, "a filter cannot be empty");
  static_assert(filter_width * filter_height <= kMaxCoefficients,
                "a filter has at most 1024 coefficients");

  constexpr int TILE_WIDTH = block_size_x * tile_size_x + filter_width - 1;
  constexpr int TILE_HEIGHT = block_size_y * tile_size_y + filter_height - 1;
  // The pitch that is needed modulo STEP. An odd factor of tile_size_y does not change it.
  constexpr int STEP = tile_size_y % 4 == 0 ? 8 : tile_size_y % 2 == 0 ? 16 : 32;
  constexpr int PADDING = use_padding == 0 ? 0 : (TILE_WIDTH * (STEP - 1) + STEP / 2) % STEP;
  constexpr int PITCH = TILE_WIDTH + PADDING;

  const int thread_x = static_cast<int>(threadIdx.x);
  const int thread_y = static_cast<int>(threadIdx.y);
  const int first_column = static_cast<int>(blockIdx.x) * block_size_x * tile_size_x;
  const int first_row = static_cast<int>(blockIdx.y) * block_size_y * tile_size_y;
  const int input_width = width + filter_width - 1;
  const int input_height = height + filter_height - 1;
  const auto read = [](const float* element) { return read_only != 0 ? __ldg(element) : *element; };

  // Where the windows of the thread's columns begin: in the tile, or in the image's first row.
  const float* windows[tile_size_x];
  if constexpr (use_shmem != 0) {
    static_assert(PITCH * TILE_HEIGHT * sizeof(float) <= 49152,
                  "static shared memory ends at 48 KB");
    __shared__ float tile[TILE_HEIGHT * PITCH];

    // Load the tile. Elements that hang over the image's border serve none that is stored.
    for (int y = thread_y; y < TILE_HEIGHT; y += block_size_y) {
      const float* const row = input_image + static_cast<long long>(first_row + y) * input_width;
#pragma unroll
      for (int x = thread_x; x < TILE_WIDTH; x += block_size_x) {
        const bool inside = first_row + y < input_height && first_column + x < input_width;
        tile[y * PITCH + x] = inside ? read(row + first_column + x) : 0.0f;
      }
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < tile_size_x; ++j) {
      windows[j] = tile + thread_y * tile_size_y * PITCH + thread_x + j * block_size_x;
    }
  } else {
    // Columns behind the edge, which are not stored, read the last one.
#pragma unroll
    for (int j = 0; j < tile_size_x; ++j) {
      const int column = first_column + thread_x + j * block_size_x;
      windows[j] = input_image + (column < width ? column : width - 1);
    }
  }

  // Add up. The first and the last rows of the windows do not serve all of the thread's rows; apart
  // from the others, they leave those without a branch.
  float sums[tile_size_y][tile_size_x] = {};
  const auto add_row = [&](int y, bool serves_all) {
    long long offset = y * PITCH;
    if constexpr (use_shmem == 0) {
      const int row = first_row + thread_y * tile_size_y + y;
      offset = static_cast<long long>(row < input_height ? row : input_height - 1) * input_width;
    }
#pragma unroll
    for (int x = 0; x < filter_width; ++x) {
      float pixels[tile_size_x];
#pragma unroll
      for (int j = 0; j < tile_size_x; ++j) {
        const float* const pixel = windows[j] + offset + x;
        pixels[j] = use_shmem != 0 ? *pixel : read(pixel);
      }
#pragma unroll
      for (int i = 0; i < tile_size_y; ++i) {
        if (serves_all || (i <= y && y < i + filter_height)) {
          const float coefficient = d_filter[(y - i) * filter_width + x];
#pragma unroll
          for (int j = 0; j < tile_size_x; ++j) sums[i][j] += pixels[j] * coefficient;
        }
      }
    }
  };
  constexpr int EDGE = filter_height < tile_size_y ? filter_height : tile_size_y - 1;
  constexpr int ROWS = filter_height + tile_size_y - 1;
#pragma unroll
  for (int y = 0; y < EDGE; ++y) add_row(y, false);
#pragma unroll
  for (int y = EDGE; y < ROWS - EDGE; ++y) add_row(y, EDGE == tile_size_y - 1);
#pragma unroll
  for (int y = ROWS - EDGE; y < ROWS; ++y) add_row(y, false);

    // Store.
#pragma unroll
  for (int i = 0; i < tile_size_y; ++i) {
    const int row = first_row + thread_y * tile_size_y + i;
#pragma unroll
    for (int j = 0; j < tile_size_x; ++j) {
      const int column = first_column + thread_x + j * block_size_x;
      if (row < height && column < width) {
        output_image[static_cast<long long>(row) * width + column] = sums[i][j];
      }
    }
  }
}
