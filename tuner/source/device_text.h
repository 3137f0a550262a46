#pragma once

#include "tuner/source/kernel_file.h"
#include "tuner/source/source_items.h"

#include <set>
#include <string>
#include <vector>

namespace smemtune {

/// The text of a source's items, and what stands in the place of the others.
struct DeviceText {
  std::string text;
  std::vector<LeftOut> left_out;
};

/// `kept`: by item. `guard`: items that are put under #ifndef.
DeviceText device_text(const FlatSource& source, const CppTokens& tokens,
                       const std::vector<SourceItem>& items, const std::vector<bool>& kept,
                       const std::set<const SourceItem*>& guard);

}  // namespace smemtune
