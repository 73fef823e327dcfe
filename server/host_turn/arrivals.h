// Queue of the messages of peers to rows that may take them without a step, with the bytes of their
// entries.
//
// A row that nothing else waits for has no place in ActiveRows, and gets none for a message that is
// settled (settler.h). Several messages of one peer with entries, or answers, are better taken
// together, in one step: one request to storage, one answer. The queue knows the rows that have
// such. Bounded: a message that finds no room goes to ActiveRows. One thread.
#pragma once

#include "common/assert.h"
#include "common/ids.h"
#include "consensus/step/message.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::server {

struct Arrival {
  std::uint32_t row = 0;
  std::uint32_t extent_offset = 0;
  std::uint32_t extent_bytes = 0;
  consensus::Message message;
};

class Arrivals {
 public:
  // Messages, and bytes of their entries, at most; of rows below row_count.
  struct Bounds {
    std::size_t messages = 0;
    std::size_t extent_bytes = 0;
    std::uint32_t row_count = 0;
  };

  explicit Arrivals(const Bounds& bounds) : bounds_(bounds), senders_(bounds.row_count, 0) {}

  // Keeps a message to the row with a copy of its entries. False: there is no room.
  bool add(std::uint32_t row,
           const consensus::Message& message,
           std::span<const std::byte> extent) {
    if (arrivals_.size() >= bounds_.messages ||
        extents_.size() + extent.size() > bounds_.extent_bytes) {
      return false;
    }
    if (message.count != 0 || message.kind == consensus::MessageKind::AppendReply) {
      note_sender(row, message.from);
    }
    arrivals_.push_back({.row = row,
                         .extent_offset = static_cast<std::uint32_t>(extents_.size()),
                         .extent_bytes = static_cast<std::uint32_t>(extent.size()),
                         .message = message});
    extents_.insert(extents_.end(), extent.begin(), extent.end());
    return true;
  }

  // Messages that were not taken yet.
  std::size_t size() const { return arrivals_.size() - taken_; }

  // One of them, in order.
  const Arrival& operator[](std::size_t k) const { return arrivals_[taken_ + k]; }

  // Whether no peer has sent the row several messages that are better taken together.
  bool alone(std::size_t k) const { return (senders_[(*this)[k].row] & kSeveral) == 0; }

  std::span<const std::byte> extent(const Arrival& arrival) const {
    return std::span(extents_).subspan(arrival.extent_offset, arrival.extent_bytes);
  }

  // The first `count` of them were taken.
  void take(std::size_t count) {
    GCOORD_ASSERT(count <= size());
    for (; count > 0; --count) {
      senders_[arrivals_[taken_++].row] = 0;
    }
    if (taken_ == arrivals_.size()) {
      taken_ = 0;
      arrivals_.clear();
      extents_.clear();
    }
  }

  // Gives back what a burst made grow, if all were taken.
  void shrink() {
    if (size() == 0) {
      arrivals_ = {};
      extents_ = {};
    }
  }

 private:
  // Bits of a row's byte: a peer sent several messages, and one for each peer, by its number; peers
  // that share one count as the same.
  static constexpr std::uint8_t kSeveral = 1;
  static constexpr std::uint32_t kSenderBits = 7;

  void note_sender(std::uint32_t row, NodeId from) {
    const auto sender = static_cast<std::uint8_t>(2u << from.value % kSenderBits);
    const bool again = (senders_[row] & sender) != 0;
    senders_[row] = static_cast<std::uint8_t>(senders_[row] | sender | (again ? kSeveral : 0));
  }

  Bounds bounds_;
  std::vector<std::uint8_t> senders_;  // By row.
  std::size_t taken_ = 0;
  std::vector<Arrival> arrivals_;
  std::vector<std::byte> extents_;
};

}  // namespace gcoord::server
