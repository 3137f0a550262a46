#pragma once

#include "tuner/source/kernel_file.h"
#include "tuner/source/source_items.h"

#include <set>
#include <string>
#include <vector>

namespace smemtune {

/// The text of the items that are kept, and descriptions of those left out.
struct DeviceText {
  std::string text;
  std::vector<LeftOut> left_out;
};

/// Returns the device's part of a source. `kept`: by item. `guard`: items to put under #ifndef.
DeviceText device_text(const FlatSource& source, const CppTokens& tokens,
                       const std::vector<SourceItem>& items, const std::vector<bool>& kept,
                       const std::set<const SourceItem*>& guard);

}  // namespace smemtune
