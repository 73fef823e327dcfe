// Lets members of a group whose sessions run out one shortly after the other end together: one
// entry of the log, so one view of the group (docs/adr/0152).
//
// Processes that die at once were last heard at different moments, up to a third of a TTL apart,
// because each renews in a rhythm of its own. At the first one's deadline the others have been
// silent for longer than a renewal takes to come, so the leader doubts them: the end of the first
// one waits until the last doubted one has run out as well. That is no later than the TTL after the
// common death. Without a doubted member nothing waits, and who is heard again is not waited for.
//
// What neither waits nor is waited for: a registration that holds a lock or waits for one in the
// group's shard, one whose end is in the log already; and nothing waits that is in no group or
// whose window is over. Nothing ends early by it, because a wait only puts a deadline off:
// keep-alives renew the session meanwhile, and a majority is asked afterwards as without it. One
// thread.
#pragma once

#include "common/host/metrics.h"
#include "common/ids.h"
#include "locks/cpu/lock_cpu.h"

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

namespace gcoord::server {

// Beyond the last deadline, so that other nodes, who may have heard the last keep-alives a little
// later than this one, agree to all ends in one round of answers: a twentieth of the TTL, at most
// this long. The worst stop of a loop that is not counted as a gap is as long.
inline constexpr std::uint64_t kGatherSettleMsMax = 250;

// How often a wait looks whether a doubted session was heard again.
inline constexpr std::uint64_t kGatherRecheckMs = 50;

// Members that are looked at in one tick for all groups together, and groups of one session that
// are: a look costs some 100 ns, and the loop's thread has others to serve. What is left out is
// looked at later, within its window, and those that were looked at come again later meanwhile.
inline constexpr std::size_t kGatherLooksPerTick = 2048;
inline constexpr std::size_t kGatherGroupsMax = 8;

// A member that has been silent for half of its TTL or longer: it should have renewed after a
// third.
struct DoubtedMember {
  std::uint64_t ttl_ticks = 0;
  // Silence after which its end may be asked about; at least the TTL.
  std::uint64_t needed_ticks = 0;
  std::uint64_t silent_ticks = 0;
};

// In how many ticks the members that run out in one window end; 0: now. The window opens when the
// first of them is due and is a third of its TTL and the settling time long. `settle_ticks_max` is
// kGatherSettleMsMax. Pure.
std::uint64_t gather_ticks(std::span<const DoubtedMember> doubted, std::uint64_t settle_ticks_max);

class GatheredEnds {
 public:
  // The groups of a shard, by numbers that no two groups of the node share at one time.
  struct Groups {
    // Appends those of which the session is a member; of many, kGatherGroupsMax.
    std::function<void(ShardId, SessionId, std::vector<std::uint32_t>&)> of_session;
    // Appends the sessions of a group's members.
    std::function<void(std::uint32_t, std::vector<SessionId>&)> members;
  };

  // As DoubtedMember::needed_ticks, of a TTL in milliseconds.
  using SilenceNeeded = std::function<std::uint64_t(std::uint32_t)>;

  struct Environment {
    Groups groups;  // None set: nothing waits.
    SilenceNeeded silence_needed;
    std::uint32_t tick_ms = 10;
  };

  GatheredEnds(locks::LockCpu& locks, MetricsRegistry& metrics, Environment environment);

  // When to look again at a registration that is due and led here; `now` or earlier: its end does
  // not wait.
  Tick look_again(const sessions::ExpiryProposal& due, Tick now);

  // Waits that it has decided: looks that were no question.
  std::uint64_t wait_count() const { return waits_->value(); }

 private:
  std::uint64_t recheck_ticks() const;
  void begin_tick(Tick now);
  std::uint64_t wait_ticks(ShardId shard, std::uint32_t group, Tick now);
  void find_doubted(ShardId shard, std::uint32_t group, Tick now);

  locks::LockCpu& locks_;
  Environment environment_;
  Counter* waits_ = nullptr;
  Tick known_at_;  // What waits_by_group_ says holds in this tick: many members share it.
  std::unordered_map<std::uint32_t, std::uint64_t> waits_by_group_;
  std::size_t looks_ = 0;              // Members looked at in this tick.
  bool crowded_ = false;               // In this tick groups were left out.
  std::uint64_t recheck_factor_ = 1;   // Of kGatherRecheckMs.
  std::vector<std::uint32_t> groups_;  // Scratch, as the next two.
  std::vector<SessionId> members_;
  std::vector<DoubtedMember> doubted_;
};

}  // namespace gcoord::server
