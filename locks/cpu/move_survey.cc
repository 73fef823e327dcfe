#include "locks/cpu/move_survey.h"

#include "locks/cpu/lock_cpu.h"
#include "locks/snapshot/snapshot.h"

#include <algorithm>
#include <cstring>

namespace gcoord::locks {
namespace {

// Most shards know of no move, which their version says.
bool may_know_moves(std::span<const std::byte> state) {
  std::uint32_t magic = 0;
  std::uint16_t version = 0;
  if (state.size() < sizeof magic + sizeof version) {
    return false;
  }
  std::memcpy(&magic, state.data(), sizeof magic);
  std::memcpy(&version, &state[sizeof magic], sizeof version);
  return magic == kLockSnapshotMagic && version >= kLockSnapshotVersionMoves;
}

}  // namespace

Status MoveSurvey::take(ShardId shard, std::span<const std::byte> state) {
  if (!may_know_moves(state)) {
    return {};
  }
  GCOORD_TRY(const LockSnapshot snapshot, parse_snapshot(state));
  for (const LockSnapshot::Lock& lock : snapshot.locks) {
    if (lock.residence == Residence::Native || lock.hold == SnapshotHold::Broken ||
        lock.hold == SnapshotHold::Share) {
      continue;
    }
    Name& name = names_[{lock.name_hash.high, lock.name_hash.low}];
    name.hash = lock.name_hash;
    name.text = lock.name;
    name.records.push_back({.shard = shard,
                            .residence = lock.residence,
                            .number = lock.move_number,
                            .to = lock.away_to,
                            .sends = !lock.exported.empty()});
  }
  return {};
}

void MoveSurvey::conclude() {
  for (const auto& [key, name] : names_) {
    const std::uint64_t before = fix_count_;
    settle(name);
    settled_ += fix_count_ != before ? 1 : 0;
  }
}

std::span<const MoveFix> MoveSurvey::fixes(ShardId shard) const {
  const auto found = fixes_.find(shard.value);
  return found == fixes_.end() ? std::span<const MoveFix>{} : std::span{found->second};
}

// What names a shard that is none, or leads nowhere, is of no state that a node gave.
void MoveSurvey::fix(const Name& name, ShardId shard, MoveFix fix) {
  const bool leads = fix.kind != MoveFix::Kind::Away || (fix.to != shard && known(fix.to));
  if (!known(shard) || !leads) {
    return;
  }
  fix.name_hash = name.hash;
  fix.name = name.text;
  fixes_[shard.value].push_back(std::move(fix));
  ++fix_count_;
}

void MoveSurvey::settle(const Name& name) {
  // Where two know of the same move, the lock has arrived.
  const Record& newest = *std::ranges::max_element(name.records, {}, [](const Record& each) {
    return std::pair(each.number, each.residence == Residence::Here);
  });
  const bool here = newest.residence == Residence::Here;
  const ShardId place = here ? newest.shard : newest.to;
  const ShardId home = shard_of(name.hash, shard_count_);
  bool home_knows = false;
  for (const Record& each : name.records) {
    home_knows = home_knows || each.shard == home;
    if (&each != &newest && each.shard != place) {
      settle_other(name, each, {.number = newest.number, .place = place, .home = home});
    }
  }
  if (!home_knows && home != place) {
    fix(name, home, {.kind = MoveFix::Kind::Away, .number = newest.number, .to = place});
  }
  if (!here) {
    settle_target(name, newest, home);
  }
}

// Of a shard that the lock has left, as far as the newest move says.
void MoveSurvey::settle_other(const Name& name, const Record& old, const Truth& truth) {
  const bool behind = old.number < truth.number;
  const bool here = old.residence == Residence::Here;
  if (old.shard == truth.home && (here || behind)) {
    fix(name, old.shard, {.kind = MoveFix::Kind::Away, .number = truth.number, .to = truth.place});
  } else if (here) {
    fix(name, old.shard, {.kind = MoveFix::Kind::Away, .number = old.number + 1, .to = truth.home});
  } else if (old.sends && behind) {
    fix(name, old.shard, {.kind = MoveFix::Kind::Strip, .number = old.number});
  }
}

// Of the shard to which the newest move leads, and which does not know of it.
void MoveSurvey::settle_target(const Name& name, const Record& newest, ShardId home) {
  const auto found = std::ranges::find(name.records, newest.to, &Record::shard);
  const bool knows = found != name.records.end();
  const bool here = knows && found->residence == Residence::Here;
  const bool may_have = here || (!knows && newest.to == home);
  if (!newest.sends) {
    lost_ += may_have ? 0 : 1;
    return fix(name, newest.to, {.kind = MoveFix::Kind::Here, .number = newest.number});
  }
  if (may_have) {
    // It takes the lock only where it has let go of it.
    const std::uint32_t before = std::max<std::uint32_t>(newest.number - 1, 1);
    fix(name, newest.to, {.kind = MoveFix::Kind::Away, .number = before, .to = newest.shard});
  } else if (knows && found->sends) {
    fix(name, newest.to, {.kind = MoveFix::Kind::Strip, .number = found->number});
  }
}

Result<std::vector<std::byte>> settled_state(std::span<const std::byte> state,
                                             std::span<const MoveFix> fixes) {
  if (fixes.empty()) {
    return std::vector<std::byte>(state.begin(), state.end());
  }
  constexpr ShardId kOnly{0};
  LockCpu locks(LockOptions{.rows_initial = 64});
  if (!state.empty()) {
    GCOORD_TRY_STATUS(locks.deserialize(kOnly, state, Tick{1}));
  }
  for (const MoveFix& fix : fixes) {
    locks.settle_move(kOnly, fix);
  }
  return locks.serialize(kOnly);
}

}  // namespace gcoord::locks
