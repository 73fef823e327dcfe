#include "server/resident/engine/read_queue.h"

#include "common/assert.h"

#include <utility>

namespace gcoord::server {

void ReadQueue::add(const Due& read) {
  Slot& slot = slots_[read.shard.value];
  GCOORD_ASSERT(slot.next == 0 && read.tag != 0);
  slot.next = read.tag;
  slot.proof = read.proof;
  if (slot.open == 0) {
    ready_.push_back(read.shard.value);
  }
}

std::optional<ReadQueue::Due> ReadQueue::take() {
  while (taken_ < ready_.size()) {
    const ShardId shard{ready_[taken_++]};
    Slot& slot = slots_[shard.value];
    if (slot.next == 0 || slot.open != 0) {
      continue;  // It ended before it went.
    }
    slot.open = std::exchange(slot.next, 0);
    return Due{shard, slot.open, slot.proof};
  }
  ready_.clear();
  taken_ = 0;
  return std::nullopt;
}

void ReadQueue::on_end(ShardId shard, std::uint64_t tag) {
  Slot& slot = slots_[shard.value];
  slot.next = slot.next == tag ? 0 : slot.next;
  if (slot.open != tag) {
    return;
  }
  slot.open = 0;
  if (slot.next != 0) {
    ready_.push_back(shard.value);
  }
}

}  // namespace gcoord::server
