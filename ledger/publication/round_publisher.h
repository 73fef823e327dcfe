// Rounds of the publisher, the leader of shard 0: from the heads of changed shards to entries in
// the log of shard 0.
//
//   collect heads (head_collection.h) -> agree with a majority (publication_round.h) -> propose
//   entries (round_proposal.h)
//
// One round is under way at a time. Heads that no majority agrees with are dropped, and the round
// begins anew without them; a head that a majority contradicts makes the shard suspected here. One
// thread.
#pragma once

#include "common/ids.h"
#include "ledger/heads/entry.h"
#include "ledger/heads/message.h"
#include "ledger/heads/round.h"
#include "ledger/publication/head_collection.h"
#include "ledger/publication/history_quarantine.h"
#include "ledger/publication/publication_base.h"
#include "ledger/publication/round_proposal.h"

#include <cstdint>
#include <optional>

namespace gcoord::server {

class RoundPublisher {
 public:
  // Both outlive it.
  RoundPublisher(PublicationBase& base, HistoryQuarantine& quarantine)
      : base_(base),
        quarantine_(quarantine),
        collection_(base, quarantine),
        proposal_(base),
        batch_(std::uint64_t{base.options.incarnation.value} << 32u) {}

  // While this node leads shard 0. compared: leaves of the ordered log that were compared here; the
  // next round waits for all of them.
  void advance(std::uint64_t compared);

  // This node leads shard 0 no more.
  void step_down();

  void on_proposal_lost() { proposal_.on_lost(); }

  // False: dropped.
  bool on(NodeId from, const VerdictMessage& message);

  // Whether a round is under way.
  bool busy() const { return round_.has_value(); }

  // When the next round may begin.
  std::uint64_t next_round_ms() const { return next_round_ms_; }

  // Whether an ordered entry is of the round that is under way.
  bool holds(const RoundEntry& entry) const {
    return round_ && round_->holds(entry.old_size, entry.heads);
  }

 private:
  void give_up_round();
  void begin_round();
  void settle_round();
  void propose();
  void drop_disputed();

  PublicationBase& base_;
  HistoryQuarantine& quarantine_;
  HeadCollection collection_;
  RoundProposal proposal_;
  std::optional<PublicationRound> round_;
  std::uint64_t batch_;
  std::uint64_t next_round_ms_ = 0;
};

}  // namespace gcoord::server
