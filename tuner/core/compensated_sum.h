#pragma once

#include <cmath>

namespace smemtune {

/// Adds numbers so that the error of the sum hardly depends on their count: it carries along what
/// each addition rounds away (D. E. Knuth, The Art of Computer Programming 2, 4.2.2, theorem B).
/// Infinities and NaN add up as in a plain sum.
class CompensatedSum {
 public:
  void add(double x) {
    const double sum = sum_ + x;
    const double added = sum - sum_;
    lost_ += (sum_ - (sum - added)) + (x - added);
    sum_ = sum;
  }

  double total() const { return std::isfinite(lost_) ? sum_ + lost_ : sum_; }

 private:
  double sum_ = 0;
  double lost_ = 0;
};

}  // namespace smemtune
