#include "server/host_turn/lane_maps.h"

#include <algorithm>
#include <cstddef>

namespace gcoord::server {

LaneMaps::LaneMaps(const ReplicaOptions& options)
    : shard_count_(options.shard_count), all_(options.slices.empty()) {
  for (std::uint32_t slice = 0; slice < std::min(consensus::kSlices, shard_count_); ++slice) {
    const auto kept = static_cast<std::uint8_t>(slice);
    if (all_ || std::binary_search(options.slices.begin(), options.slices.end(), kept)) {
      slices_.push_back(kept);
    }
  }
  const auto slice_count = static_cast<std::uint32_t>(slices_.size());
  count_ = std::min({std::max(options.turn_threads, 1u), slice_count, kTurnThreadsMax});
}

consensus::RowMap LaneMaps::map(std::uint32_t lane) const {
  if (all_ && count_ == 1) {
    return consensus::RowMap(shard_count_);
  }
  std::vector<std::uint8_t> own;
  for (std::size_t k = lane; k < slices_.size(); k += count_) {
    own.push_back(slices_[k]);
  }
  return {shard_count_, own.data(), static_cast<std::uint32_t>(own.size())};
}

Recoveries::Deal LaneMaps::deal() const {
  Recoveries::Deal deal{};
  for (std::size_t k = 0; k < slices_.size(); ++k) {
    deal[slices_[k]] = static_cast<std::uint8_t>(k % count_);
  }
  return deal;
}

}  // namespace gcoord::server
