// One-dimensional stencil that adds up groups of neighbors once for all windows they lie in.
//
//   out[i] = in[i - RADIUS] + ... + in[i] + ... + in[i + RADIUS]     T elements
//
//   in, out: n + 2 * RADIUS elements: RADIUS ghost cells, n cells, RADIUS ghost cells; i is one of
//            the cells, and out's ghost cells keep their contents
//
// A group is 16 bytes: GROUP elements. A thread computes the GROUP outputs whose windows begin in
// one group. These windows differ at their ends only:
//
//   in        |a b c d|e f g h| ... |q r s t|u v w x|        GROUP = 4
//   window 0   a b c d e f g h  ...  q
//   window 1     b c d e f g h  ...  q r
//   window 2       c d e f g h  ...  q r s                  = the end of the first group
//   window 3         d e f g h  ...  q r s t                  + whole groups + the last one's begin
//
// A block loads its groups into shared memory and their sums beside them, so that an output costs
// about RADIUS / 2 / GROUP additions and nothing is ever subtracted.
//
// Template parameters
//   T        element type                 int, float, double
//   RADIUS   of the problem               GROUP or more
//   THREADS  threads per block            64 .. 1024
//   ITEMS    groups per thread            1, 2, 4
//
// Constraints      shared memory <= 49152 bytes, 2 * RADIUS + 1 >= 2 * GROUP
// Block            THREADS threads
// Grid             ceil(n / (THREADS * ITEMS * GROUP)) blocks
// Shared memory    THREADS * ITEMS + ceil(2 * RADIUS / GROUP) groups and sums, static
// Memory traffic   (2 * n + 2 * RADIUS * ceil(n / (THREADS * ITEMS * GROUP))) * sizeof(T) bytes

template <typename T, int RADIUS, int THREADS, int ITEMS>
__global__ void __launch_bounds__(THREADS)
    stencil1d_grouped(const T* __restrict__ in, T* __restrict__ out, long long n) {
  constexpr int GROUP = 16 / static_cast<int>(sizeof(T));
  constexpr int WINDOW = 2 * RADIUS + 1;
  constexpr int OWN = THREADS * ITEMS;
  constexpr int GROUPS = OWN + (2 * RADIUS + GROUP - 1) / GROUP;
  constexpr int LAST = WINDOW / GROUP;    // The group behind the whole ones.
  constexpr int COMMON = WINDOW % GROUP;  // Its elements that lie in every window.
  constexpr int ENDS = (COMMON + GROUP - 1 + GROUP - 1) / GROUP;  // Groups that windows end in.
  static_assert(THREADS >= 1 && THREADS <= 1024, "a block has 1 to 1024 threads");
  static_assert(ITEMS >= 1, "each thread must compute at least one group");
  static_assert(LAST >= 2, "every window must hold a whole group: only then are sums used");
  static_assert(GROUPS * (16 + sizeof(T)) <= 49152, "static shared memory ends at 48 KB");
  struct alignas(16) Group {
    T element[GROUP];
  };
  __shared__ Group groups[GROUPS];
  __shared__ T totals[GROUPS];

  // Load. Behind the last cell there is nothing to read.
  const int thread = static_cast<int>(threadIdx.x);
  const long long first = static_cast<long long>(blockIdx.x) * OWN * GROUP;
  const long long cells = n + 2 * RADIUS;
  const auto load = [&](int i) {
    const long long cell = first + static_cast<long long>(i) * GROUP;
    Group group;
    if (cell + GROUP <= cells) {
      group = *reinterpret_cast<const Group*>(in + cell);
    } else {
#pragma unroll
      for (int e = 0; e < GROUP; ++e) group.element[e] = cell + e < cells ? in[cell + e] : T(0);
    }
    return group;
  };
  const auto keep = [&](int i, const Group& group) {
    T total = group.element[0];
#pragma unroll
    for (int e = 1; e < GROUP; ++e) total += group.element[e];
    groups[i] = group;
    totals[i] = total;
  };
  Group own[ITEMS];
#pragma unroll
  for (int item = 0; item < ITEMS; ++item) own[item] = load(thread + item * THREADS);
  for (int i = OWN + thread; i < GROUPS; i += THREADS) keep(i, load(i));
#pragma unroll
  for (int item = 0; item < ITEMS; ++item) keep(thread + item * THREADS, own[item]);
  __syncthreads();

#pragma unroll
  for (int item = 0; item < ITEMS; ++item) {
    const int begin = thread + item * THREADS;
    const long long cell = first + static_cast<long long>(begin) * GROUP;
    if (cell >= n) return;
    T inner = T(0);
#pragma unroll
    for (int i = 1; i < LAST; ++i) inner += totals[begin + i];
    Group ends[ENDS];
#pragma unroll
    for (int i = 0; i < ENDS; ++i) ends[i] = groups[begin + LAST + i];
#pragma unroll
    for (int e = 0; e < COMMON; ++e) inner += ends[0].element[e];

    // The ends of the first group from behind, the begins of the last one from the front.
    Group sums = own[item];
#pragma unroll
    for (int e = GROUP - 2; e >= 0; --e) sums.element[e] += sums.element[e + 1];
    sums.element[0] += inner;
#pragma unroll
    for (int e = 1; e < GROUP; ++e) {
      inner += ends[(COMMON + e - 1) / GROUP].element[(COMMON + e - 1) % GROUP];
      sums.element[e] += inner;
    }

    T* const to = out + cell + RADIUS;
    if (RADIUS % GROUP == 0 && cell + GROUP <= n) {
      *reinterpret_cast<Group*>(to) = sums;
    } else {
#pragma unroll
      for (int e = 0; e < GROUP; ++e) {
        if (cell + e < n) to[e] = sums.element[e];
      }
    }
  }
}
