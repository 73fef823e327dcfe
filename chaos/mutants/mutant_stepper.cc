#include "chaos/mutants/mutant_stepper.h"

#include "chaos/mutants/members_mistakes.h"
#include "consensus/step/forwarding_stepper.h"
#include "consensus/step/log_runs.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gcoord::chaos {
namespace {

using consensus::Inbox;
using consensus::Message;
using consensus::MessageKind;
using consensus::Role;
using consensus::ShardRef;
using consensus::StepInput;

bool is_vote(const Message& message) {
  return message.kind == MessageKind::Vote || message.kind == MessageKind::PreVote;
}

void forget_at_restart(Mutant mutant, const ShardRef& row) {
  const bool fresh = row.log().last == LogIndex{0} && row.hot().term == Term{0};
  if (fresh) {
    return;
  }
  row.hot().vote = NodeId{};
  row.storage().durable_vote = NodeId{};
  const Term log_term = consensus::term_at(row.log(), row.runs(), row.log().last);
  if (mutant == Mutant::TermForgottenAtRestart && row.hot().term > log_term) {
    row.hot().term = row.storage().durable_term = log_term;
  }
}

void change_message(Mutant mutant, const ShardRef& row, Message& message) {
  const consensus::Log& log = row.log();
  const bool of_own_term = message.term == row.hot().term;
  switch (mutant) {
    case Mutant::AppendAcknowledgedUnseen:
      if (message.kind == MessageKind::AppendReply && row.hot().role == Role::Leader &&
          of_own_term && (message.flags & consensus::kFlagReject) == 0) {
        message.index = log.last;
      }
      return;
    case Mutant::SecondVoteInATerm:
      if (message.kind == MessageKind::Vote && of_own_term && row.hot().role == Role::Follower &&
          row.hot().leader == NodeId{}) {
        row.hot().vote = NodeId{};
      }
      return;
    case Mutant::VoteForShorterLog:
      if (is_vote(message)) {
        const Term own = consensus::term_at(log, row.runs(), log.last);
        message.index = max_id(message.index, log.last);
        message.log_term = max_id(message.log_term, own);
      }
      return;
    case Mutant::LogMismatchAccepted:
      if (message.kind == MessageKind::Append && message.index > log.floor &&
          message.index <= log.last) {
        message.log_term = consensus::term_at(log, row.runs(), message.index);
      }
      return;
    case Mutant::DeposedLeaderObeyed:
      if (message.kind == MessageKind::Append && message.term < row.hot().term) {
        message.term = row.hot().term;
      }
      return;
    default:
      return;
  }
}

// A candidate that has heard one vote thinks that it has heard another.
void count_one_more(const ShardRef& row, const Inbox& in) {
  for (std::uint32_t k = 0; k < in.message_count; ++k) {
    const Message& message = in.message[k];
    if (message.kind == MessageKind::VoteReply && row.hot().role == Role::Candidate &&
        message.term == row.hot().term && (message.flags & consensus::kFlagReject) != 0) {
      const auto missing =
          static_cast<consensus::SlotMask>(row.configuration().voters & ~row.election().granted);
      row.election().granted =
          static_cast<consensus::SlotMask>(row.election().granted | (missing & (~missing + 1)));
    }
  }
}

// As Figure 8 of the Raft paper warns: a quorum has it, so it is taken for decided.
void commit_by_counting(const ShardRef& row) {
  if (row.hot().role != Role::Leader) {
    return;
  }
  std::vector<LogIndex> matches;
  for (std::uint32_t slot = 0; slot < row.slot_count(); ++slot) {
    if ((row.configuration().voters >> slot & 1u) != 0) {
      matches.push_back(slot == row.hot().self_slot ? row.storage().durable
                                                    : row.progress(slot).match);
    }
  }
  std::ranges::sort(matches, std::greater<>{});
  const LogIndex counted = matches[matches.size() / 2];
  row.log().commit = max_id(row.log().commit, min_id(counted, row.log().last));
}

// What a follower does to its commit index when it believes more than was verified.
void commit_unverified(const ShardRef& row, const Inbox& in) {
  for (std::uint32_t k = 0; k < in.message_count; ++k) {
    const Message& message = in.message[k];
    if (message.kind == MessageKind::Append && message.term == row.hot().term &&
        row.hot().role == Role::Follower) {
      row.log().commit = max_id(row.log().commit, min_id(row.log().last, message.commit));
    }
  }
}

// What the lease is judged by between two steps says nothing of a transfer; the step itself knows.
class HiddenTransfers {
 public:
  void show(const ShardRef& row, std::uint32_t number) {
    if (const auto hidden = slots_.find(number); hidden != slots_.end()) {
      row.election().transfer_target = hidden->second;
      slots_.erase(hidden);
    }
  }

  void hide(const ShardRef& row, std::uint32_t number) {
    if (row.hot().role == Role::Leader && row.election().transfer_target != consensus::kSlotNone) {
      slots_[number] = std::exchange(row.election().transfer_target, consensus::kSlotNone);
    }
  }

 private:
  std::unordered_map<std::uint32_t, std::uint8_t> slots_;  // By row.
};

// A leader's confirmations of the round before, or 0.
consensus::SlotMask confirmations(const ShardRef& row) {
  return row.hot().role == Role::Leader ? row.election().confirmed : consensus::SlotMask{0};
}

// The round that this step opened, if it did, has them, too. Whether it did.
bool keep_confirmations(const ShardRef& row, const Inbox& in, consensus::SlotMask kept) {
  const bool opened = in.read_sequence != 0 && row.hot().role == Role::Leader &&
                      row.election().read_sequence == in.read_sequence;
  if (opened) {
    row.election().confirmed = static_cast<consensus::SlotMask>(row.election().confirmed | kept);
  }
  return opened;
}

// What a lane was given in its turn before, which it takes for that of this one.
class TurnBefore {
 public:
  Tick tick(const StepInput& input) {
    begin(input);
    return tick_before_;
  }

  // The peers as they were, but for what their channels take now.
  const consensus::PeerLiveness* peers(const StepInput& input) {
    begin(input);
    for (std::size_t k = 0; k < peers_before_.size(); ++k) {
      peers_before_[k].credit = input.peer[k].credit;
    }
    return peers_before_.data();
  }

 private:
  // Several batches of rows may share a turn, and several turns a tick.
  void begin(const StepInput& input) {
    if (peers_now_.empty() || input.tick != tick_now_) {
      const bool first = peers_now_.empty();
      tick_before_ = first ? input.tick : tick_now_;
      peers_before_ = std::exchange(peers_now_, {input.peer, input.peer + input.peer_count});
      peers_before_ = first ? peers_now_ : peers_before_;
      tick_now_ = input.tick;
    }
  }

  Tick tick_before_;
  Tick tick_now_;
  std::vector<consensus::PeerLiveness> peers_before_;
  std::vector<consensus::PeerLiveness> peers_now_;
};

class MutantStepper final : public consensus::ForwardingStepper {
 public:
  MutantStepper(Mutant mutant, std::unique_ptr<Stepper> stepper)
      : ForwardingStepper(std::move(stepper)), mutant_(mutant), members_(mutant) {}

  Status step(std::span<const std::uint32_t> rows,
              std::span<const Inbox> in,
              std::span<consensus::Outbox> out,
              const StepInput& input) override {
    if (std::exchange(first_, false) &&
        (mutant_ == Mutant::VoteForgottenAtRestart || mutant_ == Mutant::TermForgottenAtRestart)) {
      for (std::uint32_t row = 0; row < columns().row_count; ++row) {
        forget_at_restart(mutant_, ShardRef(columns(), row));
      }
    }
    in_.assign(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(rows.size()));
    confirmed_.clear();
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const ShardRef row(columns(), rows[k]);
      transfers_.show(row, rows[k]);
      confirmed_.push_back(confirmations(row));
      before(row, in_[k]);
    }
    const Status stepped = ForwardingStepper::step(rows, in_, out, changed(input));
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const ShardRef row(columns(), rows[k]);
      after(row, in_[k]);
      if (of_members(mutant_)) {
        members_.after(row, in_[k], out[k]);
      }
      if (mutant_ == Mutant::LeaseKeptInTransfer) {
        transfers_.hide(row, rows[k]);
      } else if (mutant_ == Mutant::ReadConfirmationsKept) {
        out[k].want_again(keep_confirmations(row, in_[k], confirmed_[k]));
      }
    }
    return stepped;
  }

  bool settle(const RowInput& given, consensus::Outbox& out) override {
    if (mutant_ != Mutant::SettledBeforeDurable && mutant_ != Mutant::SettledReplyCountsAll) {
      return false;
    }
    const ShardRef row(columns(), given.row);
    Inbox in = given.in;
    Message& message = in.message[0];
    if (mutant_ == Mutant::SettledReplyCountsAll && in.message_count != 0 &&
        message.kind == MessageKind::AppendReply) {
      message.index = row.log().last;
    }
    const bool settled = inner().settle({given.row, in, given.input}, out);
    if (settled && mutant_ == Mutant::SettledBeforeDurable) {
      answer_early(row, given.input, out);
    }
    return settled;
  }

 private:
  void before(const ShardRef& row, Inbox& in) {
    for (std::uint32_t k = 0; k < in.message_count; ++k) {
      change_message(mutant_, row, in.message[k]);
    }
    if (mutant_ == Mutant::QuorumOneShort) {
      count_one_more(row, in);
    } else if (of_members(mutant_)) {
      members_.before(row, in);
    }
  }

  void after(const ShardRef& row, const Inbox& in) {
    if (mutant_ == Mutant::PriorTermByCounting) {
      commit_by_counting(row);
    } else if (mutant_ == Mutant::CommitBeyondMatch) {
      commit_unverified(row, in);
    } else if (mutant_ == Mutant::CommitFallsBack && row.log().commit > row.log().applied + 1) {
      row.log().commit = row.log().applied;
    }
  }

  // An acknowledgement of entries before storage has them.
  static void answer_early(const ShardRef& row, const StepInput& input, consensus::Outbox& out) {
    if (row.hot().role != Role::Follower || out.storage.present == 0) {
      return;
    }
    Message& reply = out.message[out.message_count++];
    reply = Message{.shard = row.shard(),
                    .kind = MessageKind::AppendReply,
                    .from = input.self,
                    .to = row.hot().leader,
                    .term = row.hot().term,
                    .index = row.log().verified,
                    .commit = row.log().commit};
  }

  StepInput changed(const StepInput& input) {
    StepInput result = input;
    const bool early =
        mutant_ == Mutant::AcknowledgedBeforeDurable || mutant_ == Mutant::LaneAcknowledgedEarly;
    result.stored_at_once = early ? 1 : input.stored_at_once;
    if (mutant_ == Mutant::LaneClockStands) {
      result.tick = before_.tick(input);
    } else if (mutant_ == Mutant::HeartbeatBeforeLanesMet) {
      result.peer = before_.peers(input);
    }
    result.witness = mutant_ == Mutant::WitnessCampaigns ? std::uint8_t{0} : input.witness;
    // A directory that nobody has admitted waits much longer, and for another reason.
    const bool waits_once = input.vote_after <= input.tick + input.timing.election_ticks;
    if (mutant_ == Mutant::VotesRightAfterRestart && waits_once) {
      result.vote_after = Tick{};
    }
    return result;
  }

  Mutant mutant_;
  std::vector<Inbox> in_;
  std::vector<consensus::SlotMask> confirmed_;  // Before the step, by position.
  HiddenTransfers transfers_;
  MembersMistakes members_;
  TurnBefore before_;
  bool first_ = true;
};

}  // namespace

std::unique_ptr<consensus::Stepper> make_mutant_stepper(
    Mutant mutant, std::uint32_t lane, std::unique_ptr<consensus::Stepper> stepper) {
  if (mutant == Mutant::None || (of_lanes(mutant) && lane == 0)) {
    return stepper;
  }
  return std::make_unique<MutantStepper>(mutant, std::move(stepper));
}

}  // namespace gcoord::chaos
