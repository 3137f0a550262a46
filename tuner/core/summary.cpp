#include "tuner/core/summary.h"

namespace smemtune {

std::string to_text(const DefaultInDoubt& doubt) {
  return std::to_string(doubt.agreeing) + " of " + std::to_string(doubt.others) +
         " other configurations of " + doubt.kernel +
         " agree with each other and not with its default: it may be the default that is wrong";
}

}  // namespace smemtune
