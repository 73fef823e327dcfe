// Queue of requests to one lane of a device: slots side by side, as they are pushed.
//
// A power of two of places, which doubles when it is full and is kept. The entries of one command
// lie one behind the other, pieces first; front() never ends between them, so that a command goes
// to the device whole. One thread.
#pragma once

#include "locks/commands/entry_layout.h"
#include "server/device_turn/service.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::server {

class RequestRing {
 public:
  bool empty() const { return begin_ == end_; }

  std::size_t size() const { return end_ - begin_; }

  // A new place at the end, to be written at once.
  TurnRequest& push() {
    if (size() == places_.size()) {
      grow();
    }
    return at(end_++);
  }

  // How many of the first `most` requests can go together.
  std::uint32_t whole(std::size_t most) const {
    std::size_t count = std::min(most, size());
    while (count != 0 && is_piece(at(begin_ + count - 1))) {
      --count;
    }
    return static_cast<std::uint32_t>(count);
  }

  // The first `count` requests as far as they lie side by side; then the rest, from the beginning.
  std::span<const TurnRequest> front(std::uint32_t count) const {
    const std::size_t first = begin_ & (places_.size() - 1);
    return {places_.data() + first, std::min<std::size_t>(count, places_.size() - first)};
  }

  void pop(std::size_t count) { begin_ += count; }

 private:
  static constexpr std::size_t kPlacesFirst = 64;

  static bool is_piece(const TurnRequest& request) {
    return (request.head & 0xffu) == locks::kEntryPiece;
  }

  TurnRequest& at(std::size_t cursor) { return places_[cursor & (places_.size() - 1)]; }

  const TurnRequest& at(std::size_t cursor) const { return places_[cursor & (places_.size() - 1)]; }

  void grow() {
    std::vector<TurnRequest> larger(std::max(kPlacesFirst, 2 * places_.size()));
    for (std::size_t k = begin_; k != end_; ++k) {
      larger[k & (larger.size() - 1)] = at(k);
    }
    places_ = std::move(larger);
  }

  std::vector<TurnRequest> places_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace gcoord::server
