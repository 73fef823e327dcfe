#include "chaos/mutants/mutant_stepper.h"

#include "consensus/step/log_runs.h"

#include <algorithm>
#include <functional>
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

class MutantStepper final : public consensus::Stepper {
 public:
  MutantStepper(Mutant mutant, std::unique_ptr<Stepper> stepper)
      : mutant_(mutant), stepper_(std::move(stepper)) {}

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
    for (std::size_t k = 0; k < rows.size(); ++k) {
      before(ShardRef(columns(), rows[k]), in_[k]);
    }
    const Status stepped = stepper_->step(rows, in_, out, changed(input));
    for (std::size_t k = 0; k < rows.size(); ++k) {
      after(ShardRef(columns(), rows[k]), in_[k]);
    }
    return stepped;
  }

  Status look_over() override { return stepper_->look_over(); }

  const consensus::ShardColumns& columns() const override { return stepper_->columns(); }

  std::uint32_t batch_rows() const override { return stepper_->batch_rows(); }

  consensus::StepperReport report() const override { return stepper_->report(); }

 private:
  void before(const ShardRef& row, Inbox& in) {
    for (std::uint32_t k = 0; k < in.message_count; ++k) {
      change_message(mutant_, row, in.message[k]);
    }
    if (mutant_ == Mutant::QuorumOneShort) {
      count_one_more(row, in);
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

  StepInput changed(const StepInput& input) const {
    StepInput result = input;
    result.stored_at_once = mutant_ == Mutant::AcknowledgedBeforeDurable ? 1 : input.stored_at_once;
    return result;
  }

  Mutant mutant_;
  std::unique_ptr<Stepper> stepper_;
  std::vector<Inbox> in_;
  bool first_ = true;
};

}  // namespace

std::unique_ptr<consensus::Stepper> make_mutant_stepper(
    Mutant mutant, std::unique_ptr<consensus::Stepper> stepper) {
  return std::make_unique<MutantStepper>(mutant, std::move(stepper));
}

}  // namespace gcoord::chaos
