#include "server/waits/pending_table.h"

#include "common/assert.h"

#include <utility>

namespace gcoord::server {

std::uint64_t PendingTable::add(const Pending& pending) {
  GCOORD_ASSERT(pending.kind != PendingKind::None);
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(entries_.size()));
    entries_.emplace_back();
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  Entry& entry = entries_[index];
  GCOORD_ASSERT(entry.pending.kind == PendingKind::None);
  entry.pending = pending;
  ++size_;
  return std::uint64_t{entry.generation} << 32 | (index + 1u);
}

Pending PendingTable::take(std::uint64_t cookie) {
  const auto index = static_cast<std::uint32_t>(cookie) - 1u;
  GCOORD_ASSERT(index < entries_.size());
  Entry& entry = entries_[index];
  GCOORD_ASSERT(entry.generation == static_cast<std::uint32_t>(cookie >> 32));
  GCOORD_ASSERT(entry.pending.kind != PendingKind::None);
  const Pending pending = std::exchange(entry.pending, Pending{});
  entry.generation = entry.generation == ~std::uint32_t{0} ? 1 : entry.generation + 1;
  free_.push_back(index);
  --size_;
  return pending;
}

}  // namespace gcoord::server
