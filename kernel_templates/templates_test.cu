// Instantiates every template once, for nvcc.

#include "add_one/add_one.cu"
#include "convolution/convolution_naive.cu"
#include "convolution/convolution_rows.cu"
#include "convolution/convolution_tiled.cu"
#include "gemm/gemm_buffered.cu"
#include "gemm/gemm_flat.cu"
#include "gemm/gemm_naive.cu"
#include "gemm/gemm_narrow.cu"
#include "gemm/gemm_register_tiled.cu"
#include "gemm/gemm_row.cu"
#include "gemm/gemm_row_column.cu"
#include "gemm/gemm_stream_k.cu"
#include "gemm/gemm_tiled.cu"
#include "gemm_tc/gemm_tc_mma.cu"
#include "gemm_tc/gemm_tc_naive.cu"
#include "gemm_tc/gemm_tc_vector.cu"
#include "gemm_tc/gemm_tc_wgmma.cu"
#include "gemm_tc/gemm_tc_wgmma_of_copies.cu"
#include "histogram/histogram_bulk.cu"
#include "histogram/histogram_naive.cu"
#include "histogram/histogram_shared.cu"
#include "memory/memory_bandwidth.cu"
#include "memory/memory_coalescing.cu"
#include "memory/memory_constant.cu"
#include "memory/memory_histogram.cu"
#include "memory/memory_index.cu"
#include "memory/memory_latency.cu"
#include "memory/memory_occupancy.cu"
#include "memory/memory_padding.cu"
#include "memory/memory_spills.cu"
#include "memory/memory_stride.cu"
#include "nbody/nbody_naive.cu"
#include "nbody/nbody_registers.cu"
#include "nbody/nbody_split.cu"
#include "nbody/nbody_tiled.cu"
#include "normalize/normalize_bulk.cu"
#include "normalize/normalize_cluster.cu"
#include "normalize/normalize_naive.cu"
#include "normalize/normalize_registers.cu"
#include "normalize/normalize_twice.cu"
#include "reduce/reduce_bulk.cu"
#include "reduce/reduce_cluster.cu"
#include "reduce/reduce_last_block.cu"
#include "reduce/reduce_rows.cu"
#include "reduce/reduce_split.cu"
#include "reduce/reduce_tree.cu"
#include "scan/scan_bulk.cu"
#include "scan/scan_lookback.cu"
#include "scan/scan_naive.cu"
#include "spmv_csr/spmv_csr_merge.cu"
#include "spmv_csr/spmv_csr_naive.cu"
#include "spmv_csr/spmv_csr_vector.cu"
#include "stencil1d/stencil1d_grouped.cu"
#include "stencil1d/stencil1d_naive.cu"
#include "stencil1d/stencil1d_shared.cu"
#include "stencil2d/stencil2d_async.cu"
#include "stencil2d/stencil2d_bulk.cu"
#include "stencil2d/stencil2d_naive.cu"
#include "stencil2d/stencil2d_registers.cu"
#include "stencil3d/stencil3d_async.cu"
#include "stencil3d/stencil3d_bulk.cu"
#include "stencil3d/stencil3d_naive.cu"
#include "stencil3d/stencil3d_registers.cu"
#include "transpose/transpose_in_place_naive.cu"
#include "transpose/transpose_in_place_vectors.cu"
#include "transpose/transpose_naive.cu"
#include "transpose/transpose_pipelined.cu"
#include "transpose/transpose_tiled.cu"
#include "transpose/transpose_vectors.cu"

template __global__ void add_one<double, 128, 2, 2>(double*, long long);
template __global__ void convolution_naive<32, 8, 3, 5>(const float*, float*, int, int);
template __global__ void convolution_rows<2, 64, 4, 32, 3, 5>(const float*, float*, int, int);
template __global__ void convolution_tiled<48, 2, 2, 3, 0, 1, 1, 3, 5>(const float*, float*, int,
                                                                       int);
template __global__ void convolution_tiled<32, 4, 1, 2, 1, 0, 0, 3, 5>(const float*, float*, int,
                                                                       int);
template __global__ void gemm_buffered<float, 64, 16, 4, 4, 1>(const float*, const float*, float*,
                                                               int, int, int);
template __global__ void gemm_flat<double, 2, 3, 4, 2>(const double*, const double*, double*, int,
                                                       int);
template __global__ void gemm_naive<float, 32, 8>(const float*, const float*, float*, int, int,
                                                  int);
template __global__ void gemm_narrow<double, 2, 3, 4, 2>(const double*, const double*, double*, int,
                                                         int);
template __global__ void gemm_register_tiled<float, 4, 128, 256, 16, 16, 8, 2, 1, 1>(const float*,
                                                                                     const float*,
                                                                                     float*, int,
                                                                                     int, int, int);
template __global__ void gemm_register_tiled<double, 1, 64, 32, 8, 4, 4, 2, 1, 4>(const double*,
                                                                                  const double*,
                                                                                  double*, int, int,
                                                                                  int, int);
template __global__ void gemm_row<float, 32, 4>(const float*, const float*, float*, int, int, int);
template __global__ void gemm_row_column<int, 8, 4>(const int*, const int*, int*, int, int, int);
template __global__ void gemm_stream_k<float, 1, 16, 128, 16, 8, 4, 3, 2>(const float*,
                                                                          const float*, float*,
                                                                          float*, int, int, int,
                                                                          int);
template __global__ void gemm_stream_k_sum<float, 1, 16, 128, 16, 8, 4, 3>(const float*, float*,
                                                                           int, int, int, int, int);
template __global__ void gemm_tiled<float, 32, 32, 2, 1, 0>(const float*, const float*, float*, int,
                                                            int, int);
template __global__ void gemm_tc_mma<__half, float, 0, 8, 8, 64, 64, 32, 32, 32, 3>(const __half*,
                                                                                    const __half*,
                                                                                    float*, int,
                                                                                    int, int, int);
template __global__ void gemm_tc_mma_scaled<signed char, signed char, 16, 64, 64, 32, 32, 64, 3, 0>(
    const signed char*, const signed char*, signed char*, const float*, int, int, int, int);
template __global__ void gemm_tc_naive<__half, __half, 1, 16, 8>(const __half*, const __half*,
                                                                 __half*, int, int, int);
template __global__ void gemm_tc_naive_scaled<__nv_fp8_e4m3, float, 16, 8>(const __nv_fp8_e4m3*,
                                                                           const __nv_fp8_e4m3*,
                                                                           float*, const float*,
                                                                           int, int, int);
template __global__ void gemm_tc_vector<signed char, int, 16, 8>(const signed char*,
                                                                 const signed char*, int*,
                                                                 const float*, int, int, int);
template __global__ void gemm_tc_wgmma<__half, float, 0, 1, 128, 176, 2, 4, 2, 1, 1, 1, 1>(
    const __grid_constant__ TensorMap, const __grid_constant__ TensorMap,
    const __grid_constant__ TensorMap, int, int, int, int, int);
template __global__ void
gemm_tc_wgmma_of_copies<__nv_bfloat16, __nv_bfloat16, 1, 4, 2, 0, 1, 128, 80, 2, 4, 2, 0>(
    const __nv_bfloat16*, const __nv_bfloat16*, __nv_bfloat16*, int, int, int, int);
template __global__ void gemm_tc_wgmma_scaled<__nv_fp8_e4m3, float, 1, 64, 16, 1, 8, 2, 1, 0, 1>(
    const __grid_constant__ TensorMap, const __grid_constant__ TensorMap,
    const __grid_constant__ TensorMap, const float*, int, int, int, int);
template __global__ void histogram_bulk<int, 256, 2, 4, of_lane, 8, 0>(const int*, unsigned*,
                                                                       long long, int, int);
template __global__ void histogram_naive<unsigned char, 256>(const unsigned char*, unsigned*,
                                                             long long, int, int);
template __global__ void histogram_shared<unsigned short, 16, 256, 2, of_warp, 4, 1, 1>(
    const unsigned short*, unsigned*, long long, int, int);
template __global__ void histogram_zero<256>(unsigned*, int);
template __global__ void memory_bandwidth<l2, 16>(const unsigned*, cudaTextureObject_t,
                                                  unsigned long long*, int);
template __global__ void memory_coalescing<4, 0>(const int*, int*, long long);
template __global__ void memory_constant<4, 2>(unsigned*, int);
template __global__ void memory_histogram<shared, 8>(const int*, unsigned*, long long);
template __global__ void memory_index<by_run_time, 4>(const float*, float*, int);
template __global__ void memory_latency<constant, 512, 16>(const int*, cudaTextureObject_t, int*);
template __global__ void memory_occupancy<16>(const float*, float*);
template __global__ void memory_padding<1, 2>(const unsigned*, unsigned*, int);
template __global__ void memory_spills<32, 8, 4>(const float*, float*, int);
template __global__ void memory_stride<8, 3, 2>(const unsigned*, unsigned*, int);
template __global__ void nbody_naive<double, 256>(const double*, double*, long long, double,
                                                  double);
template __global__ void nbody_registers<float, 128, 3, 4>(const float*, float*, long long, float,
                                                           float);
template __global__ void nbody_split<float, 128, 2, 4, 2, 8, 2>(const float*, float*, long long,
                                                                float);
template __global__ void nbody_split_sums<float, 8>(const float*, float*, long long, float);
template __global__ void nbody_tiled<double, 64, 4, 2, 1, 16, 1>(const double*, double*, long long,
                                                                 double, double);
template __global__ void softmax_bulk<float, 1, 64, 4, 2, 3, 1, 1>(const float*, float*, long long,
                                                                   long long);
template __global__ void rms_norm_bulk<__half, 4, 64, 1, 2, 2, 0>(const __half*, __half*,
                                                                  const __half*, long long,
                                                                  long long);
template __global__ void layer_norm_bulk<float, 1, 64, 2, 2, 2, 0, 1>(const float*, float*,
                                                                      const float*, const float*,
                                                                      long long, long long);
template __global__ void softmax_cluster<__nv_bfloat16, 4, 16, 256, 2, 1, 0, 2>(
    const __nv_bfloat16*, __nv_bfloat16*, long long);
template __global__ void rms_norm_cluster<float, 2, 8, 128, 3, 0, 1>(const float*, float*,
                                                                     const float*, long long);
template __global__ void layer_norm_cluster<__half, 8, 16, 128, 1, 1, 0, 1>(const __half*, __half*,
                                                                            const __half*,
                                                                            const __half*,
                                                                            long long);
template __global__ void softmax_naive<__half, 256>(const __half*, __half*, long long);
template __global__ void rms_norm_naive<float, 128>(const float*, float*, const float*, long long);
template __global__ void layer_norm_naive<float, 128>(const float*, float*, const float*,
                                                      const float*, long long);
template __global__ void softmax_registers<float, 16, 16, 4, 4, 0, 1, 2>(const float*, float*,
                                                                         long long, long long);
template __global__ void rms_norm_registers<__half, 16, 64, 2, 4, 1, 0>(const __half*, __half*,
                                                                        const __half*, long long,
                                                                        long long);
template __global__ void layer_norm_registers<float, 8, 128, 1, 4, 1, 0, 2>(const float*, float*,
                                                                            const float*,
                                                                            const float*, long long,
                                                                            long long);
template __global__ void softmax_twice<float, 16, 256, 2, 1, 0>(const float*, float*, long long);
template __global__ void rms_norm_twice<__nv_bfloat16, 4, 64, 1, 0, 1>(const __nv_bfloat16*,
                                                                       __nv_bfloat16*,
                                                                       const __nv_bfloat16*,
                                                                       long long);
template __global__ void layer_norm_twice<__half, 16, 128, 4, 1, 1>(const __half*, __half*,
                                                                    const __half*, const __half*,
                                                                    long long);
template __global__ void reduce_bulk<float, float, 0, 256, 4, 4>(const float*, float*, float*,
                                                                 unsigned*, long long, int);
template __global__ void argmax_bulk<__nv_bfloat16, float, 128, 2, 3>(const __nv_bfloat16*, float*,
                                                                      long long*, float*,
                                                                      long long*, unsigned*,
                                                                      long long, int);
template __global__ void reduce_cluster<double, double, 0, 4, 16, 256, 4, 1, 0>(const double*,
                                                                                double*, long long);
template __global__ void argmax_cluster<int, int, 8, 16, 256, 4, 0, 1>(const int*, int*, long long*,
                                                                       long long);
template __global__ void reduce_last_block<float, float, 0, 16, 512, 4, 0, 0>(const float*, float*,
                                                                              float*, unsigned*,
                                                                              long long, int);
template __global__ void argmax_last_block<__nv_bfloat16, float, 8, 128, 2, 1, 1>(
    const __nv_bfloat16*, float*, long long*, float*, long long*, unsigned*, long long, int);
template __global__ void reduce_rows<__half, float, 1, 16, 8, 16, 2, 0>(const __half*, float*,
                                                                        long long, long long);
template __global__ void argmax_rows<double, double, 16, 256, 2, 1, 1>(const double*, double*,
                                                                       long long*, long long,
                                                                       long long);
template __global__ void reduce_split<int, long long, 0, 16, 256, 8, 1, 1>(const int*, long long*,
                                                                           long long, int);
template __global__ void reduce_split_values<int, long long, 0>(long long*, long long*, int);
template __global__ void argmax_split<signed char, int, 4, 256, 4, 0, 0>(const signed char*, int*,
                                                                         long long*, long long,
                                                                         int);
template __global__ void argmax_split_values<signed char, int>(int*, long long*, int*, long long*,
                                                               int);
template __global__ void reduce_tree<int, int, 1, 256>(const int*, int*, long long);
template __global__ void reduce_tree_values<int, int, 1, 256>(int*, int*, int);
template __global__ void argmax_tree<float, float, 128>(const float*, float*, long long*,
                                                        long long);
template __global__ void argmax_tree_values<float, float, 128>(float*, long long*, float*,
                                                               long long*, int);
template __global__ void scan_bulk<long long, 1, 256, 4, 2, 2, 1>(const long long*, long long*,
                                                                  unsigned long long*, unsigned*,
                                                                  long long, int);
template __global__ void scan_lookback<float, 0, 16, 256, 4, 1, 1, 0>(const float*, float*,
                                                                      unsigned long long*,
                                                                      unsigned*, long long);
template __global__ void scan_naive<double, 1, 256>(const double*, double*, double*, long long);
template __global__ void scan_naive_sums<int>(int*, long long);
template __global__ void scan_naive_add<int, 256>(int*, const int*, long long);
template __global__ void spmv_csr_merge<double, 128, 7, 1>(const int*, const int*, const double*,
                                                           const double*, double*, int*, double*,
                                                           long long);
template __global__ void spmv_csr_merge_open<double>(const int*, const double*, double*, long long,
                                                     int);
template __global__ void spmv_csr_naive<float, 256>(const int*, const int*, const float*,
                                                    const float*, float*, long long);
template __global__ void spmv_csr_vector<double, 256, 8, 4, 2, 2, 1>(const int*, const int*,
                                                                     const double*, const double*,
                                                                     double*, long long);
template __global__ void stencil1d_grouped<double, 5, 128, 2>(const double*, double*, long long);
template __global__ void stencil1d_naive<int, 3, 256>(const int*, int*, long long);
template __global__ void stencil1d_shared<int, 3, 256, 1, 0, 1>(const int*, int*, long long);
template __global__ void stencil1d_shared<float, 16, 128, 4, 1, 4>(const float*, float*, long long);
template __global__ void stencil2d_async<float, 2, 1, 4, 4, 2, 3, 0>(const float*, float*,
                                                                     long long, long long, int);
template __global__ void stencil2d_bulk<double, 1, 0, 4, 4, 3, 1>(const __grid_constant__ TensorMap,
                                                                  double*, long long, long long,
                                                                  int);
template __global__ void stencil2d_naive<float, 4, 0, 32, 8>(const float*, float*, long long,
                                                             long long);
template __global__ void stencil2d_registers<float, 1, 0, 4, 4, 4, 4, 0>(const float*, float*,
                                                                         long long, long long, int);
template __global__ void stencil3d_async<double, 1, 1, 2, 32, 4, 2, 3, 0>(const double*, double*,
                                                                          long long, long long,
                                                                          long long, int);
template __global__ void stencil3d_bulk<float, 4, 0, 32, 8, 2, 3, 1>(
    const __grid_constant__ TensorMap, float*, long long, long long, long long, int);
template __global__ void stencil3d_naive<double, 2, 1, 32, 8>(const double*, double*, long long,
                                                              long long, long long);
template __global__ void stencil3d_registers<float, 1, 0, 2, 4, 2, 4, 1, 0>(const float*, float*,
                                                                            long long, long long,
                                                                            long long, int);
template __global__ void transpose_in_place_naive<double, 32, 8>(double*, long long);
template __global__ void transpose_in_place_vectors<signed char, 2, 64, 256>(signed char*,
                                                                             long long);
template __global__ void transpose_naive<double, 32, 8>(const double*, double*, long long,
                                                        long long);
template __global__ void transpose_pipelined<__nv_bfloat16, 16, 128, 64, 64, 3>(
    const __nv_bfloat16*, __nv_bfloat16*, long long, long long, int);
template __global__ void transpose_tiled<signed char, 32, 4, swizzled>(const signed char*,
                                                                       signed char*, long long,
                                                                       long long);
template __global__ void transpose_vectors<float, 16, 64, 64, 256>(const float*, float*, long long,
                                                                   long long, int);
template __global__ void transpose_vectors<signed char, 8, 128, 128, 256>(const signed char*,
                                                                          signed char*, long long,
                                                                          long long, int);
template __global__ void transpose_vectors<__nv_bfloat16, 2, 16, 16, 256>(const __nv_bfloat16*,
                                                                          __nv_bfloat16*, long long,
                                                                          long long, int);
