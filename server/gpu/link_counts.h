// Counters of the NVLinks of one GPU, which are read per link and only while a link is active.
//
// The driver tells nothing of a link that went down, so what it told last is kept: a sum over the
// active links alone would fall with the link and rise when it returns, and its old errors would
// look like new ones. A link that goes down is an error itself. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace gcoord::server {

class LinkCounts {
 public:
  static constexpr unsigned int kLinksMax = 18;
  // As NVML numbers them (nvmlNvLinkErrorCounter_t), in the order of its numbers.
  static constexpr unsigned int kReplays = 0;
  static constexpr unsigned int kRecoveries = 1;
  static constexpr unsigned int kCrcFlits = 2;
  static constexpr unsigned int kCrcPayloads = 3;
  static constexpr unsigned int kCounters = 4;

  // A link below kLinksMax is there, and active or not.
  void note_state(unsigned int link, bool active) {
    Link& known = links_[link];
    downs_ += known.active && !active ? 1 : 0;
    known.active = active;
    known.seen = known.seen || active;
  }

  // A counter of an active link.
  void note(unsigned int link, unsigned int counter, std::uint64_t count) {
    links_[link].counts[counter] = count;
  }

  // Of all links that told it; nothing: none did.
  std::optional<std::uint64_t> sum(unsigned int counter) const {
    std::optional<std::uint64_t> sum;
    for (const Link& link : links_) {
      if (link.counts[counter].has_value()) {
        sum = sum.value_or(0) + *link.counts[counter];
      }
    }
    return sum;
  }

  // Times that an active link was found to be down; nothing: no link was ever active.
  std::optional<std::uint64_t> downs() const {
    for (const Link& link : links_) {
      if (link.seen) {
        return downs_;
      }
    }
    return std::nullopt;
  }

 private:
  struct Link {
    bool active = false;
    bool seen = false;  // Active at some time.
    std::array<std::optional<std::uint64_t>, kCounters> counts{};
  };

  std::array<Link, kLinksMax> links_{};
  std::uint64_t downs_ = 0;
};

}  // namespace gcoord::server
