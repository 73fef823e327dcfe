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

// Entries of one kind and equal bytes are one content.
ContentId content_of(ContentNumbers& contents, EntryKind kind, const std::string& bytes) {
  return contents.of(static_cast<char>(kind) + bytes);
}

RaftState state_of(const Hot& hot, const Log& log) {
  return {.term = hot.term, .last = log.last, .commit = log.commit, .applied = log.applied};
}

auto log_of(const Replica& replica) {
  return LogView{replica.self(),
                 replica.payloads().floor(),
                 replica.payloads().last(),
                 [&replica](LogIndex index) { return replica.entry_at(index); }};
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

// I7 and I3.
void InvariantChecker::check_monotone(const StepReport& report) {
  const Hot& hot = report.replica.row().hot();
  const Log& log = report.replica.row().log();
  const RaftState now = state_of(hot, log);
  for (const auto& breaches :
       {RaftHistory::on_state(report.node, now),
        RaftHistory::on_progress(report.node, state_of(report.before, report.log_before), now)}) {
    for (const RaftBreach& breach : breaches) {
      judge(breach);
    }
  }
  if (report.before.role == Role::Leader && hot.role == Role::Leader) {
    const bool overwrote = report.out.snapshot_installed != 0 ||
                           std::any_of(std::begin(report.out.stored),
                                       std::end(report.out.stored),
                                       [](LogIndex first) { return first.value != 0; });
    judge(RaftHistory::on_leading_on({.leader = {hot.term, report.node},
                                      .last_before = report.log_before.last,
                                      .last_now = log.last,
                                      .overwrote = overwrote}));
  }
}

// I1. Before the outbox is carried out, because a new leader's first messages are in it.
void InvariantChecker::on_step(const StepReport& report) {
  const Hot& hot = report.replica.row().hot();
  if (hot.role != Role::Leader) {
    return;
  }
  History& history = histories_[report.replica.row().shard().value];
  const bool first = !history.raft.leader_of(hot.term).has_value();
  const bool elected = report.before.role != Role::Leader;
  judge(elected ? history.raft.on_elected({hot.term, report.node})
                : history.raft.on_leader({hot.term, report.node}));
  if (first) {
    note_vote(history, report.node, hot.term, report.node);
  }
}

// I5, at the moment of an election.
void InvariantChecker::check_completeness(const Replica& leader, History& history) {
  const PayloadLog& log = leader.payloads();
  const RaftLeader elected{leader.row().hot().term, leader.self()};
  bool broken = judge(history.raft.on_elected_log(elected, log.last()));
  const LogIndex owed = history.raft.owed(elected.term);
  for (LogIndex index = log.floor() + 1; !broken && index <= owed; ++index) {
    const Entry& entry = log.at(index);
    broken = judge(history.raft.on_elected_entry(
        elected, index, content_of(history.contents, entry.kind, entry.bytes)));
  }
}

// I6 for what is known to be decided, and "committed is durable on a quorum" when it first is.
void InvariantChecker::check_decided(const StepReport& report, History& history) {
  const PayloadLog& log = report.replica.payloads();
  const LogIndex from = max_id(report.log_before.commit, log.floor());
  for (LogIndex index = from + 1; index <= report.replica.row().log().commit; ++index) {
    const bool first = index.value == history.decided.size() + 1;
    const Entry& entry = log.at(index);
    judge(history.raft.on_commit_entry(
        report.node, index, content_of(history.contents, entry.kind, entry.bytes)));
    if (first) {
      history.decided.push_back(entry.kind);
      check_quorum_durable(report.replica, index);
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
  if (report.out.read == ReadVerdict::Ready) {
    judge(RaftHistory::on_read({.node = report.node,
                                .round = report.out.read_sequence,
                                .index = report.out.read_index,
                                .owed = asked->second}));
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
    if (history.raft.leader_of(message.term) != message.from) {
      violate(fmt::format("node {} sends an {} in term {} that it does not lead",
                          message.from.value,
                          name_of(message.kind),
                          message.term.value));
    }
  }
}

bool InvariantChecker::judge(const std::optional<RaftBreach>& breach) {
  if (breach.has_value()) {
    violate(fmt::format("{}: {}", name_of(breach->invariant), breach->sentence));
  }
  return breach.has_value();
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
  judge(history.raft.on_vote({voter, life, term, candidate}));
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
          judge(RaftHistory::on_logs(log_of(*one), log_of(*other)));  // I4.
        }
      }
    }
  }
}

// I6 for what was applied.
void InvariantChecker::check_applied(const Replica& replica, History& history) {
  const ServiceState& service = replica.service();
  std::size_t place = 0;
  for (LogIndex index{1}; index <= min_id(service.applied, history.raft.committed()); ++index) {
    if (history.decided[index.value - 1] != EntryKind::Command) {
      continue;
    }
    const bool there = place < service.commands.size() && service.commands[place].index == index;
    const ContentId content =
        there ? content_of(history.contents, EntryKind::Command, service.commands[place].command)
              : kNoContent;
    if (judge(history.raft.on_apply(replica.self(), index, content))) {
      return;
    }
    ++place;
  }
  judge(history.raft.on_applied_to(replica.self(), service.applied));
}

// I12: one holder at one moment, and it knows every decision.
void InvariantChecker::check_leases(ShardId shard, const History& history) {
  std::vector<LeaseHolder> holders;
  for (const auto& node : nodes_) {
    const Replica* replica = node->replica(shard);
    if (replica != nullptr && node->running() &&
        lease_expires(replica->row(), node->step_input()) > node->tick()) {
      holders.push_back({node->self(), replica->row().log().commit});
    }
  }
  judge(history.raft.on_leases(holders));
}

}  // namespace gcoord::consensus::scenario
