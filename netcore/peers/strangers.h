// The links to this node that have not named themselves yet, and the counts of those that were
// dropped before they did. One thread.
#pragma once

#include "netcore/channel/drop_reason.h"
#include "netcore/transport/transport.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gcoord::netcore {

class Strangers {
 public:
  void add(LinkId link, std::string_view from, std::uint64_t deadline_ms) {
    links_[link] = {std::string{from}, deadline_ms};
  }

  // Whether there is one more than may wait at once.
  bool too_many() const { return links_.size() > kMax; }

  bool contains(LinkId link) const { return links_.contains(link); }

  // False: it was none.
  bool erase(LinkId link) { return links_.erase(link) != 0; }

  void count(DropReason reason) { ++drops_[static_cast<std::size_t>(reason)]; }

  const std::array<std::uint64_t, kDropReasonCount>& drops() const { return drops_; }

  // When the first of them is out of time; ~0: never.
  std::uint64_t next_deadline_ms() const {
    std::uint64_t next = ~std::uint64_t{0};
    for (const auto& [link, stranger] : links_) {
      next = std::min(next, stranger.deadline_ms);
    }
    return next;
  }

  // Those that are out of time.
  std::vector<LinkId> late(std::uint64_t now_ms) const {
    std::vector<LinkId> late;
    for (const auto& [link, stranger] : links_) {
      if (now_ms >= stranger.deadline_ms) {
        late.push_back(link);
      }
    }
    return late;
  }

 private:
  // Links that may wait for their greeting at once; each holds kStrangerBytesMax. Far above the
  // peers of any cluster, far below the descriptors of any process.
  static constexpr std::size_t kMax = 64;

  struct Stranger {
    std::string from;
    std::uint64_t deadline_ms = 0;
  };

  std::unordered_map<LinkId, Stranger> links_;
  std::array<std::uint64_t, kDropReasonCount> drops_{};
};

}  // namespace gcoord::netcore
