// The clocks of all parts of a node's lock tables, as one: what sessions/clock.h and
// locks/state/delay_clock.h say, for rows and shards of the node.
//
// Thread-safe as LockParts is; two calls are two moments. Host only.
#pragma once

#include "locks/cpu/parts.h"
#include "locks/state/delay_clock.h"
#include "sessions/clock.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::locks {

// As of SessionClock, each.
class NodeClock {
 public:
  explicit NodeClock(LockParts& parts) : parts_(parts) {}

  // A keep-alive renews the registrations in all parts or in none; one whose end is decided while
  // it is renewed may have renewed others, and is Lost.
  sessions::RenewOutcome renew(SessionId session, Tick now);
  void renew_all(std::span<const SessionId> sessions,
                 Tick now,
                 std::span<sessions::RenewOutcome> outcomes);

  std::size_t expired(Tick now, std::span<sessions::ExpiryProposal> out);
  std::size_t collect_due(Tick now, std::span<sessions::ExpiryProposal> out);
  bool collected(const sessions::ExpiryProposal& due_row) const;
  void put_off(const sessions::ExpiryProposal& due_row, Tick due);
  bool propose(const sessions::ExpiryProposal& proposal);
  void on_expiry_refused(const sessions::ExpiryProposal& proposal, Tick due);
  bool still(const sessions::ExpiryProposal& proposal) const;

  bool dying(SessionRow row) const;
  bool proposed(SessionRow row) const;  // Its end, which is not decided yet.
  std::uint32_t ttl_ms(SessionRow row) const;
  std::uint32_t broken_count(SessionRow row) const;
  std::uint64_t remaining_ticks(SessionRow row, Tick now) const;
  std::uint64_t silent_ticks(SessionRow row, Tick now) const;
  std::vector<sessions::Registration> registrations_of(SessionId session) const;
  bool remembers_expired(SessionId session) const;
  std::uint32_t registration_count() const;
  Tick next_deadline() const;

  // The clock of the one part, of one thread; nullptr: there are several. For whoever keeps copies
  // of its columns, and asks for their memory ahead of time.
  sessions::SessionClock* only() const;

 private:
  template <typename Take>
  std::size_t take_from_parts(std::span<sessions::ExpiryProposal> out, const Take& take);
  sessions::ExpiryProposal inside(sessions::ExpiryProposal proposal) const;

  LockParts& parts_;
  std::uint32_t first_ = 0;  // The part with which the next look at what is due begins.
};

// As of DelayClock, each.
class NodeDelays {
 public:
  explicit NodeDelays(LockParts& parts) : parts_(parts) {}

  std::size_t due(Tick now, std::span<DelayedLock> out);
  void on_refused(ShardId shard, FencingToken token, Tick again);
  Tick next_deadline() const;
  std::size_t size() const;

 private:
  LockParts& parts_;
  std::uint32_t first_ = 0;
};

}  // namespace gcoord::locks
