// Opinions of the other nodes, each one's newest, and whether they agree.
//
// A node that has spoken and said nothing against another one holds it for alive. Bounded by the
// square of the nodes. Times are milliseconds of one clock. Pure; one thread.
#pragma once

#include "common/ids.h"
#include "membership/detector/opinion.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::membership {

class Opinions {
 public:
  // What a node said longer ago counts no more.
  static constexpr std::uint64_t kFreshMs = 3000;

  void hear(NodeId from, std::span<const Opinion> said, std::uint64_t now_ms) {
    Said& newest = said_[from];
    newest.at_ms = now_ms;
    newest.opinions.assign(said.begin(), said.end());
  }

  void forget(NodeId from) { said_.erase(from); }

  // A life of a node, and from when on an opinion about it counts.
  struct Question {
    NodeId about;
    Incarnation incarnation;
    std::uint64_t since_ms = 0;
  };

  // Of those who have spoken since then: how many have something against this life of the node, and
  // how many have not.
  std::pair<unsigned, unsigned> tally(const Question& question, std::uint64_t now_ms) const {
    unsigned against = 0;
    unsigned others = 0;
    for (const auto& [from, said] : said_) {
      if (from != question.about && said.at_ms >= question.since_ms &&
          now_ms - said.at_ms < kFreshMs) {
        const auto opinion = find(said, question);
        (opinion && opinion->cause != Cause::Link ? against : others) += 1;
      }
    }
    return {against, others};
  }

 private:
  struct Said {
    std::uint64_t at_ms = 0;
    std::vector<Opinion> opinions;
  };

  static std::optional<Opinion> find(const Said& said, const Question& question) {
    const auto found = std::ranges::find_if(said.opinions, [&](const Opinion& each) {
      return each.node == question.about && each.incarnation == question.incarnation;
    });
    return found == said.opinions.end() ? std::nullopt : std::optional(*found);
  }

  std::map<NodeId, Said> said_;
};

}  // namespace gcoord::membership
