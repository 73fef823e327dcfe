// Nodes that a client of a simulated world knows, and by whose majority it counts, with the client
// library's own parts (client/nodes).
//
// Before there is a view they are those of the beginning. An acknowledgement of a node with a newer
// view waits until the client has that. One thread.
#pragma once

#include "chaos/random/sim_random.h"
#include "client/nodes/known_view.h"
#include "client/nodes/view_fetch.h"
#include "protocol/members/view_messages.h"
#include "protocol/request.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::chaos {

class ClientNodes {
 public:
  // A keep-alive that a node acknowledged.
  struct Acknowledged {
    NodeId node;
    std::uint64_t epoch = 0;  // Of the node's view.
    client::TimePoint sent_at{};
  };

  struct Options {
    std::uint32_t founders = 0;  // Nodes 1 and on, at the beginning.
    bool follows = false;        // There are views.
    std::chrono::milliseconds look_pause{};
    std::chrono::milliseconds patience{};
  };

  // What a node answered.
  struct Answer {
    NodeId from;
    const protocol::ReplySlot& slot;
    std::span<const std::byte> payload;
  };

  explicit ClientNodes(const Options& options)
      : follows_(options.follows), look_pause_(options.look_pause), fetch_(options.patience) {
    protocol::Welcome welcome;
    for (std::uint32_t node = 1; node <= options.founders; ++node) {
      welcome.nodes.push_back({NodeId{node}, "client"});
      nodes_.push_back(NodeId{node});
    }
    known_.begin(welcome);
  }

  // Whom it talks to.
  const std::vector<NodeId>& all() const { return nodes_; }

  NodeId any(SimRandom& random) const {
    return nodes_[random.below(static_cast<std::uint32_t>(nodes_.size()))];
  }

  const client::VoterLists& voters() const { return known_.voters(); }

  // Counts it, now or once the view is known that it takes (take_counting).
  void take(const Acknowledged& acknowledged) {
    if (!follows_) {
      counting_.push_back(acknowledged);
      return;
    }
    known_.hear(acknowledged.epoch);
    if (known_.counts(acknowledged.epoch, true)) {
      counting_.push_back(acknowledged);
    } else if (acknowledged.epoch > known_.epoch()) {
      waiting_.push_back(acknowledged);
    }
  }

  // Those that count from now on, once each.
  std::vector<Acknowledged> take_counting() { return std::exchange(counting_, {}); }

  // What is to be asked of a node, if it is time. `elsewhere`: a node of the cluster that it need
  // not know, as names of hosts lead to; the client looks there now and then.
  std::optional<std::pair<NodeId, protocol::RequestSlot>> question(SimRandom& random,
                                                                   NodeId elsewhere,
                                                                   client::TimePoint now) {
    const bool looks = now >= look_at_;
    if (!follows_ || (!looks && !fetch_.due(known_, now))) {
      return std::nullopt;
    }
    look_at_ = looks ? now + look_pause_ : look_at_;
    const NodeId node = looks ? elsewhere : any(random);
    return std::pair{node, fetch_.ask(node, now)};
  }

  // Whether the answer is one to the question.
  bool take_view(const Answer& answered, client::TimePoint now) {
    if (!fetch_.take(answered.from, answered.slot, now)) {
      return false;
    }
    const auto answer = protocol::decode_view_answer(answered.payload);
    if (answered.slot.code == StatusCode::Ok && answer.ok() && known_.take(answer.value())) {
      follow();
    }
    return true;
  }

  // The session is over.
  void forget() {
    waiting_.clear();
    counting_.clear();
  }

 private:
  void follow() {
    nodes_.clear();
    for (const protocol::Member& node : known_.view().nodes) {
      if (node.state != protocol::MemberState::Removed && !node.invitation) {
        nodes_.push_back(node.id);
      }
    }
    for (const Acknowledged& each : std::exchange(waiting_, {})) {
      (each.epoch <= known_.epoch() ? counting_ : waiting_).push_back(each);
    }
  }

  bool follows_;
  client::TimePoint look_pause_;
  client::KnownView known_;
  client::ViewFetch fetch_;
  std::vector<NodeId> nodes_;
  std::vector<Acknowledged> waiting_;
  std::vector<Acknowledged> counting_;
  client::TimePoint look_at_{};
};

}  // namespace gcoord::chaos
