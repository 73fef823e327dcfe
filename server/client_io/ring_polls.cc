#include "server/client_io/ring_polls.h"

namespace gcoord::server {

void RingPolls::heat(PolledRing& ring) {
  ring.idle_passes_ = 0;
  if (ring.position_ == PolledRing::kCold) {
    ring.position_ = hot_.size();
    hot_.push_back(&ring);
    ++hot_count_;
  }
}

void RingPolls::remove(PolledRing& ring) {
  if (ring.position_ != PolledRing::kCold) {
    hot_[ring.position_] = nullptr;
    ring.position_ = PolledRing::kCold;
    --hot_count_;
  }
}

// By index: serving one may heat others, or remove any.
void RingPolls::poll() {
  for (std::size_t k = 0; k < hot_.size(); ++k) {
    PolledRing* const ring = hot_[k];
    if (ring == nullptr) {
      continue;
    }
    if (ring->serve()) {
      ring->idle_passes_ = 0;
    } else if (++ring->idle_passes_ > kWarmPasses && ring->arm()) {
      remove(*ring);
    }
  }
  compact();
}

bool RingPolls::arm() {
  bool quiet = true;
  for (PolledRing* const ring : hot_) {
    if (ring != nullptr && !ring->arm()) {
      quiet = false;
    }
  }
  return quiet;
}

void RingPolls::compact() {
  if (hot_count_ == hot_.size()) {
    return;
  }
  std::size_t kept = 0;
  for (PolledRing* const ring : hot_) {
    if (ring != nullptr) {
      ring->position_ = kept;
      hot_[kept++] = ring;
    }
  }
  hot_.resize(kept);
}

}  // namespace gcoord::server
