// Survey of moved names across the states of many shards, with the corrections that make them
// consistent.
//
// The states of a snapshot are of different indexes of their logs, so one that is taken while locks
// move may have a lock in two shards, or what was to be sent of it in one that is behind. The
// numbers of moves (lock_residence.h) tell which shard knows most: what it says is the truth, and
// the others are brought to where it leaves them. So after the fixes each lock is in one shard, or
// on its way to one that takes it, and the home of its name knows where.
//
//   the newest is   Here in X     the home says X; nobody else has the lock or sends it
//                   Away to X     and still to be sent: X takes it, and nobody else has it
//                                 and arrived, but X is from before that: X has the lock as it was
//                                 there last, or free where it was not; then the hold is lost()
//
// Depends on the states alone, so all nodes that restore alike come to the same. Host only. One
// thread.
#pragma once

#include "common/ids.h"
#include "common/name_hash.h"
#include "common/status.h"
#include "locks/state/extra.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::locks {

struct MoveFix {
  enum class Kind : std::uint8_t {
    Away,   // The lock is not here; whoever has it or waits for it here was moved with it.
    Here,   // It is here, held as it is; by nobody where it was away, or not known.
    Strip,  // What was to be sent of it has arrived long ago.
  };
  Kind kind{};
  NameHash name_hash;
  std::string name;
  std::uint32_t number = 0;  // Of the newest move that the shard then knows of.
  ShardId to;                // Of Away.
};

class MoveSurvey {
 public:
  explicit MoveSurvey(std::uint32_t shard_count) : shard_count_(shard_count) {}

  // Each shard once. DataLoss for a state that says of moves what none would.
  Status take(ShardId shard, std::span<const std::byte> state);

  // When all were taken.
  void conclude();

  // Of the shard; after conclude().
  std::span<const MoveFix> fixes(ShardId shard) const;

  // Names that were moved; those with fixes; those of them whose newest holder no shard knows.
  std::uint64_t names() const { return names_.size(); }

  std::uint64_t settled() const { return settled_; }

  std::uint64_t lost() const { return lost_; }

 private:
  struct Record {
    ShardId shard;
    Residence residence = Residence::Native;
    std::uint32_t number = 0;
    ShardId to;
    bool sends = false;
  };

  struct Name {
    NameHash hash;
    std::string text;
    std::vector<Record> records;  // At most one of a shard.
  };

  // Of the newest move of a name.
  struct Truth {
    std::uint32_t number = 0;
    ShardId place;
    ShardId home;
  };

  bool known(ShardId shard) const { return shard.value < shard_count_; }

  void settle(const Name& name);
  void settle_other(const Name& name, const Record& old, const Truth& truth);
  void settle_target(const Name& name, const Record& newest, ShardId home);
  void fix(const Name& name, ShardId shard, MoveFix fix);

  std::uint32_t shard_count_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Name> names_;
  std::map<std::uint32_t, std::vector<MoveFix>> fixes_;  // By shard.
  std::uint64_t fix_count_ = 0;
  std::uint64_t settled_ = 0;
  std::uint64_t lost_ = 0;
};

// The state with the fixes made. DataLoss for what is no state; empty bytes are the initial one.
Result<std::vector<std::byte>> settled_state(std::span<const std::byte> state,
                                             std::span<const MoveFix> fixes);

}  // namespace gcoord::locks
