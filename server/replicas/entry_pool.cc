#include "server/replicas/entry_pool.h"

#include "common/assert.h"
#include "common/device/prefetch.h"
#include "server/interfaces/log_limits.h"

#include <cstring>
#include <new>

namespace gcoord::server {
namespace {

// Large enough to make the allocator's share vanish.
constexpr std::size_t kSmallSlabBytes = 256 * 1024;
// A node that never holds more entries than these has does without a huge page.
constexpr std::size_t kSmallSlabCount = 4;

std::size_t class_for(std::size_t block_bytes) {
  std::size_t size_class = 0;
  while (EntryPool::kClassBytes[size_class] < block_bytes) {
    ++size_class;
  }
  return size_class;
}

}  // namespace

static_assert(sizeof(EntryBlock) + kCommandBytesMax <= EntryPool::kClassBytes.back());

EntryBlock* EntryPool::make(consensus::EntryKind kind, std::span<const std::byte> payload) {
  GCOORD_ASSERT(payload.size() <= kCommandBytesMax);
  const std::size_t size_class = class_for(sizeof(EntryBlock) + payload.size());
  EntryBlock* block = free_[size_class];
  if (block != nullptr) {
    free_[size_class] = block->next;
    prefetch(block->next);  // Given back long ago: by the next call it is at hand.
  } else {
    block = carve(size_class);
  }
  *block = EntryBlock{.payload_bytes = static_cast<std::uint32_t>(payload.size()),
                      .kind = kind,
                      .size_class = static_cast<std::uint8_t>(size_class)};
  if (!payload.empty()) {
    std::memcpy(block + 1, payload.data(), payload.size());
  }
  used_bytes_ += kClassBytes[size_class];
  return block;
}

void EntryPool::release(EntryBlock* block) {
  GCOORD_ASSERT(block != nullptr);
  used_bytes_ -= kClassBytes[block->size_class];
  block->next = free_[block->size_class];
  free_[block->size_class] = block;
}

void EntryPool::add_slab() {
  if (small_slabs_.size() < kSmallSlabCount) {
    small_slabs_.push_back(std::make_unique_for_overwrite<std::byte[]>(kSmallSlabBytes));
    uncarved_ = {small_slabs_.back().get(), kSmallSlabBytes};
  } else {
    slabs_.push_back(make_huge_pages(kHugePageBytes));
    uncarved_ = {slabs_.back().get(), kHugePageBytes};
  }
  slab_bytes_ += uncarved_.size();
}

EntryBlock* EntryPool::carve(std::size_t size_class) {
  const std::size_t block_bytes = kClassBytes[size_class];
  if (uncarved_.size() < block_bytes) {
    add_slab();
  }
  auto* block = new (uncarved_.data()) EntryBlock{};
  uncarved_ = uncarved_.subspan(block_bytes);
  return block;
}

}  // namespace gcoord::server
