#include "chaos/mutants/members_mistakes.h"

#include "consensus/step/log_runs.h"
#include "consensus/step/quorum.h"

#include <algorithm>
#include <functional>
#include <vector>

namespace gcoord::chaos {
namespace {

using consensus::Configuration;
using consensus::Inbox;
using consensus::Message;
using consensus::MessageKind;
using consensus::Outbox;
using consensus::ProposalVerdict;
using consensus::Role;
using consensus::ShardRef;
using consensus::SlotMask;

Term term_at(const ShardRef& row, LogIndex index) {
  return consensus::term_at(row.log(), row.runs(), index);
}

bool own_term_decided(const ShardRef& row) {
  return term_at(row, row.log().commit) == row.hot().term;
}

// Whether the leader goes by configurations that are not decided.
bool hasty(Mutant mutant, const ShardRef& row) {
  return mutant == Mutant::ConfigurationUsedAtAppend ||
         (mutant == Mutant::ChangeBeforeOwnTerm && !own_term_decided(row));
}

// Appends what the step refused because something else was under way.
void append_refused(const ShardRef& row, const Inbox& in, Outbox& out) {
  const Configuration& present = row.configuration();
  const Configuration& proposed = in.configuration;
  const bool sound = well_formed(proposed, row.slot_count()) && may_follow(present, proposed) &&
                     quorums_meet(present, proposed) &&
                     consensus::has_room(row.log(), row.runs(), row.hot().term);
  const bool alone = out.own_entry.count == 0 && out.accepted.count == 0;
  if (out.configuration != ProposalVerdict::Refused || !sound || !alone) {
    return;
  }
  append_entries(row.log(), row.runs(), 1, row.hot().term);
  row.log().configuration_pending = row.log().last;
  out.configuration = ProposalVerdict::Accepted;
  out.configuration_index = row.log().last;
  out.want_again(true);
}

void use_at_append(const ShardRef& row, const Configuration& appended) {
  const SlotMask before = row.configuration().members();
  row.configuration() = appended;
  for (std::uint32_t slot = 0; slot < row.slot_count(); ++slot) {
    if (!consensus::has_slot(before, slot) && consensus::has_slot(appended.members(), slot)) {
      row.progress(slot) = consensus::Progress{};
      row.progress(slot).next = row.log().last;
    }
  }
}

void change_hastily(const ShardRef& row, const Inbox& in, Outbox& out) {
  if (in.configuration_input != consensus::ConfigurationInput::Proposed) {
    return;
  }
  append_refused(row, in, out);
  if (out.configuration == ProposalVerdict::Accepted) {
    use_at_append(row, in.configuration);
  }
}

Configuration incoming_half(const ShardRef& row) {
  Configuration half = row.configuration();
  half.voters_outgoing = 0;
  return half;
}

void elect_by_one_half(const ShardRef& row) {
  consensus::Election& election = row.election();
  if (row.configuration().joint() && is_quorum(incoming_half(row), election.granted)) {
    election.granted = static_cast<SlotMask>(
        election.granted | (row.configuration().voters_outgoing & ~election.rejected));
  }
}

void commit_up_to(const ShardRef& row, LogIndex index, Outbox& out) {
  consensus::Log& log = row.log();
  const LogIndex reached = min_id(index, log.last);
  if (reached > log.commit && term_at(row, reached) == row.hot().term) {
    log.commit = reached;
    out.want_again(true);
  }
}

LogIndex match_of(const ShardRef& row, std::uint32_t slot) {
  return slot == row.hot().self_slot ? row.storage().durable : row.progress(slot).match;
}

void decide_by_one_half(const ShardRef& row, Outbox& out) {
  if (!row.configuration().joint()) {
    return;
  }
  std::uint64_t match[consensus::kReplicaSlots] = {};
  for (std::uint32_t slot = 0; slot < row.slot_count(); ++slot) {
    match[slot] = match_of(row, slot).value;
  }
  commit_up_to(row, committed_index(incoming_half(row), match), out);
}

void count_learners(const ShardRef& row, Outbox& out) {
  const Configuration& configuration = row.configuration();
  if (configuration.joint()) {
    return;
  }
  std::vector<LogIndex> matches;
  for (std::uint32_t slot = 0; slot < row.slot_count(); ++slot) {
    if (consensus::has_slot(configuration.members(), slot)) {
      matches.push_back(match_of(row, slot));
    }
  }
  std::ranges::sort(matches, std::greater<>{});
  commit_up_to(row, matches[consensus::count_slots(configuration.voters) / 2], out);
}

bool asks(const Message& message) {
  return message.kind == MessageKind::PreVote || message.kind == MessageKind::Vote;
}

bool grants(const Message& message) {
  const bool reply =
      message.kind == MessageKind::PreVoteReply || message.kind == MessageKind::VoteReply;
  return reply && (message.flags & consensus::kFlagReject) == 0;
}

}  // namespace

// A removed node that grants speaks for a voter that has not spoken.
void MembersMistakes::count_removed(const ShardRef& row, Inbox& in) const {
  const auto known = voters_.find(row.shard().value);
  for (std::uint32_t k = 0; known != voters_.end() && k < in.message_count; ++k) {
    Message& message = in.message[k];
    const Configuration& configuration = row.configuration();
    if (!grants(message) || !known->second.contains(message.from.value) ||
        slot_of(configuration, message.from) != consensus::kSlotNone) {
      continue;
    }
    const auto heard = static_cast<SlotMask>(row.election().granted | row.election().rejected);
    for (std::uint32_t slot = 0; slot < row.slot_count(); ++slot) {
      const auto silent = static_cast<SlotMask>(configuration.voters & ~heard);
      if (consensus::has_slot(silent, slot) && slot != row.hot().self_slot) {
        message.from = configuration.node[slot];
        break;
      }
    }
  }
}

// Who asks for votes asks all that ever had one.
void MembersMistakes::ask_removed(const ShardRef& row, Outbox& out) {
  std::set<std::uint32_t>& known = voters_[row.shard().value];
  const Configuration& configuration = row.configuration();
  for (std::uint32_t slot = 0; slot < row.slot_count(); ++slot) {
    if (consensus::has_slot(configuration.voters_either(), slot)) {
      known.insert(configuration.node[slot].value);
    }
  }
  Message* const end = out.message + out.message_count;
  const Message* const asked = std::find_if(out.message, end, asks);
  if (asked == end) {
    return;
  }
  for (const std::uint32_t node : known) {
    if (slot_of(configuration, NodeId{node}) == consensus::kSlotNone &&
        NodeId{node} != asked->from && out.message_count < consensus::kOutboxMessages) {
      out.message[out.message_count] = *asked;
      out.message[out.message_count++].to = NodeId{node};
    }
  }
}

void MembersMistakes::before(const ShardRef& row, Inbox& in) {
  const bool campaigns = row.hot().role == Role::PreCandidate || row.hot().role == Role::Candidate;
  if (mutant_ == Mutant::RemovedVoteCounted && campaigns) {
    count_removed(row, in);
  } else if (mutant_ == Mutant::JointDecidedByOneHalf && campaigns) {
    elect_by_one_half(row);
  }
}

void MembersMistakes::after(const ShardRef& row, const Inbox& in, Outbox& out) {
  if (mutant_ == Mutant::RemovedVoteCounted) {
    ask_removed(row, out);
  }
  if (row.hot().role != Role::Leader) {
    return;
  }
  if (hasty(mutant_, row)) {
    change_hastily(row, in, out);
  } else if (mutant_ == Mutant::JointDecidedByOneHalf) {
    decide_by_one_half(row, out);
  } else if (mutant_ == Mutant::LearnerAcknowledgementCounted) {
    count_learners(row, out);
  }
}

consensus::MembersPlan mistaken_plan(Mutant mutant,
                                     const ShardRef& row,
                                     const MembersQuestion& asked) {
  if (!of_members(mutant) || !hasty(mutant, row) || row.hot().role != Role::Leader) {
    return plan_members(row, asked.input, asked.target);
  }
  if (row.configuration().joint()) {
    return {.step = consensus::MembersStep::Leave,
            .configuration = leave_joint(row.configuration())};
  }
  const consensus::Log kept = row.log();
  row.log().configuration_pending = min_id(kept.configuration_pending, kept.applied);
  row.log().commit = kept.last;
  const consensus::MembersPlan plan = plan_members(row, asked.input, asked.target);
  row.log() = kept;
  return plan;
}

}  // namespace gcoord::chaos
