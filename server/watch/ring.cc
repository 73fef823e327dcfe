#include "server/watch/ring.h"

#include <algorithm>

namespace gcoord::server {

void WatchRing::start(std::vector<std::uint64_t> applied) {
  floors_ = std::move(applied);
}

void WatchRing::stop() {
  first_ = end();
  std::deque<WatchRecord>{}.swap(records_);
  std::vector<std::uint64_t>{}.swap(floors_);
  bytes_ = 0;
}

void WatchRing::push(WatchRecord record) {
  bytes_ += memory_bytes(record);
  records_.push_back(std::move(record));
  while (bytes_ > bytes_max_ && records_.size() > 1) {
    const WatchRecord& oldest = records_.front();
    std::uint64_t& floor = floors_[oldest.shard.value];
    floor = std::max(floor, oldest.revision.value);
    bytes_ -= memory_bytes(oldest);
    records_.pop_front();
    ++first_;
  }
}

}  // namespace gcoord::server
