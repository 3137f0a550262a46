// Two-dimensional convolution without shared memory: the reference for convolution_tiled.
//
//   output_image[y][x] = sum over i, j of input_image[y + i][x + j] * d_filter[i][j]
//
//   input_image:  (height + filter_height - 1) x (width + filter_width - 1) elements: the image
//                 with its border on all sides
//   d_filter:     filter_height x filter_width coefficients, in constant memory
//   output_image: height x width elements, all row-major floats
//
// Each thread computes one element and reads its whole window; what neighbors share is left to the
// caches.
//
// Template parameters
//   block_size_x, block_size_y   threads per block     16 .. 1024 in all
//   filter_width, filter_height  of the problem        1, 2, ...; at most 1024 coefficients
//
// Block            block_size_x x block_size_y threads
// Grid             ceil(width / block_size_x) x ceil(height / block_size_y) blocks
// Shared memory    none
// Memory traffic   ((height + filter_height - 1) * (width + filter_width - 1) + height * width) * 4
//                  bytes at least; filter_height * filter_width loads per element

#include "convolution_filter.cuh"

template <int block_size_x, int block_size_y, int filter_width, int filter_height>
__global__ void __launch_bounds__(block_size_x* block_size_y)
    convolution_naive(const float* __restrict__ input_image, float* __restrict__ output_image,
                      int width, int height) {
  static_assert(block_size_x * block_size_y <= 1024, "a block has at most 1024 threads");
  static_assert(filter_width >= 1 && filter_height >= 1, "a filter cannot be empty");
  static_assert(filter_width * filter_height <= kMaxCoefficients,
                "a filter has at most 1024 coefficients");
  const int column = static_cast<int>(blockIdx.x) * block_size_x + static_cast<int>(threadIdx.x);
  const int row = static_cast<int>(blockIdx.y) * block_size_y + static_cast<int>(threadIdx.y);
  if (column >= width || row >= height) return;

  const long long input_width = width + filter_width - 1;
  float sum = 0;
  for (int y = 0; y < filter_height; ++y) {
    for (int x = 0; x < filter_width; ++x) {
      sum += input_image[(row + y) * input_width + column + x] * d_filter[y * filter_width + x];
    }
  }
  output_image[static_cast<long long>(row) * width + column] = sum;
}
