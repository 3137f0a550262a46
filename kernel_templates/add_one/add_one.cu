// Adds one to every element of an array, in place.
//
//   array[i] += 1     i = 0 .. n-1, T elements, contiguous
//
// A block owns THREADS * ITEMS * VEC consecutive elements. In each of its ITEMS steps the block
// moves THREADS vectors of VEC elements that lie side by side, so accesses are coalesced and
// VEC * sizeof(T) bytes wide. The last, incomplete vector is done element by element.
//
// Template parameters
//   T        element type              int, float, double
//   THREADS  threads per block         64 .. 1024
//   ITEMS    vectors per thread        1, 2, 4, 8
//   VEC      elements per access       1, 2, 4
//
// Constraints      VEC a power of two, VEC * sizeof(T) <= 16 bytes (the widest access)
//                  array aligned to VEC * sizeof(T) bytes, as cudaMalloc does
// Block            THREADS threads
// Grid             ceil(n / (THREADS * ITEMS * VEC)) blocks
// Shared memory    none
// Memory traffic   2 * n * sizeof(T) bytes

template <typename T, int VEC>
struct alignas(sizeof(T) * VEC) Vector {
  T elements[VEC];
};

template <typename T, int THREADS, int ITEMS, int VEC>
__global__ void __launch_bounds__(THREADS) add_one(T* array, long long n) {
  static_assert(THREADS >= 1 && THREADS <= 1024, "a block has 1 to 1024 threads");
  static_assert(ITEMS >= 1, "each thread must move at least one vector");
  static_assert(VEC >= 1 && (VEC & (VEC - 1)) == 0 && VEC * sizeof(T) <= 16,
                "a vector must be a power of two of elements and at most 16 bytes");
  const long long first = static_cast<long long>(blockIdx.x) * (THREADS * ITEMS * VEC);

#pragma unroll
  for (int item = 0; item < ITEMS; ++item) {
    const long long begin = first + (item * THREADS + static_cast<int>(threadIdx.x)) * VEC;
    if (begin + VEC <= n) {
      Vector<T, VEC>* const place = reinterpret_cast<Vector<T, VEC>*>(array + begin);
      Vector<T, VEC> vector = *place;
#pragma unroll
      for (int lane = 0; lane < VEC; ++lane) vector.elements[lane] += T(1);
      *place = vector;
    } else {
      for (long long i = begin; i < n; ++i) array[i] += T(1);
    }
  }
}
