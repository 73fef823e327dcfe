// Rings of clients whose connection the node has ended in order: what they have not read yet stays
// theirs to read.
//
// A client may keep such memory mapped for ever, and its pages are charged to the node; so only the
// last kRingsMax of them keep theirs. The loop's thread.
#pragma once

#include "netcore/client_ring/mapping.h"

#include <cstddef>
#include <deque>
#include <utility>

namespace gcoord::server {

class PartingRings {
 public:
  static constexpr std::size_t kRingsMax = 256;

  // The node neither reads nor writes them any more.
  void keep(netcore::RingMapping rings) {
    rings.discard_request();
    rings_.push_back(std::move(rings));
    if (rings_.size() > kRingsMax) {
      rings_.front().discard();
      rings_.pop_front();
    }
  }

 private:
  std::deque<netcore::RingMapping> rings_;
};

}  // namespace gcoord::server
