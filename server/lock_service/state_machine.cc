#include "server/lock_service/state_machine.h"

#include "locks/snapshot/snapshot.h"
#include "server/interfaces/lock_command.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {

using locks::LockCode;

LockStateMachine::LockStateMachine(std::uint32_t shard_count, const Environment& environment)
    : env_(environment),
      machine_(environment.parts.groups.machine()),
      events_(locks::kLockEventsPerCommandMax) {
  applied_.resize(shard_count);
  if (machine_.locks().clock().only() == nullptr) {
    hashes_.resize(shard_count);
  }
}

void LockStateMachine::set_tap(ApplyObserver* tap) {
  tap_ = tap;
  if (tap != nullptr) {
    tap->set_listener(observed_);
  }
}

void LockStateMachine::on_observed(std::function<void(bool)> listener) {
  observed_ = std::move(listener);
  set_tap(tap_);
}

void LockStateMachine::apply(const AppliedEntry& entry) {
  applied_[entry.shard.value] = entry.index.value;
  const auto header = decode_record_header(entry.payload);
  const bool is_command = entry.kind == consensus::EntryKind::Command && header.has_value() &&
                          header->kind == RecordKind::LockCommand;
  if (!is_command) {
    GCOORD_ASSERT(entry.cookie == 0);
    return;
  }
  locks::LockEvents events{events_.data(), static_cast<std::uint32_t>(events_.size()), 0};
  const locks::LockReply decision = decide(entry, events);
  note_hash(entry);
  if (entry.outcome == nullptr) {  // Else LockService::on_tick() says it, for many at once.
    const locks::LockCounts counts = machine_.locks().counts();
    env_.metrics.sessions->set(static_cast<std::int64_t>(counts.sessions));
    env_.metrics.locks->set(static_cast<std::int64_t>(counts.locks));
  }
  note_effects(entry, decision.code);
  if (entry.cookie != 0) {
    env_.commands.on_decided(entry, decision);
  }
  if (events.count > 0) {
    env_.outcomes.on_events(entry, events);
  }
  // Those of another machine's last command are none of an entry that the tables had before.
  if (entry.outcome == nullptr && machine_.effects().any) {
    note_groups();
    env_.metrics.group_views->add(machine_.effects().changed.size());
    env_.parts.groups.on_effects(machine_.effects());
    env_.parts.rendezvous.on_effects(machine_.effects());
  }
}

// What the tables had before, nobody observes: whoever began to since then begins behind it.
locks::LockReply LockStateMachine::decide(const AppliedEntry& entry, locks::LockEvents& events) {
  if (entry.outcome != nullptr) {
    const AppliedOutcome& outcome = *entry.outcome;
    std::ranges::copy(outcome.events, events_.begin());
    events.count = static_cast<std::uint32_t>(outcome.events.size());
    return outcome.reply;
  }
  const locks::LockCommand command =
      lock_command_of(entry).value_or(locks::LockCommand{.kind = locks::LockCommandKind::Unknown});
  locks::LockReply reply =
      tap_ == nullptr || !tap_->on()
          ? machine_.locks().apply(entry.shard, entry.index, command, env_.clock.now, events)
          : apply_tapped(*tap_,
                         machine_.locks(),
                         {entry.shard, entry.index, env_.clock.now},
                         command,
                         events);
  machine_.apply(entry.shard, command, reply);
  return reply;
}

LogIndex LockStateMachine::applied(ShardId shard) const {
  return max_id(LogIndex{applied_[shard.value]}, machine_.locks().view(shard).applied(shard));
}

void LockStateMachine::note_hash(const AppliedEntry& entry) {
  if (hashes_.size() != 0) {
    hashes_[entry.shard.value] = entry.outcome != nullptr
                                     ? entry.outcome->state_hash
                                     : machine_.locks().state_hash(entry.shard);
  }
}

void LockStateMachine::note_groups() {
  const membership::GroupUsage groups = machine_.groups().usage();
  const membership::RendezvousUsage& rendezvous = machine_.rendezvous().usage();
  env_.metrics.groups->set(groups.groups);
  env_.metrics.group_participants->set(groups.participants);
  env_.metrics.rendezvous->set(rendezvous.rendezvous);
  env_.metrics.rendezvous_sessions->set(rendezvous.waiting + rendezvous.members);
}

// What this node keeps beside the tables.
void LockStateMachine::note_effects(const AppliedEntry& entry, LockCode code) {
  if (code == LockCode::SessionClosed) {
    if (const auto command = lock_command_of(entry)) {
      env_.admission.note_closed(command->session);
    }
  }
  if (code == LockCode::MovedOut && env_.leaders.leads(entry.shard)) {
    env_.moves.on_departed(entry.shard);
  }
  if (code == LockCode::MovedIn && entry.cookie == 0 && env_.leaders.leads(entry.shard)) {
    env_.moves.on_arrived(entry.shard);
  }
}

void LockStateMachine::serialize(ShardId shard, std::vector<std::byte>& bytes) const {
  machine_.serialize(shard, bytes);
  const std::vector<std::byte> state = machine_.locks().serialize(shard);
  bytes.insert(bytes.end(), state.begin(), state.end());
}

Status LockStateMachine::install(ShardId shard, std::span<const std::byte> bytes) {
  if (tap_ != nullptr && tap_->on()) {
    tap_->on_installed(shard);
  }
  applied_[shard.value] = 0;
  env_.outcomes.end_waits_before_install(shard);
  if (env_.parts.groups.wait_count() != 0) {
    env_.parts.groups.end_waits(shard, env_.leaders.leader(shard));
  }
  if (env_.parts.rendezvous.wait_count() != 0) {
    env_.parts.rendezvous.end_waits(shard, env_.leaders.leader(shard));
  }
  std::span<const std::byte> locks;
  GCOORD_TRY_STATUS(machine_.install(shard, bytes, locks));
  env_.parts.rendezvous.on_installed(shard);
  note_groups();
  const Status status = install_locks(shard, locks);
  note_hash({.shard = shard});
  return status;
}

Status LockStateMachine::install_locks(ShardId shard, std::span<const std::byte> locks) {
  if (locks.empty()) {
    machine_.locks().drop(shard);
    return Status{};
  }
  return machine_.locks().deserialize(shard, locks, env_.clock.now);
}

bool LockStateMachine::plausible(std::span<const std::byte> bytes) {
  std::span<const std::byte> locks;
  return GroupMachine::plausible(bytes, locks) &&
         (locks.empty() || locks::parse_snapshot(locks).ok());
}

std::uint64_t LockStateMachine::state_hash(ShardId shard) const {
  if (hashes_.size() == 0) {
    return machine_.state_hash(shard);
  }
  const locks::LockView held = machine_.locks().view(shard);
  return machine_.state_hash(shard) ^ machine_.locks().state_hash(shard) ^ hashes_[shard.value];
}

}  // namespace gcoord::server
