#include "consensus/scenario/invariants.h"

#include "common/incarnation.h"
#include "consensus/scenario/names.h"
#include "consensus/step/quorum.h"
#include "consensus/step/step.h"

#include <fmt/format.h>

#include <algorithm>

namespace gcoord::consensus::scenario {
namespace {

// Whether stable storage holds exactly this entry, by itself or under a checkpoint.
bool holds(const DurableState& durable, LogIndex index, const Entry& entry) {
  const LogIndex base = durable.checkpoint.state.applied;
  return index <= base ||
         (durable.covers(index) && durable.entries[index - base - 1].entry == entry);
}

}  // namespace

InvariantChecker::InvariantChecker(const std::vector<std::unique_ptr<Node>>& nodes,
                                   std::uint32_t shard_count)
    : nodes_(nodes), histories_(shard_count) {}

std::vector<std::string> InvariantChecker::take_violations() {
  return std::exchange(violations_, {});
}

void InvariantChecker::expect_read(ShardId shard, std::uint64_t sequence) {
  History& history = histories_[shard.value];
  history.reads[sequence] = LogIndex{history.decided.size()};
}

void InvariantChecker::on_carried_out(const StepReport& report) {
  History& history = histories_[report.replica.row().shard().value];
  check_monotone(report);
  const bool elected =
      report.before.role != Role::Leader && report.replica.row().hot().role == Role::Leader;
  if (elected) {
    check_completeness(report.replica, history);
  }
  check_decided(report, history);
  check_read(report, history);
}

// I7, and I3: a leader neither overwrites nor removes.
void InvariantChecker::check_monotone(const StepReport& report) {
  const Hot& hot = report.replica.row().hot();
  const Log& log = report.replica.row().log();
  if (hot.term < report.before.term || log.commit < report.log_before.commit ||
      log.applied < report.log_before.applied) {
    violate(
        fmt::format("monotone: node {} fell back in term, commit or applied", report.node.value));
  }
  const bool led_on = report.before.role == Role::Leader && hot.role == Role::Leader;
  const bool rewrote = log.last < report.log_before.last || report.out.snapshot_installed != 0 ||
                       std::any_of(std::begin(report.out.stored),
                                   std::end(report.out.stored),
                                   [](LogIndex first) { return first.value != 0; });
  if (led_on && rewrote) {
    violate(fmt::format("leader append-only: node {} changed its log in term {}",
                        report.node.value,
                        hot.term.value));
  }
}

// I1. Before the outbox is carried out, because a new leader's first messages are in it.
void InvariantChecker::on_step(const StepReport& report) {
  const Hot& hot = report.replica.row().hot();
  if (hot.role != Role::Leader) {
    return;
  }
  History& history = histories_[report.replica.row().shard().value];
  const auto [known, first] = history.leaders.emplace(hot.term, report.node);
  if (known->second != report.node) {
    violate(fmt::format("election safety: nodes {} and {} both led in term {}",
                        known->second.value,
                        report.node.value,
                        hot.term.value));
  }
  if (first) {
    note_vote(history, report.node, hot.term, report.node);
  }
}

// I5, at the moment of an election.
void InvariantChecker::check_completeness(const Replica& leader, const History& history) {
  const PayloadLog& log = leader.payloads();
  for (std::size_t k = 0; k < history.decided.size(); ++k) {
    const LogIndex index{k + 1};
    const bool there =
        index <= log.floor() || (index <= log.last() && log.at(index) == history.decided[k]);
    if (!there) {
      violate(fmt::format("leader completeness: node {} leads term {} without entry {}",
                          leader.self().value,
                          leader.row().hot().term.value,
                          index.value));
      return;
    }
  }
}

// I6 for what is known to be decided, and "committed is durable on a quorum" when it first is.
void InvariantChecker::check_decided(const StepReport& report, History& history) {
  const PayloadLog& log = report.replica.payloads();
  const LogIndex from = max_id(report.log_before.commit, log.floor());
  for (LogIndex index = from + 1; index <= report.replica.row().log().commit; ++index) {
    const bool first = index.value == history.decided.size() + 1;
    if (first) {
      history.decided.push_back(log.at(index));
      check_quorum_durable(report.replica, index);
    } else if (index.value > history.decided.size()) {
      violate(fmt::format("node {} committed {} while entries before it are undecided",
                          report.node.value,
                          index.value));
    } else if (!(history.decided[index.value - 1] == log.at(index))) {
      violate(fmt::format("state machine safety: node {} committed another entry at {}",
                          report.node.value,
                          index.value));
    }
  }
}

void InvariantChecker::check_quorum_durable(const Replica& replica, LogIndex index) {
  if (memory_mode() || any_replaced()) {
    return;  // What acknowledged may be gone by now.
  }
  const Configuration& configuration = replica.row().configuration();
  SlotMask durable = 0;
  for (const auto& node : nodes_) {
    const std::uint8_t slot = slot_of(configuration, node->self());
    const DurableState& state = node->storage(replica.row().shard()).durable();
    if (slot != kSlotNone && holds(state, index, replica.payloads().at(index))) {
      durable = static_cast<SlotMask>(durable | slot_bit(slot));
    }
  }
  if (!is_quorum(configuration, durable)) {
    violate(fmt::format("committed is durable: entry {} is committed at node {} without a quorum",
                        index.value,
                        replica.self().value));
  }
}

// I9 for reads: a round sees what was decided when it was asked for.
void InvariantChecker::check_read(const StepReport& report, History& history) {
  const auto asked = history.reads.find(report.out.read_sequence);
  if (report.out.read == ReadVerdict::None || asked == history.reads.end()) {
    return;
  }
  if (report.out.read == ReadVerdict::Ready && report.out.read_index < asked->second) {
    violate(fmt::format("stale read: node {} answers round {} at {} after {} was decided",
                        report.node.value,
                        report.out.read_sequence,
                        report.out.read_index.value,
                        asked->second.value));
  }
  history.reads.erase(asked);
}

void InvariantChecker::on_send(const Packet& packet, SendFate fate, const Replica& sender) {
  static_cast<void>(fate);
  const Message& message = packet.message;
  History& history = histories_[message.shard.value];
  const bool rejects = (message.flags & kFlagReject) != 0;
  if (message.kind == MessageKind::VoteReply && !rejects) {
    note_vote(history, message.from, message.term, message.to);
    check_vote_durable(packet, sender);
  } else if (message.kind == MessageKind::AppendReply && !rejects) {
    check_append_durable(packet, sender);
  } else if (message.kind == MessageKind::Append || message.kind == MessageKind::Snapshot) {
    const auto leader = history.leaders.find(message.term);
    if (leader == history.leaders.end() || leader->second != message.from) {
      violate(fmt::format("node {} sends an {} in term {} that it does not lead",
                          message.from.value,
                          name_of(message.kind),
                          message.term.value));
    }
  }
}

bool InvariantChecker::memory_mode() const {
  return in_memory_mode(nodes_.front()->step_input());
}

bool InvariantChecker::any_replaced() const {
  return std::any_of(nodes_.begin(), nodes_.end(), [](const auto& node) {
    return generation_of(node->incarnation()) != 0;
  });
}

// I2, over all lives; one that was re-admitted is another voter.
void InvariantChecker::note_vote(History& history, NodeId voter, Term term, NodeId candidate) {
  const Incarnation present = nodes_[voter.value - 1]->incarnation();
  const Incarnation life = memory_mode() ? present : incarnation_of(generation_of(present), 0);
  const auto [known, first] = history.votes.emplace(std::tuple(voter, life, term), candidate);
  if (!first && known->second != candidate) {
    violate(fmt::format("one vote: node {} voted for {} and {} in term {}",
                        voter.value,
                        known->second.value,
                        candidate.value,
                        term.value));
  }
}

void InvariantChecker::check_vote_durable(const Packet& packet, const Replica& sender) {
  if (memory_mode()) {
    return;
  }
  const DurableState& durable = sender.storage().durable();
  if (durable.term != packet.message.term || durable.vote != packet.message.to) {
    violate(fmt::format("durable before sent: node {} grants a vote in term {} not on storage",
                        sender.self().value,
                        packet.message.term.value));
  }
}

void InvariantChecker::check_append_durable(const Packet& packet, const Replica& sender) {
  if (memory_mode()) {
    return;
  }
  const DurableState& durable = sender.storage().durable();
  bool covered = durable.term == packet.message.term && durable.covers(packet.message.index);
  const LogIndex from = sender.payloads().floor() + 1;
  for (LogIndex index = from; covered && index <= packet.message.index; ++index) {
    covered = holds(durable, index, sender.payloads().at(index));
  }
  if (!covered) {
    violate(fmt::format("durable before sent: node {} acknowledges {} not on storage",
                        sender.self().value,
                        packet.message.index.value));
  }
}

// I17, as far as it can be seen: a row knows of every configuration that its log holds unapplied.
void InvariantChecker::check_configurations(const Replica& replica) {
  const PayloadLog& log = replica.payloads();
  const LogIndex applied = max_id(replica.row().log().applied, log.floor());
  LogIndex newest;
  for (LogIndex index = applied + 1; index <= log.last(); ++index) {
    newest = log.at(index).kind == EntryKind::Configuration ? index : newest;
  }
  if (newest > replica.row().log().configuration_pending) {
    violate(fmt::format("configuration: node {} does not know of the one at {}",
                        replica.self().value,
                        newest.value));
  }
}

void InvariantChecker::check_replicas() {
  for (std::uint32_t shard = 0; shard < histories_.size(); ++shard) {
    if (leases_trusted_) {
      check_leases(ShardId{shard}, histories_[shard]);
    }
    for (const auto& node : nodes_) {
      const Replica* one = node->replica(ShardId{shard});
      if (one == nullptr) {
        continue;
      }
      check_applied(*one, histories_[shard]);
      check_configurations(*one);
      for (const auto& peer : nodes_) {
        const Replica* other = peer->replica(ShardId{shard});
        if (other != nullptr && node->self() < peer->self()) {
          check_matching(*one, *other);
        }
      }
    }
  }
}

// I4: where two logs agree in term they agree in everything before it.
void InvariantChecker::check_matching(const Replica& one, const Replica& other) {
  const LogIndex floor = max_id(one.payloads().floor(), other.payloads().floor());
  bool matched = false;
  for (LogIndex index = min_id(one.payloads().last(), other.payloads().last()); index > floor;
       index = index - 1) {
    const TermEntry a = one.entry_at(index);
    const TermEntry b = other.entry_at(index);
    matched = matched || a.term == b.term;
    if (matched && (a.term != b.term || !(a.entry == b.entry))) {
      violate(fmt::format("log matching: nodes {} and {} differ at {}",
                          one.self().value,
                          other.self().value,
                          index.value));
      return;
    }
  }
}

// I6 for what was applied.
void InvariantChecker::check_applied(const Replica& replica, const History& history) {
  const ServiceState& service = replica.service();
  std::size_t place = 0;
  for (LogIndex index{1}; index <= service.applied; ++index) {
    if (index.value > history.decided.size()) {
      violate(fmt::format("state machine safety: node {} applied {} which nobody decided",
                          replica.self().value,
                          index.value));
      return;
    }
    const Entry& entry = history.decided[index.value - 1];
    if (entry.kind != EntryKind::Command) {
      continue;
    }
    const bool same = place < service.commands.size() && service.commands[place].index == index &&
                      service.commands[place].command == entry.bytes;
    if (!same) {
      violate(fmt::format("state machine safety: node {} applied another command at {}",
                          replica.self().value,
                          index.value));
      return;
    }
    ++place;
  }
}

// I12: one holder at one moment, and it knows every decision.
void InvariantChecker::check_leases(ShardId shard, const History& history) {
  NodeId holder;
  for (const auto& node : nodes_) {
    const Replica* replica = node->replica(shard);
    if (replica == nullptr || !node->running() ||
        lease_expires(replica->row(), node->step_input()) <= node->tick()) {
      continue;
    }
    if (holder.value != 0) {
      violate(fmt::format("lease: nodes {} and {} hold the lease of shard {} at once",
                          holder.value,
                          node->self().value,
                          shard.value));
    }
    holder = node->self();
    if (replica->row().log().commit.value < history.decided.size()) {
      violate(fmt::format("lease: node {} holds the lease of shard {} without all decisions",
                          holder.value,
                          shard.value));
    }
  }
}

}  // namespace gcoord::consensus::scenario
