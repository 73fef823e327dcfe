// One round of a publisher: heads that it would publish, and who agrees.
//
// The heads go to all voters in pages, a few at a time, until each one has answered each page; a
// majority of them, this node among them if it has a vote, has to have the same root for every head
// before the round is proposed. So what is ordered was vouched for by a majority, and a replica
// that differs from it is in the minority. Heads that no majority agrees with are named, and the
// publisher begins anew without them. One thread.
#pragma once

#include "common/ids.h"
#include "ledger/heads/message.h"
#include "ledger/notes/shard_head.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::server {

struct PublicationRoundOptions {
  NodeId self;
  std::vector<NodeId> nodes;  // Those that have a vote, and no others.
  std::uint64_t batch = 0;
  std::uint64_t old_size = 0;
  std::uint64_t begin_ms = 0;
};

class PublicationRound {
 public:
  // How long nodes that differ or lag are waited for once a majority has answered.
  static constexpr std::uint64_t kPatienceMs = 400;
  // Unanswered pages are sent again; well above a round trip.
  static constexpr std::uint64_t kResendMs = 200;
  // Pages under way to a node: half a megabyte.
  static constexpr std::size_t kPagesUnderWay = 16;

  PublicationRound(PublicationRoundOptions options, std::vector<ledger::ShardHead> heads);

  // Messages to send now.
  void send(std::uint64_t now_ms,
            const std::function<void(NodeId, std::vector<std::byte>)>& send_to);

  // False: it does not fit this round.
  bool on_verdict(NodeId from, const VerdictMessage& verdict);

  enum class Outcome : std::uint8_t {
    Pending,
    Agreed,  // A majority has every head.
    Split,   // A majority has answered, and has not every head: see disputes().
  };

  Outcome outcome(std::uint64_t now_ms) const;

  struct Dispute {
    ledger::ShardHead head;
    // Another root, which a majority has for this size.
    std::optional<ledger::MerkleHash> majority_root;
    bool differs = false;  // Some node has another root; else nodes lag or cannot tell.
  };

  std::vector<Dispute> disputes() const;

  // Whether these are heads of this round, at that size of the cluster log.
  bool holds(std::uint64_t old_size, std::span<const ledger::ShardHead> heads) const;

  const std::vector<ledger::ShardHead>& heads() const { return heads_; }

  const PublicationRoundOptions& options() const { return options_; }

 private:
  struct Peer {
    NodeId node;
    std::vector<std::uint64_t> sent_ms;  // Per page; 0: not yet, or to be sent again.
    std::vector<bool> answered;
    std::size_t answered_count = 0;
  };

  std::size_t majority() const { return options_.nodes.size() / 2 + 1; }

  std::size_t page_count() const { return page_answers_.size(); }

  PageMessage page(std::size_t index) const;
  std::size_t agreeing(std::size_t head) const;

  PublicationRoundOptions options_;
  std::vector<ledger::ShardHead> heads_;
  std::vector<Peer> peers_;
  std::vector<std::size_t> page_answers_;  // Of all voters, this one too.
  // Heads that some node did not agree with.
  std::map<std::size_t, std::map<NodeId, HeadException>> exceptions_;
};

}  // namespace gcoord::server
