// What a step asked for, carried out in the order of consensus/outbox.h.
#include "common/assert.h"
#include "consensus/log_runs.h"
#include "server/engine_core.h"
#include "server/shard_codec.h"

#include <algorithm>
#include <string>
#include <utility>

namespace gcoord::server {

using consensus::EntryKind;
using consensus::Outbox;
using consensus::Role;

void ReplicaEngine::Core::carry_out(std::size_t k) {
  const std::uint32_t row = batch_rows_[k];
  const Outbox& out = out_[k];
  Place& place = places_[k];
  on_leadership_ended(row, place.before);
  if (out.snapshot_installed != 0) {
    install_snapshot(row, place);
  }
  place.snapshot.reset();
  for (std::uint32_t m = 0; m < in_[k].message_count; ++m) {
    if (out.stored[m].value != 0) {
      store_entries(in_[k].message[m], place, m, out.stored[m]);
    }
  }
  store_proposed(row, place, out);
  settle_proposals(row, in_[k].proposal_count, out);
  store_own_entry(row, out.own_entry);
  if (!failure_.ok()) {
    return;
  }
  persist(row, out.storage);
  for (std::uint32_t m = 0; m < out.message_count; ++m) {
    send(row, out.message[m]);
  }
  if (out.apply.first.value != 0 && out.apply.first <= out.apply.last) {
    applies_.push_back({row, out.apply.first, out.apply.last});
  }
  settle_read(row, out);
  announce(row, place.before, out.cause);
  readmission_.note(row);

  const consensus::ShardRef shard = ref(row);
  deadlines_.lower(row, shard.hot().deadline);
  if (shard.log().floor != place.before.log.floor) {
    log_.compact(shard.shard(), shard.log().floor);
  }
  if (out.dropped != 0) {
    metrics_.dropped(EngineDrop::Implausible).add(out.dropped);
  }
  const RowWork& work = *rows_.find(row);
  if (work.message_first != 0 && !work.held) {
    rows_.put_back(row);
  } else if (out.again != 0 && (shard.hot().flags & consensus::kRowStalled) != 0) {
    stalled_.push_back(row);
  } else if (out.again != 0) {
    rows_.touch(row);
  }
  rows_.release_if_idle(row);
}

void ReplicaEngine::Core::install_snapshot(std::uint32_t row, Place& place) {
  GCOORD_ASSERT(place.snapshot != nullptr);
  // What was to be applied in this turn is part of the snapshot.
  std::erase_if(applies_, [row](const Apply& range) { return range.row == row; });
  log_.clear(ShardId{row});
  const auto snapshot = decode_snapshot(place.snapshot->bytes);
  const Status status = service_.install(ShardId{row}, snapshot->service);
  if (!status.ok()) {
    fail(Status{StatusCode::DataLoss,
                "shard " + std::to_string(row) + " got a snapshot that its service refuses: " +
                    status.message() + "; bring all nodes to one release",
                kCheckpointImpossible});
    return;
  }
  checkpointing_->mark(ShardId{row});
  metrics_.snapshots_installed.add();
  if (RowWork* work = rows_.find(row); work->reads) {
    answer_reads(work->reads->take_applied(ref(row).log().applied));
  }
}

// Keeps the entries of message k from index `first` on.
void ReplicaEngine::Core::store_entries(const consensus::Message& message,
                                        const Place& place,
                                        std::uint32_t k,
                                        LogIndex first) {
  EntryReader reader(rows_.extent(rows_.message(place.message_number[k])));
  for (LogIndex index = message.index + 1; index <= message.index + message.count; ++index) {
    const auto entry = reader.next();
    GCOORD_ASSERT(entry.has_value());
    if (index < first) {
      continue;
    }
    const bool noop = entry->kind == EntryKind::Noop;
    log_.put(message.shard, index, noop ? nullptr : pool_.make(entry->kind, entry->payload));
  }
}

// `asked` proposals were offered to the step; more may have come since and wait.
void ReplicaEngine::Core::settle_proposals(std::uint32_t row,
                                           std::uint32_t asked,
                                           const Outbox& out) {
  for (std::uint32_t k = 0; k < asked; ++k) {
    RowWork& work = *rows_.find(row);
    EntryBlock* block = work.proposal_first;
    work.proposal_first = block->next;
    --work.proposal_count;
    if (k < out.accepted.count) {
      log_.put(ShardId{row}, out.accepted.first + k, block);
      continue;
    }
    const std::uint64_t cookie = block->cookie;
    pool_.release(block);
    fail_proposal(row, cookie, out.proposal);
  }
}

void ReplicaEngine::Core::store_proposed(std::uint32_t row, Place& place, const Outbox& out) {
  if (out.configuration_index.value != 0) {
    log_.put(ShardId{row},
             out.configuration_index,
             pool_.make(EntryKind::Configuration, encode_configuration(*place.proposed)));
  }
  place.proposed.reset();
}

void ReplicaEngine::Core::store_own_entry(std::uint32_t row, const consensus::Appended& own) {
  if (own.count == 0) {
    return;
  }
  GCOORD_ASSERT(own.count == 1);
  if (own.kind == EntryKind::Noop) {
    log_.put(ShardId{row}, own.first, nullptr);
    return;
  }
  const consensus::Configuration left = leave_joint(ref(row).configuration());
  log_.put(
      ShardId{row}, own.first, pool_.make(EntryKind::Configuration, encode_configuration(left)));
}

void ReplicaEngine::Core::persist(std::uint32_t row, const consensus::StorageRequest& request) {
  if (request.present == 0) {
    return;
  }
  const consensus::ShardRef shard = ref(row);
  ledger::WalBatch& batch = disk_->batch();
  if (request.snapshot != 0) {
    persist_snapshot(row);
  }
  const bool known =
      shard.storage().durable_term == request.term && shard.storage().durable_vote == request.vote;
  if (!known) {
    batch.hard_state(shard.shard(), request.term, request.vote);
  }
  if (request.first > request.last) {
    if (request.snapshot == 0) {
      batch.truncate(shard.shard(), request.first);
    }
  } else {
    const auto entry_count = static_cast<std::uint32_t>(request.last - request.first + 1);
    batch.begin_entries(shard.shard(), request.first, entry_count);
    for (LogIndex index = request.first; index <= request.last; ++index) {
      const EntryBlock* block = log_.find(shard.shard(), index);
      const auto kind = block == nullptr ? EntryKind::Noop : block->kind;
      batch.entry(consensus::term_at(shard.log(), shard.runs(), index),
                  static_cast<std::uint8_t>(kind),
                  block == nullptr ? std::span<const std::byte>{} : block->payload());
    }
  }
  if (request.commit.value != 0) {
    batch.commit(shard.shard(), request.commit);
  }
  disk_->expect_ack(row, request.term, request.vote, now());
  checkpointing_->mark(shard.shard());
}

// The service still is what was installed: nothing is applied before the snapshot is durable.
void ReplicaEngine::Core::persist_snapshot(std::uint32_t row) {
  const consensus::Log& log = ref(row).log();
  GCOORD_ASSERT(log.applied == log.floor);
  encode_snapshot_head(snapshot_bytes_, ref(row).configuration());
  service_.serialize(ShardId{row}, snapshot_bytes_);
  disk_->batch().snapshot_installed(ShardId{row}, log.floor, log.floor_term, snapshot_bytes_);
}

void ReplicaEngine::Core::send(std::uint32_t row, const consensus::Message& message) {
  if (message.kind == consensus::MessageKind::Snapshot) {
    send_snapshot(row, message);
  } else {
    outflow_.add(message, ref(row).log().floor);
  }
}

// The service's state is that of the applied index: what this step wants applied waits for the
// turn's end.
void ReplicaEngine::Core::send_snapshot(std::uint32_t row, consensus::Message message) {
  if (!sender_.wants(message, *network_)) {
    return;
  }
  const consensus::ShardRef shard = ref(row);
  message.index = shard.log().applied;
  message.log_term = consensus::term_at(shard.log(), shard.runs(), message.index);
  std::vector<std::byte> bytes;
  encode_snapshot_head(bytes, shard.configuration());
  service_.serialize(shard.shard(), bytes);
  metrics_.messages_out[static_cast<std::size_t>(message.kind)]->add();
  sender_.start(message, std::move(bytes), *network_);
}

// Proposals of a leadership that is over: whether they become decided is not known here.
void ReplicaEngine::Core::on_leadership_ended(std::uint32_t row, const Before& before) {
  const consensus::Hot& hot = ref(row).hot();
  const bool led = before.hot.role == Role::Leader;
  if (!led || (hot.role == Role::Leader && hot.term == before.hot.term)) {
    return;
  }
  const ShardId shard{row};
  for (LogIndex index = before.log.applied + 1; index <= before.log.last; ++index) {
    EntryBlock* block = log_.find(shard, index);
    if (block == nullptr || block->cookie == 0) {
      continue;
    }
    metrics_.proposals_failed.add();
    service_.on_proposal_failed(std::exchange(block->cookie, std::uint64_t{0}),
                                Status{StatusCode::Unknown,
                                       "leadership ended before the request was decided",
                                       kLeadershipLost},
                                hot.leader);
  }
}

void ReplicaEngine::Core::announce(std::uint32_t row,
                                   const Before& before,
                                   consensus::Cause cause) {
  const consensus::Hot& hot = ref(row).hot();
  const consensus::Log& log = ref(row).log();
  const bool leads = hot.role == Role::Leader;
  const bool led = before.hot.role == Role::Leader;
  if (leads != led) {
    leader_count_ += leads ? 1u : ~0u;
    (leads ? metrics_.elections : metrics_.leaderships_lost).add();
  }
  const bool turned =
      hot.role != before.hot.role || hot.term != before.hot.term || hot.leader != before.hot.leader;
  if (turned) {
    service_.on_role(ShardId{row}, hot.role, hot.term, hot.leader);
  }
  const bool moved = turned || hot.vote != before.hot.vote || log.commit != before.log.commit;
  if (moved && options_.trace) {
    options_.trace({.node = options_.node,
                    .shard = ShardId{row},
                    .tick = now(),
                    .term = hot.term,
                    .vote = hot.vote,
                    .leader = hot.leader,
                    .role = hot.role,
                    .cause = cause,
                    .last = log.last,
                    .commit = log.commit,
                    .applied = log.applied,
                    .durable = ref(row).storage().durable,
                    .state_hash = service_.state_hash(ShardId{row})});
  }
}

}  // namespace gcoord::server
