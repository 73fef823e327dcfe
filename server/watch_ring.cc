#include "server/watch_ring.h"

#include <algorithm>

namespace gcoord::server {

std::size_t memory_bytes(const rpc::WatchBlock& block) {
  std::size_t bytes = sizeof block;
  for (const rpc::WatchEvent& event : block.events) {
    bytes += sizeof event + event.name.capacity() + event.value.capacity();
  }
  return bytes;
}

void WatchRing::start(std::vector<std::uint64_t> applied) {
  floors_ = std::move(applied);
}

void WatchRing::stop() {
  first_ = end();
  std::deque<rpc::WatchBlock>{}.swap(blocks_);
  std::vector<std::uint64_t>{}.swap(floors_);
  bytes_ = 0;
}

void WatchRing::push(rpc::WatchBlock block) {
  bytes_ += memory_bytes(block);
  blocks_.push_back(std::move(block));
  while (bytes_ > bytes_max_ && blocks_.size() > 1) {
    const rpc::WatchBlock& oldest = blocks_.front();
    std::uint64_t& floor = floors_[oldest.shard.value];
    floor = std::max(floor, oldest.revision.value);
    bytes_ -= memory_bytes(oldest);
    blocks_.pop_front();
    ++first_;
  }
}

}  // namespace gcoord::server
