// The filter of every convolution kernel, row by row, in constant memory: all threads of a warp
// read the same coefficient at the same time, which constant memory hands out without a load.

#pragma once

constexpr int kMaxCoefficients = 1024;

__constant__ float d_filter[kMaxCoefficients];
