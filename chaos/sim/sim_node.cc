#include "chaos/sim/sim_node.h"

#include "chaos/mutants/members_mistakes.h"
#include "chaos/mutants/mutant_stepper.h"
#include "common/assert.h"
#include "common/incarnation.h"
#include "consensus/step/lead.h"
#include "consensus/step/readmission_plan.h"

#include <algorithm>
#include <string>

namespace gcoord::chaos {

using consensus::Configuration;
using consensus::EntryKind;
using consensus::Inbox;
using consensus::MessageKind;
using consensus::Outbox;
using consensus::Role;

SimNode::SimNode(const SimWorldParts& world, const SimNodeOptions& options, SimDisk& disk)
    : world_(world),
      options_(options),
      disk_(disk),
      stepper_(make_mutant_stepper(
          world.options.mutant,
          0,
          consensus::make_cpu_stepper(world.options.shard_count, consensus::kReplicaSlots))),
      shards_(world.options.shard_count),
      waiting_(world.options.shard_count),
      wishes_(world.options.shard_count),
      reads_(world.options.shard_count),
      random_(world.options.seed,
              1000 + (std::uint64_t{options.id.value} << 32) + options.incarnation.value) {
  for (std::uint32_t node = 1; node <= world.options.node_count; ++node) {
    if (NodeId{node} != options.id) {
      consensus::PeerLiveness peer;
      peer.node = NodeId{node};
      peer.lives_by_start = world.options.durability == consensus::Durability::Memory ? 1 : 0;
      peer.witness = world.options.is_witness(peer.node) ? 1 : 0;
      peers_.push_back(peer);
    }
  }
  input_.seed = mix64(world.options.seed ^ options.id.value);
  input_.self = options.id;
  input_.timing = world.options.timing;
  input_.limits.message_entries = 4;
  input_.limits.window_entries = 16;
  input_.limits.uncommitted_entries = 64;
  input_.peer = peers_.data();
  input_.peer_count = static_cast<std::uint32_t>(peers_.size());
  input_.incarnation = options.incarnation;
  input_.durability = world.options.durability;
  input_.first_life = options.incarnation.value == 1 ? 1 : 0;
  input_.witness = world.options.is_witness(options.id) ? 1 : 0;
  if (options.incarnation.value > 1) {
    input_.vote_after = Tick{1 + world.options.timing.election_ticks};
  }
  for (std::uint32_t shard = 0; shard < world.options.shard_count; ++shard) {
    recover_shard(shard);
  }
  wake_all();
}

Tick SimNode::clock(std::uint64_t quantum) const {
  const std::uint64_t elapsed = quantum - options_.boot_quantum;
  return Tick{1 + elapsed * options_.clock_rate_ppm / (std::uint64_t{1'000'000} * kQuantaPerTick)};
}

void SimNode::recover_shard(std::uint32_t shard) {
  const SimDurable& durable = disk_.durable(shard);
  ShardLog& log = shards_[shard];
  log.state = durable.checkpoint;
  log.base = durable.checkpoint.index;
  log.base_chain = durable.checkpoint.chain;
  for (const SimEntry& stored : durable.entries) {
    append(shard, stored);
  }
  const LogIndex commit = min_id(max_id(durable.commit, log.base), log.base + log.entries.size());
  while (log.state.index < commit) {
    apply_one(shard, log.state.index + 1);
  }
  const consensus::ShardRef row(stepper_->columns(), shard);
  const bool forgot = options_.rejoining || (in_memory_mode(input_) && input_.first_life == 0);
  consensus::recover(row,
                     {.term = max_id(durable.term, durable.checkpoint.term),
                      .vote = durable.vote,
                      .floor = durable.checkpoint.index,
                      .floor_term = durable.checkpoint.term,
                      .commit = commit,
                      .configuration = log.state.configuration,
                      .forgetful = forgot && !world_.options.forgets_unawares},
                     options_.id);
  for (const SimEntry& stored : log.entries) {
    consensus::recover_entry(row, stored.term, stored.kind, commit);
  }
}

void SimNode::wake_all() {
  for (Waiting& waiting : waiting_) {
    waiting.woken = true;
  }
}

void SimNode::poll(std::uint64_t quantum) {
  world_.network.take_due(options_.id, [&](NodeId from, NodeId, std::span<const std::byte> bytes) {
    if (!is_heartbeat(bytes)) {
      SimMessage message = decode_message(bytes);
      waiting_[message.header.shard.value].messages.push_back(std::move(message));
      return;
    }
    const auto heartbeat = decode_heartbeat(bytes);
    for (consensus::PeerLiveness& peer : peers_) {
      if (peer.node == from) {
        const auto change = consensus::on_heartbeat(
            peer, heartbeat, options_.incarnation, clock(quantum), world_.options.timing);
        if (change != consensus::LivenessChange::None) {
          wake_all();
        }
      }
    }
  });
  for (const SimWrite& write : disk_.finish(quantum)) {
    waiting_[write.shard].storage_ack = {
        .term = write.request.term, .vote = write.request.vote, .present = 1};
  }
}

void SimNode::beat() {
  if (last_beat_.value != 0 && input_.tick - last_beat_ < world_.options.timing.resend_ticks) {
    return;
  }
  last_beat_ = input_.tick;
  for (const consensus::PeerLiveness& peer : peers_) {
    const consensus::Heartbeat heartbeat{.incarnation = options_.incarnation,
                                         .echo_incarnation = peer.incarnation,
                                         .send = input_.tick,
                                         .echo = peer.peer_tick};
    world_.network.send(options_.id, peer.node, encode(heartbeat));
  }
}

bool SimNode::active(std::uint32_t shard) const {
  const Waiting& waiting = waiting_[shard];
  const Wishes& wishes = wishes_[shard];
  const bool input = !waiting.messages.empty() || waiting.storage_ack.present != 0 ||
                     waiting.applied.value != 0 || waiting.woken || waiting.again;
  const bool wished = !wishes.values.empty() || wishes.configuration ||
                      wishes.transfer_to.value != 0 || wishes.read_sequence != 0 ||
                      wishes.compact_to.value != 0;
  return input || wished || stepper_->columns().hot[shard].deadline <= input_.tick;
}

void SimNode::turn(std::uint64_t quantum) {
  poll(quantum);
  input_.tick = clock(quantum);
  for (consensus::PeerLiveness& peer : peers_) {
    const bool replaced =
        generation_of(options_.incarnation) != 0 || generation_of(peer.incarnation) != 0;
    input_.lives_end = replaced ? 1 : input_.lives_end;
    peer.credit = random_.chance(50'000) ? 0 : 64;
    if (consensus::refresh(peer, input_.tick, world_.options.timing) !=
        consensus::LivenessChange::None) {
      wake_all();
    }
  }
  beat();
  for (std::uint32_t shard = 0; shard < shards_.size(); ++shard) {
    readmit(shard);
    move_members(shard);
    if (active(shard)) {
      step_shard(shard, quantum);
    }
  }
}

// Members of a shard that this node leads come back without their memory.
void SimNode::readmit(std::uint32_t shard) {
  const consensus::ShardRef row(stepper_->columns(), shard);
  if (!leads(shard) || wishes_[shard].configuration || !consensus::wants_readmission(row)) {
    return;
  }
  const consensus::ReadmissionPlan plan = consensus::plan_readmission(row, input_);
  if (plan.step == consensus::ReadmissionStep::None) {
    return;
  }
  SimCounts& counts = world_.counts;
  counts.demotions += plan.step == consensus::ReadmissionStep::Demote ? 1 : 0;
  counts.anchors += plan.step == consensus::ReadmissionStep::Anchor ? 1 : 0;
  counts.promotions += plan.step == consensus::ReadmissionStep::Promote ? 1 : 0;
  wishes_[shard].configuration = plan.configuration;
}

// A shard that this node leads goes towards the members that it is to have.
void SimNode::move_members(std::uint32_t shard) {
  Wishes& wishes = wishes_[shard];
  if (!leads(shard) || wishes.configuration || wishes.transfer_to.value != 0) {
    return;
  }
  const consensus::ShardRef row(stepper_->columns(), shard);
  const consensus::MembersPlan plan = mistaken_plan(world_.options.mutant, row, {input_, target_});
  if (plan.step == consensus::MembersStep::Transfer) {
    ++world_.counts.member_transfers;
    wishes.transfer_to = row.configuration().node[plan.heir];
  } else if (plan.step != consensus::MembersStep::None) {
    ++world_.counts.member_changes;
    wishes.configuration = plan.configuration;
  }
}

void SimNode::step_shard(std::uint32_t shard, std::uint64_t quantum) {
  std::vector<SimMessage> taken;
  const Inbox in = fill_inbox(shard, taken);
  const Wishes wishes = std::exchange(wishes_[shard], Wishes{});
  const Role before = stepper_->columns().hot[shard].role;
  Outbox out;
  const Status stepped = stepper_->step({&shard, 1}, {&in, 1}, {&out, 1}, input_);
  GCOORD_ASSERT(stepped.ok());
  ++world_.counts.steps;
  keep_entries(shard, out, taken, wishes);
  write(shard, out, quantum);
  send(shard, out);
  apply(shard, out.apply);
  judge(shard, out, before);
  if (input_.witness != 0 && stepper_->columns().hot[shard].role != Role::Follower) {
    world_.checker.report(
        "witness", shard, "node " + std::to_string(options_.id.value) + " campaigns");
  }
  waiting_[shard].again = out.again != 0;
}

Inbox SimNode::fill_inbox(std::uint32_t shard, std::vector<SimMessage>& taken) {
  Waiting& waiting = waiting_[shard];
  const Wishes& wishes = wishes_[shard];
  Inbox in;
  in.woken = waiting.woken ? 1 : 0;
  in.storage_ack = waiting.storage_ack;
  in.applied = waiting.applied;
  if (waiting.configuration_index.value != 0) {
    in.configuration_input = consensus::ConfigurationInput::Applied;
    in.configuration_index = waiting.configuration_index;
    in.configuration = waiting.configuration;
  } else if (wishes.configuration) {
    in.configuration_input = consensus::ConfigurationInput::Proposed;
    in.configuration = *wishes.configuration;
  }
  while (!waiting.messages.empty() && taken.size() < consensus::kInboxMessages) {
    SimMessage& message = waiting.messages.front();
    if (message.header.kind == MessageKind::Snapshot) {
      if (in.configuration_input != consensus::ConfigurationInput::None) {
        break;  // One configuration per inbox: the snapshot waits for the next step.
      }
      in.configuration_input = consensus::ConfigurationInput::Installed;
      in.configuration = message.state.configuration;
    }
    in.message[taken.size()] = message.header;
    taken.push_back(std::move(message));
    waiting.messages.pop_front();
  }
  in.message_count = static_cast<std::uint32_t>(taken.size());
  in.proposal_count = static_cast<std::uint32_t>(wishes.values.size());
  in.transfer_to = wishes.transfer_to;
  in.read_sequence = wishes.read_sequence;
  in.read_proof = wishes.read_proof;
  in.compact_to = wishes.compact_to;
  auto messages = std::move(waiting.messages);
  waiting = Waiting{};
  waiting.messages = std::move(messages);
  return in;
}

const SimEntry& SimNode::entry(std::uint32_t shard, LogIndex index) const {
  const ShardLog& log = shards_[shard];
  GCOORD_ASSERT(index > log.base);
  GCOORD_ASSERT(index - log.base <= log.entries.size());
  return log.entries[index - log.base - 1];
}

std::uint64_t SimNode::chain_at(std::uint32_t shard, LogIndex index) const {
  return index == shards_[shard].base ? shards_[shard].base_chain : entry(shard, index).chain;
}

void SimNode::append(std::uint32_t shard, SimEntry entry) {
  ShardLog& log = shards_[shard];
  const LogIndex index = log.base + log.entries.size() + 1;
  entry.chain = next_chain(chain_at(shard, index - 1), entry);
  world_.checker.on_entry(shard, index, entry);
  log.entries.push_back(entry);
}

void SimNode::cut(std::uint32_t shard, LogIndex from) {
  ShardLog& log = shards_[shard];
  GCOORD_ASSERT(from > log.base);
  log.entries.resize(std::min<std::uint64_t>(log.entries.size(), from - log.base - 1));
}

void SimNode::install(std::uint32_t shard, const SimState& state) {
  ShardLog& log = shards_[shard];
  log.state = state;
  log.base = state.index;
  log.base_chain = state.chain;
  log.entries.clear();
  world_.checker.on_apply(shard, options_.id, state.index, state.chain);
  ++world_.counts.snapshots;
}

void SimNode::keep_entries(std::uint32_t shard,
                           const Outbox& out,
                           const std::vector<SimMessage>& taken,
                           const Wishes& wishes) {
  for (std::size_t k = 0; k < taken.size(); ++k) {
    if (out.snapshot_installed == k + 1) {
      install(shard, taken[k].state);
    }
    if (out.stored[k].value == 0) {
      continue;
    }
    cut(shard, out.stored[k]);
    for (std::uint64_t index = out.stored[k].value;
         index <= taken[k].header.index.value + taken[k].header.count;
         ++index) {
      append(shard, taken[k].entries[index - taken[k].header.index.value - 1]);
    }
  }
  const Term term = columns().hot[shard].term;
  if (out.configuration_index.value != 0) {
    append(
        shard,
        {.term = term, .configuration = *wishes.configuration, .kind = EntryKind::Configuration});
  }
  for (std::uint32_t k = 0; k < out.accepted.count; ++k) {
    append(shard, {.term = term, .value = wishes.values[k]});
  }
  if (out.own_entry.count != 0) {
    SimEntry own{.term = term, .kind = out.own_entry.kind};
    if (own.kind == EntryKind::Configuration) {
      own.configuration = consensus::leave_joint(columns().configuration[shard]);
    }
    append(shard, own);
  }
  GCOORD_ASSERT(shards_[shard].base + shards_[shard].entries.size() == columns().log[shard].last);
}

void SimNode::write(std::uint32_t shard, const Outbox& out, std::uint64_t quantum) {
  if (out.storage.present == 0) {
    return;
  }
  SimWrite write;
  write.shard = shard;
  write.due = quantum + random_.between(1, random_.chance(20'000) ? 200 : 6);
  write.request = out.storage;
  if (out.storage.snapshot != 0) {
    write.snapshot = shards_[shard].state;
  }
  for (LogIndex index = out.storage.first; index <= out.storage.last; ++index) {
    write.entries.push_back(entry(shard, index));
  }
  disk_.write(std::move(write));
}

void SimNode::send(std::uint32_t shard, const Outbox& out) {
  for (std::uint32_t k = 0; k < out.message_count; ++k) {
    SimMessage message{.header = out.message[k], .entries = {}, .state = {}};
    if (message.header.kind == MessageKind::Append) {
      for (std::uint32_t n = 1; n <= message.header.count; ++n) {
        message.entries.push_back(entry(shard, message.header.index + n));
        GCOORD_ASSERT(message.entries.back().term.value == message.header.entry_term);
      }
    } else if (message.header.kind == MessageKind::Snapshot) {
      message.state = shards_[shard].state;
      message.header.index = message.state.index;
      message.header.log_term = message.state.term;
    } else if (message.header.kind == MessageKind::VoteReply &&
               (message.header.flags & consensus::kFlagReject) == 0) {
      const Incarnation life = in_memory_mode(input_)
                                   ? options_.incarnation
                                   : incarnation_of(generation_of(options_.incarnation), 0);
      world_.checker.on_vote_sent(shard,
                                  {options_.id, life, message.header.term, message.header.to});
    }
    world_.network.send(options_.id, message.header.to, encode(message));
  }
}

void SimNode::apply_one(std::uint32_t shard, LogIndex index) {
  SimState& state = shards_[shard].state;
  const SimEntry& applied = entry(shard, index);
  state.index = index;
  state.term = applied.term;
  state.chain = applied.chain;
  if (applied.kind == EntryKind::Configuration) {
    state.configuration = applied.configuration;
  }
  world_.checker.on_apply(shard, options_.id, index, applied.chain);
}

// A configuration ends the batch: it is handed to the step with the acknowledgement.
void SimNode::apply(std::uint32_t shard, const consensus::ApplyRequest& request) {
  if (request.first.value == 0) {
    return;
  }
  Waiting& waiting = waiting_[shard];
  for (LogIndex index = request.first; index <= request.last; ++index) {
    apply_one(shard, index);
    waiting.applied = index;
    if (entry(shard, index).kind == EntryKind::Configuration) {
      waiting.configuration_index = index;
      waiting.configuration = shards_[shard].state.configuration;
      break;
    }
  }
}

void SimNode::judge(std::uint32_t shard, const Outbox& out, Role before) {
  const consensus::Hot& hot = columns().hot[shard];
  const consensus::Log& log = columns().log[shard];
  world_.checker.on_commit(shard, log.commit, hot.term);
  world_.counts.mute_steps +=
      hot.role == Role::Leader && consensus::last_term(log, columns().runs[shard]) != hot.term ? 1
                                                                                               : 0;
  if (hot.role == Role::Leader && before != Role::Leader) {
    const SimChecker::RaftLeader leader{hot.term, options_.id};
    const LogIndex owed = world_.checker.on_elected(shard, leader, log.last);
    for (LogIndex index = shards_[shard].base + 1; index <= min_id(owed, log.last); ++index) {
      world_.checker.on_leader_entry(shard, leader, index, chain_at(shard, index));
    }
  }
  if (out.read == consensus::ReadVerdict::Ready && out.read_sequence == reads_[shard].sequence) {
    const bool by_round = reads_[shard].proof == consensus::ReadProof::Round;
    world_.counts.quorum_reads += by_round ? 1 : 0;
    if (by_round || world_.options.leases_judged) {
      world_.checker.on_read(shard,
                             {.node = options_.id,
                              .round = out.read_sequence,
                              .index = out.read_index,
                              .owed = reads_[shard].committed_then});
    }
  }
}

void SimNode::read(std::uint32_t shard) {
  const auto proof =
      next_read_ % 2 == 0 ? consensus::ReadProof::Round : consensus::ReadProof::LeaseOrRound;
  reads_[shard] = {
      .sequence = next_read_, .committed_then = world_.checker.committed(shard), .proof = proof};
  wishes_[shard].read_proof = proof;
  wishes_[shard].read_sequence = next_read_++;
}

void SimNode::checkpoint(std::uint32_t shard) {
  ShardLog& log = shards_[shard];
  if (log.state.index <= disk_.durable(shard).checkpoint.index ||
      columns().storage[shard].request_pending != 0) {
    return;
  }
  const LogIndex to = min_id(log.state.index, columns().log[shard].applied);
  if (to <= log.base || to != log.state.index) {
    return;
  }
  disk_.checkpoint(shard, log.state);
  wishes_[shard].compact_to = to;
  log.base_chain = log.state.chain;
  log.entries.erase(log.entries.begin(),
                    log.entries.begin() + static_cast<std::ptrdiff_t>(to - log.base));
  log.base = to;
  ++world_.counts.checkpoints;
}

bool SimNode::holds_lease(std::uint32_t shard, std::uint64_t quantum) const {
  consensus::StepInput now = input_;
  now.tick = clock(quantum);
  return consensus::lease_expires(consensus::ShardRef(stepper_->columns(), shard), now) > now.tick;
}

}  // namespace gcoord::chaos
