// Messages of peers to rows that may take them without a step, with the bytes of their entries, as
// they came.
//
// A row that nothing else waits for has no place in ActiveRows, and gets none for a message that
// turns out to be settled (settler.h). Bounded: what finds no room goes the way of all messages.
// One thread.
#pragma once

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
  // Messages, and bytes of their entries, at most.
  struct Bounds {
    std::size_t messages = 0;
    std::size_t extent_bytes = 0;
  };

  // Without room for any: every message is another's.
  Arrivals() = default;

  explicit Arrivals(const Bounds& bounds) : bounds_(bounds) {}

  // Keeps a message to the row with a copy of its entries. False: there is no room.
  bool add(std::uint32_t row,
           const consensus::Message& message,
           std::span<const std::byte> extent) {
    if (arrivals_.size() >= bounds_.messages ||
        extents_.size() + extent.size() > bounds_.extent_bytes) {
      return false;
    }
    arrivals_.push_back({.row = row,
                         .extent_offset = static_cast<std::uint32_t>(extents_.size()),
                         .extent_bytes = static_cast<std::uint32_t>(extent.size()),
                         .message = message});
    extents_.insert(extents_.end(), extent.begin(), extent.end());
    return true;
  }

  std::size_t size() const { return arrivals_.size(); }

  const Arrival& operator[](std::size_t k) const { return arrivals_[k]; }

  std::span<const std::byte> extent(const Arrival& arrival) const {
    return std::span(extents_).subspan(arrival.extent_offset, arrival.extent_bytes);
  }

  void clear() {
    arrivals_.clear();
    extents_.clear();
  }

  // The same, and gives back the memory.
  void shrink() {
    arrivals_ = {};
    extents_ = {};
  }

 private:
  Bounds bounds_;
  std::vector<Arrival> arrivals_;
  std::vector<std::byte> extents_;
};

}  // namespace gcoord::server
