// Probes that a node makes for others (SWIM's ping-req, seen from the relay).
//
// Bounded: beyond kRelaysMax under way a request is dropped, which its asker takes for a lost
// datagram. Times are milliseconds of one clock. Pure; one thread.
#pragma once

#include "common/ids.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace gcoord::membership {

// A probe that somebody asked for.
struct Relay {
  NodeId asker;
  std::uint32_t asked = 0;  // The asker's sequence number.
  NodeId about;
  std::uint32_t sequence = 0;  // Of this node's own ping.
  std::uint64_t ends_ms = 0;
  std::uint32_t room = 0;  // Of the asker's question.
};

class RelayDuty {
 public:
  static constexpr std::size_t kRelaysMax = 128;

  // False: there are too many.
  bool add(const Relay& relay) {
    if (relays_.size() >= kRelaysMax) {
      return false;
    }
    relays_.push_back(relay);
    return true;
  }

  // The one whose ping was answered; it is over.
  std::optional<Relay> take(NodeId about, std::uint32_t sequence) {
    return take_if(
        [&](const Relay& each) { return each.about == about && each.sequence == sequence; });
  }

  // One for a node that refuses.
  std::optional<Relay> take(NodeId about) {
    return take_if([&](const Relay& each) { return each.about == about; });
  }

  // One whose time is over.
  std::optional<Relay> take_late(std::uint64_t now_ms) {
    return take_if([&](const Relay& each) { return each.ends_ms <= now_ms; });
  }

  // ~0: never.
  std::uint64_t next_ms() const {
    std::uint64_t next = ~std::uint64_t{0};
    for (const Relay& each : relays_) {
      next = std::min(next, each.ends_ms);
    }
    return next;
  }

  void clear() { relays_.clear(); }

 private:
  template <typename Condition>
  std::optional<Relay> take_if(Condition&& condition) {
    const auto found = std::ranges::find_if(relays_, condition);
    if (found == relays_.end()) {
      return std::nullopt;
    }
    const Relay relay = *found;
    relays_.erase(found);
    return relay;
  }

  std::vector<Relay> relays_;
};

}  // namespace gcoord::membership
