#include "tuner/init/library_products.h"

#include "tuner/init/host_terms.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smemtune {
namespace {

/// Reads the calls of one function.
class ProductReader {
 public:
  ProductReader(const ParsedSource& source, const DeclaredFunction& function)
      : tokens_(source.tokens()), function_(function) {}

  void add_to(HostPart& host) {
    const TokenRange range = function_.body.range;
    for (std::size_t i = range.first; i + 1 < range.end; ++i) {
      if (!tokens_[i + 1].is("(")) continue;
      const std::string_view called = tokens_[i].text;
      std::optional<SingleStore> store;
      if (is_one_of(called, {"cublasSgemm", "cublasDgemm"})) {
        store = matrix(parts_in(tokens_, i + 1));
      } else if (is_one_of(called, {"cublasSgemv", "cublasDgemv"})) {
        store = vector(parts_in(tokens_, i + 1));
      } else if (called.starts_with("cusparseCreate")) {
        describe(std::string(called), parts_in(tokens_, i + 1));
      } else if (called == "cusparseSpMV") {
        store = sparse_by_vector(parts_in(tokens_, i + 1));
      } else if (called == "cusparseSpMM") {
        store = sparse_by_matrix(parts_in(tokens_, i + 1));
      }
      if (store) host.products.push_back({function_.name, std::move(*store)});
    }
  }

 private:
  /// Returns the product of `(handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)`.
  std::optional<SingleStore> matrix(const std::vector<std::string>& parts) const {
    if (parts.size() != 14 || size(parts[13]) != size(parts[3])) return std::nullopt;
    const auto of_a = element(parts[7], "axis_a", "k_0", parts[8], parts[1]);
    const auto of_b = element(parts[9], "k_0", "axis_b", parts[10], parts[2]);
    if (!of_a || !of_b) return std::nullopt;
    return store(parts[12], "axis_b * " + size(parts[13]) + " + axis_a", parts[5],
                 *of_a + " * " + *of_b, parts[6], parts[11]);
  }

  /// Returns the product of `(handle, op, m, n, alpha, a, lda, x, incx, beta, y, incy)`.
  std::optional<SingleStore> vector(const std::vector<std::string>& parts) const {
    if (parts.size() != 12 || parts[8] != "1" || parts[11] != "1") return std::nullopt;
    const auto of_a = element(parts[5], "axis_a", "k_0", parts[6], parts[1]);
    if (!of_a) return std::nullopt;
    const bool is_plain = parts[1].ends_with("CUBLAS_OP_N");
    return store(parts[10], "axis_a", parts[is_plain ? 3 : 2],
                 *of_a + " * " + pointer_in(parts[7]) + "[k_0]", parts[4], parts[9]);
  }

  /// The arguments of the call that has created a matrix or a vector of cuSPARSE.
  struct Description {
    std::string call;
    std::vector<std::string> parts;
  };

  void describe(const std::string& call, std::vector<std::string> parts) {
    if (parts.empty()) return;
    const std::string name = pointer_in(parts[0]);
    described_[name] = {.call = call, .parts = std::move(parts)};
  }

  /// Returns the arguments that have created it by that call; nullptr for anything else.
  const std::vector<std::string>* created_by(const std::string& call, const std::string& name,
                                             std::size_t least) const {
    const auto known = described_.find(name);
    const bool is_its = known != described_.end() && known->second.call == call &&
                        known->second.parts.size() >= least;
    return is_its ? &known->second.parts : nullptr;
  }

  /// An element of a sparse matrix in row `axis_a`, the number of these, and its column.
  struct SparseRow {
    std::string count;
    std::string element;
    std::string column;
  };

  /// Reads `(&a, rows, columns, count, offsets, columns, values, type, type, base, type)`.
  std::optional<SparseRow> sparse_row(const std::string& name, const std::string& operation) const {
    const auto* const parts = created_by("cusparseCreateCsr", name, 11);
    const bool is_plain = operation.ends_with("CUSPARSE_OPERATION_NON_TRANSPOSE") &&
                          parts != nullptr && (*parts)[9].ends_with("CUSPARSE_INDEX_BASE_ZERO");
    if (!is_plain) return std::nullopt;
    const std::string offsets = pointer_in((*parts)[4]);
    const std::string place = "[" + offsets + "[axis_a] + k_0]";
    return SparseRow{.count = offsets + "[axis_a + 1] - " + offsets + "[axis_a]",
                     .element = pointer_in((*parts)[6]) + place,
                     .column = pointer_in((*parts)[5]) + place};
  }

  /// Returns the product of `(handle, op, alpha, a, x, beta, y, ...)`.
  std::optional<SingleStore> sparse_by_vector(const std::vector<std::string>& parts) const {
    if (parts.size() < 7) return std::nullopt;
    const auto row = sparse_row(parts[3], parts[1]);
    const auto* const x = created_by("cusparseCreateDnVec", parts[4], 3);
    const auto* const y = created_by("cusparseCreateDnVec", parts[6], 3);
    if (!row || x == nullptr || y == nullptr) return std::nullopt;
    return store((*y)[2], "axis_a", row->count,
                 row->element + " * " + pointer_in((*x)[2]) + "[" + row->column + "]", parts[2],
                 parts[5]);
  }

  /// Returns the product of `(handle, op_a, op_b, alpha, a, b, beta, c, ...)`.
  std::optional<SingleStore> sparse_by_matrix(const std::vector<std::string>& parts) const {
    if (parts.size() < 8 || !parts[2].ends_with("CUSPARSE_OPERATION_NON_TRANSPOSE")) {
      return std::nullopt;
    }
    const auto row = sparse_row(parts[4], parts[1]);
    const auto* const b = created_by("cusparseCreateDnMat", parts[5], 7);
    const auto* const c = created_by("cusparseCreateDnMat", parts[7], 7);
    if (!row || b == nullptr || c == nullptr) return std::nullopt;
    const auto of_b = dense_index(*b, row->column, "axis_b");
    const auto of_c = dense_index(*c, "axis_a", "axis_b");
    if (!of_b || !of_c || distance(*c) != extent(*c)) return std::nullopt;
    return store((*c)[4], *of_c, row->count,
                 row->element + " * " + pointer_in((*b)[4]) + "[" + *of_b + "]", parts[3],
                 parts[6]);
  }

  /// Returns the index in a matrix of `(&a, rows, columns, distance, values, type, order)`.
  std::optional<std::string> dense_index(const std::vector<std::string>& parts, std::string row,
                                         std::string column) const {
    if (parts[6].ends_with("CUSPARSE_ORDER_COL")) {
      std::swap(row, column);
    } else if (!parts[6].ends_with("CUSPARSE_ORDER_ROW")) {
      return std::nullopt;
    }
    return row + " * " + distance(parts) + " + " + column;
  }

  /// Returns the number of elements of a row, or of a column where these lie one behind the other.
  static std::string extent(const std::vector<std::string>& parts) {
    return size(parts[parts[6].ends_with("CUSPARSE_ORDER_ROW") ? 2 : 1]);
  }

  /// Returns the same if the distance between rows or columns begins as it, else the distance.
  std::string distance(const std::vector<std::string>& parts) const {
    return size(meaning(parts[3])) == extent(parts) ? extent(parts) : size(parts[3]);
  }

  /// Returns what a variable begins with, else the text.
  std::string meaning(const std::string& text) const {
    std::string value = text;
    for_each(function_.body, [&](const Syntax& part) {
      const bool is_its = part.kind == Syntax::Kind::variable && part.text == text;
      if (is_its && part.parts.size() == 1) value = joined(tokens_, part.parts[0].range);
    });
    return value;
  }

  /// Returns the element of a matrix whose columns lie one behind the other, or of its transpose.
  static std::optional<std::string> element(const std::string& matrix, std::string row,
                                            std::string column, const std::string& height,
                                            const std::string& operation) {
    const bool is_transposed =
        operation.ends_with("CUBLAS_OP_T") || operation.ends_with("CUBLAS_OP_C");
    if (!is_transposed && !operation.ends_with("CUBLAS_OP_N")) return std::nullopt;
    if (is_transposed) std::swap(row, column);
    return pointer_in(matrix) + "[" + column + " * " + size(height) + " + " + row + "]";
  }

  static std::string size(const std::string& text) { return in_parentheses(without_casts(text)); }

  SingleStore store(const std::string& array, const std::string& index, const std::string& terms,
                    const std::string& term, const std::string& alpha,
                    const std::string& beta) const {
    const std::string factor = number(alpha);
    const std::string before = number(beta);
    SingleStore store = {.array = pointer_in(array), .index = index};
    store.value = "sum(k_0 < bound_of[" + size(terms) + "], " + term + ")";
    if (factor != "1.0") store.value = factor + " * " + store.value;
    if (before != "0.0") store.value += " + " + before + " * " + store.array + "[" + index + "]";
    return store;
  }

  /// Returns the number that a variable whose address is passed begins with, else the variable.
  std::string number(const std::string& address) const {
    const std::string name = pointer_in(address);
    const std::string value = without_suffixes(meaning(name));
    const bool is_number =
        !value.empty() && value.find_first_not_of("0123456789.") == std::string::npos;
    if (!is_number) return name;
    return number_of(value) ? value + ".0" : value;
  }

  const CppTokens& tokens_;
  const DeclaredFunction& function_;
  std::map<std::string, Description> described_;  ///< Keyed by the name of the descriptor.
};

}  // namespace

void add_products(const ParsedSource& source, const HostDeclarations& declared, HostPart& host) {
  for (const DeclaredFunction& function : declared.functions) {
    ProductReader(source, function).add_to(host);
  }
}

}  // namespace smemtune
