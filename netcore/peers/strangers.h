// The links to this node that have not named themselves yet, and the counts of those that were
// dropped before they did.
//
// Where more wait than may, the oldest one gives way: a correct node greets within a few round
// trips, so a flood of links that say nothing keeps it out only if it is faster than that. One
// thread.
#pragma once

#include "netcore/channel/drop_reason.h"
#include "netcore/proof/handshake.h"
#include "netcore/transport/transport.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gcoord::netcore {

class Strangers {
 public:
  void add(LinkId link, std::uint64_t deadline_ms, std::string_view from) {
    links_[link] = {deadline_ms, std::string{from}, nullptr};
  }

  // Where the link comes from; empty: it is no stranger's.
  std::string address_of(LinkId link) const {
    const auto found = links_.find(link);
    return found == links_.end() ? std::string{} : found->second.address;
  }

  // Whether there is one more than may wait at once.
  bool too_many() const { return links_.size() > kMax; }

  // The one that has waited longest; there is one.
  LinkId oldest() const {
    return std::min_element(links_.begin(),
                            links_.end(),
                            [](const auto& a, const auto& b) { return a.first < b.first; })
        ->first;
  }

  bool contains(LinkId link) const { return links_.contains(link); }

  // The handshake with proofs that it has begun; nullptr: none, or no stranger.
  CalleeProof* proof_of(LinkId link) {
    const auto found = links_.find(link);
    return found == links_.end() ? nullptr : found->second.proof.get();
  }

  // The stranger has begun one.
  void set_proof(LinkId link, std::unique_ptr<CalleeProof> proof) {
    links_.at(link).proof = std::move(proof);
  }

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
    std::uint64_t deadline_ms = 0;
    std::string address;
    std::unique_ptr<CalleeProof> proof;
  };

  std::unordered_map<LinkId, Stranger> links_;
  std::array<std::uint64_t, kDropReasonCount> drops_{};
};

}  // namespace gcoord::netcore
