#include "server/resident/copy/follower.h"

#include "server/resident/node/lock_turn_service.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {
namespace {

using locks::LockCommandKind;

// Whose doings nobody but the tables keeps: no group leaves with them, no session ends, no lock
// moves, and no other machine of the shard asks the tables what became of them.
bool is_of_tables_alone(LockCommandKind kind) {
  return kind == LockCommandKind::Acquire || kind == LockCommandKind::Release ||
         kind == LockCommandKind::CancelWait || kind == LockCommandKind::RegisterSession;
}

void add(std::atomic<std::uint64_t>& count) {
  count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

Follower::Follower(const Environment& environment, const Lanes& lanes)
    : env_(environment), first_(lanes.first), room_(locks::kLockEventsPerCommandMax) {
  const std::uint32_t shard_count = environment.node.options().shape.shard_count;
  for (std::uint32_t k = 0; k < lanes.count; ++k) {
    lanes_.push_back(std::make_unique<Lane>(lanes.ring_events));
  }
  applied_.resize(shard_count);
  left_until_.resize(shard_count);
  left_for_good_.resize(shard_count);
}

void Follower::begin(ShardId shard, LogIndex applied, const CommandReassembler::Pieces& pieces) {
  applied_[shard.value] = applied.value;
  commands_.put(shard, pieces);
}

std::uint32_t Follower::follow(std::uint32_t lane, std::uint32_t most) {
  Lane& own = *lanes_[lane - first_];
  if (still_.load(std::memory_order_relaxed) || failed()) {
    return 0;
  }
  std::uint32_t done = 0;
  for (; done < most && !failed(); ++done) {
    CopyEvent* const event = own.ring.reserve();
    if (event == nullptr) {
      full_.store(full_.load(std::memory_order_relaxed) + (own.full ? 0 : 1),
                  std::memory_order_relaxed);
      own.full = true;
      break;
    }
    own.full = false;
    const HostEventSlot* const told = env_.node.pull(lane);
    if (told == nullptr) {
      break;
    }
    if (const char* const fault = env_.shape.fault_of(lane, *told); fault != nullptr) {
      fail(impossible_event(lane, *told, fault));
      break;
    }
    event->told = *told;
    take(own, *event);
    if (!failed()) {
      own.ring.publish();
    }
  }
  if (!failed() && env_.node.lane(lane).is_broken()) {
    fail(lane_broken(lane));
  }
  if (done != 0) {
    const std::uint64_t ahead = own.ring.size();
    ahead_most_.store(std::max(ahead_most_.load(std::memory_order_relaxed), ahead),
                      std::memory_order_relaxed);
  }
  return done;
}

void Follower::take(Lane& lane, CopyEvent& event) {
  event.deed = CopyDeed::Passed;
  event.read = false;
  const TurnReply& reply = event.told.reply;
  switch (reply.verdict) {
    case TurnVerdict::Committed:
    case TurnVerdict::Told:
      return take_entry(lane, event);
    case TurnVerdict::Installed:
      event.pieces = commands_.pieces(reply.shard);
      commands_.forget(reply.shard);
      left_for_good_[reply.shard.value] = 1;
      return;
    default:
      return;
  }
}

// What was not popped yet may be the loop's to apply in this shard.
void Follower::take_entry(Lane& lane, CopyEvent& event) {
  const ShardId shard = event.told.reply.shard;
  const LogIndex index = event.told.reply.index;
  if (left_for_good_[shard.value] != 0) {
    event.deed = CopyDeed::Left;
    return;
  }
  std::uint64_t& applied = applied_[shard.value];
  if (applied != 0 && index.value != applied + 1) {
    return fail(out_of_order());
  }
  applied = index.value;
  read(event);
  if (LockTurnService::is_noop(event.told.entry)) {
    return;  // Which changes nothing; and with others it says no hash.
  }
  const bool waits = !lane.ring.has_popped(left_until_[shard.value]) ||
                     leaves_all_.load(std::memory_order_relaxed);
  const bool nothing =
      event.kind == ReassembledKind::Nothing || event.kind == ReassembledKind::Barrier;
  const bool applies = event.kind == ReassembledKind::Command && event.known &&
                       is_of_tables_alone(event.command.kind);
  if (waits || !(nothing || applies)) {
    return leave(lane, event);
  }
  apply(event);
}

void Follower::leave(Lane& lane, CopyEvent& event) {
  event.deed = CopyDeed::Left;
  left_until_[event.told.reply.shard.value] = lane.ring.pushed() + 1;
}

// What the entry is, with texts of its own.
void Follower::read(CopyEvent& event) {
  event.read = true;
  event.kind = commands_.take(event.told.reply.shard, event.told.reply.index, event.told.entry);
  const locks::LockCommand* const command = commands_.command();
  event.known = command != nullptr;
  event.encoded.clear();
  if (event.known) {
    event.command = *command;
    const bool named = command->name != nullptr && command->name_bytes != 0;
    event.name.assign(named ? command->name : "", named ? command->name_bytes : 0);
    event.command.name = event.name.data();
  } else {
    commands_.append_to(event.encoded);
  }
}

// Nobody sees the state before it was compared, but after the failure.
void Follower::apply(CopyEvent& event) {
  const ShardId shard = event.told.reply.shard;
  const locks::LockView held = env_.tables.view(shard);
  if (event.kind == ReassembledKind::Command) {
    locks::LockEvents events{room_.data(), static_cast<std::uint32_t>(room_.size()), 0};
    event.reply = env_.tables.apply(shard,
                                    event.told.reply.index,
                                    event.command,
                                    Tick{now_.load(std::memory_order_relaxed)},
                                    events);
    event.events.assign(room_.begin(), room_.begin() + events.count);
    event.deed = CopyDeed::Applied;
    add(applied_count_);
  }
  const std::uint64_t own = held.tables().shard(shard).state_hash;
  if (own != event.told.reply.result.word[0]) {
    fail(state_difference(event.told, own));
  }
}

void Follower::fail(Status status) {
  failure_ = std::move(status);
  failed_.store(true, std::memory_order_release);
}

Follower::Counts Follower::counts() const {
  Counts counts{.ahead = 0,
                .ahead_most = ahead_most_.load(std::memory_order_relaxed),
                .full = full_.load(std::memory_order_relaxed),
                .applied = applied_count_.load(std::memory_order_relaxed)};
  for (const auto& lane : lanes_) {
    counts.ahead += lane->ring.size();
  }
  return counts;
}

}  // namespace gcoord::server
