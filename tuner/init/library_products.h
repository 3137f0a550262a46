#pragma once

#include "tuner/init/host_calls.h"
#include "tuner/source/kernel_file.h"

namespace smemtune {

/// Adds the products of matrices and vectors that functions of the host have cuBLAS compute, by
/// cublasSgemm(), cublasSgemv() and the same for double, or cuSPARSE, by cusparseSpMV() and
/// cusparseSpMM() of a matrix in compressed rows.
void add_products(const ParsedSource& source, const HostDeclarations& declared, HostPart& host);

}  // namespace smemtune
