#include "tuner/init/library_products.h"

#include "tuner/init/host_terms.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace smemtune {
namespace {

/// Reads the calls of one function.
class ProductReader {
 public:
  ProductReader(const ParsedSource& source, const DeclaredFunction& function)
      : tokens_(source.tokens()), function_(function) {}

  void add_to(HostPart& host) const {
    const TokenRange range = function_.body.range;
    for (std::size_t i = range.first; i + 1 < range.end; ++i) {
      if (!tokens_[i + 1].is("(")) continue;
      std::optional<SingleStore> store;
      if (is_one_of(tokens_[i].text, {"cublasSgemm", "cublasDgemm"})) {
        store = matrix(parts_in(tokens_, i + 1));
      } else if (is_one_of(tokens_[i].text, {"cublasSgemv", "cublasDgemv"})) {
        store = vector(parts_in(tokens_, i + 1));
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
    std::string value = name;
    for_each(function_.body, [&](const Syntax& part) {
      const bool is_its = part.kind == Syntax::Kind::variable && part.text == name;
      if (is_its && part.parts.size() == 1 && part.parts[0].kind == Syntax::Kind::literal) {
        value = without_suffixes(joined(tokens_, part.parts[0].range));
      }
    });
    return number_of(value) ? value + ".0" : value;
  }

  const CppTokens& tokens_;
  const DeclaredFunction& function_;
};

}  // namespace

void add_products(const ParsedSource& source, const HostDeclarations& declared, HostPart& host) {
  for (const DeclaredFunction& function : declared.functions) {
    ProductReader(source, function).add_to(host);
  }
}

}  // namespace smemtune
