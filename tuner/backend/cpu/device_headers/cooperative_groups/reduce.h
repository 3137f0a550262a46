// Stands in for CUDA's header.

#pragma once

#include <cooperative_groups.h>
