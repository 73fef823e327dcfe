// The memory of log entries and waiting proposals: small blocks from slabs, recycled by size.
//
// A proposal is copied into a block once, when it arrives; the block then moves into the log
// unchanged. Slabs are never given back: what a burst needed is ready for the next one. All but the
// first few are huge pages, since blocks are taken from anywhere in them. One thread.
#pragma once

#include "common/tables/huge_pages.h"
#include "consensus/step/outbox.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace gcoord::server {

// The header of a block; its payload follows.
struct EntryBlock {
  EntryBlock* next = nullptr;  // Of its owner's list.
  std::uint64_t cookie = 0;    // Whom to tell of the entry's end; 0: nobody.
  std::uint32_t payload_bytes = 0;
  consensus::EntryKind kind = consensus::EntryKind::Command;
  std::uint8_t size_class = 0;

  std::span<const std::byte> payload() const {
    return {reinterpret_cast<const std::byte*>(this + 1), payload_bytes};
  }
};

static_assert(sizeof(EntryBlock) == 24);

class EntryPool {
 public:
  // Sizes of blocks, header included. A lock command fits the second; the last holds the longest
  // command (kCommandBytesMax).
  static constexpr std::array<std::uint32_t, 6> kClassBytes = {32, 96, 192, 512, 1024, 2112};

  EntryPool() = default;
  EntryPool(const EntryPool&) = delete;
  EntryPool& operator=(const EntryPool&) = delete;

  // A block with a copy of the payload, at most kCommandBytesMax long.
  EntryBlock* make(consensus::EntryKind kind, std::span<const std::byte> payload);
  void release(EntryBlock* block);

  // Bytes of blocks in use, and of all slabs.
  std::size_t used_bytes() const { return used_bytes_; }

  std::size_t slab_bytes() const { return slab_bytes_; }

 private:
  EntryBlock* carve(std::size_t size_class);
  void add_slab();

  std::array<EntryBlock*, kClassBytes.size()> free_{};
  std::vector<std::unique_ptr<std::byte[]>> small_slabs_;  // The first ones.
  std::vector<HugePages> slabs_;
  std::span<std::byte> uncarved_;  // Of the newest slab.
  std::size_t slab_bytes_ = 0;
  std::size_t used_bytes_ = 0;
};

}  // namespace gcoord::server
