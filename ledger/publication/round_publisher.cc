#include "ledger/publication/round_publisher.h"

#include "common/assert.h"
#include "ledger/notes/shard_head.h"

#include <utility>
#include <vector>

namespace gcoord::server {

void RoundPublisher::advance(std::uint64_t compared) {
  if (round_ && !proposal_.follow(*round_)) {
    if (proposal_.ordered()) {
      round_.reset();
    } else {
      give_up_round();  // Something else was ordered in its place.
    }
    proposal_.clear();
  }
  if (round_) {
    settle_round();
  } else if (base_.now_ms >= next_round_ms_ && base_.up_to_date() &&
             compared == base_.state.size() && !quarantine_.searching()) {
    begin_round();
  }
}

// What is in it will be collected again.
void RoundPublisher::give_up_round() {
  const std::uint64_t size = round_->options().old_size + round_->heads().size();
  if (const auto news = base_.times.give_up(size)) {
    base_.news_ms = *news;
  }
  round_.reset();
}

void RoundPublisher::begin_round() {
  std::vector<ledger::ShardHead> heads = collection_.collect();
  if (heads.empty()) {
    return;
  }
  const bool full = heads.size() == base_.options.round_heads_max;
  // Without news what is published again alone is the round's.
  base_.times.begin({.news_ms = base_.news_ms == 0 ? base_.now_ms : base_.news_ms,
                     .begin_ms = base_.now_ms,
                     .size = base_.state.size() + heads.size(),
                     .heads = heads.size()},
                    base_.port.now_ms());
  base_.news_ms = full ? base_.news_ms : 0;
  next_round_ms_ = base_.now_ms + (full ? 0 : base_.options.interval_ms);
  round_.emplace(PublicationRoundOptions{.self = base_.options.self,
                                         .nodes = base_.members.voters,
                                         .batch = ++batch_,
                                         .old_size = base_.state.size(),
                                         .begin_ms = base_.now_ms},
                 std::move(heads));
  proposal_.clear();
  settle_round();
}

void RoundPublisher::settle_round() {
  GCOORD_ASSERT(round_);
  if (proposal_.planned()) {
    return propose();
  }
  round_->send(base_.now_ms, [this](NodeId to, std::vector<std::byte> message) {
    base_.port.send(to, std::move(message));
  });
  switch (round_->outcome(base_.now_ms)) {
    case PublicationRound::Outcome::Pending:
      return;
    case PublicationRound::Outcome::Agreed:
      base_.times.agreed(base_.port.now_ms());
      if (const Status status = proposal_.plan(*round_); !status.ok()) {
        return base_.fail(status);
      }
      return propose();
    case PublicationRound::Outcome::Split:
      return drop_disputed();
  }
}

void RoundPublisher::propose() {
  if (const Status status = proposal_.propose(*round_); !status.ok()) {
    base_.fail(status);
  }
}

void RoundPublisher::drop_disputed() {
  base_.counters.rounds_split.add();
  const std::vector<PublicationRound::Dispute> disputes = round_->disputes();
  give_up_round();
  for (const PublicationRound::Dispute& dispute : disputes) {
    const ShardId shard = dispute.head.shard;
    collection_.hold(shard);
    if (dispute.majority_root) {
      base_.counters.heads_different.add();
      quarantine_.suspect({shard, dispute.head.size, *dispute.majority_root});
    } else if (dispute.differs) {
      base_.port.on_alarm({.node = NodeId{0}, .shard = shard, .size = dispute.head.size});
    }
  }
  next_round_ms_ = base_.now_ms;
}

bool RoundPublisher::on(NodeId from, const VerdictMessage& message) {
  // An answer to a round that has ended is no mistake of the other node.
  const bool late = message.batch <= batch_ && (!round_ || message.batch < batch_);
  return late || (round_ && round_->on_verdict(from, message));
}

void RoundPublisher::step_down() {
  round_.reset();
  base_.times.clear();
}

}  // namespace gcoord::server
