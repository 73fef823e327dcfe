// Session queries of a node: one session, and pages of all.
//
// Every node has every shard's registrations, as far as its replicas have applied; time is measured
// by the leader of a shard, and elsewhere estimated from the keep-alives that were heard. A list
// walks the registrations by their rows, kSessionRowsLookedAt of them a call, and shows each
// session on one node only: the leader of its home, or of its first shard if it has no home. A
// session that comes or goes meanwhile may be missed. Changes nothing. One thread.
#pragma once

#include "common/ids.h"
#include "locks/cpu/lock_cpu.h"
#include "protocol/lease_messages.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace gcoord::server {

// Rows that one request looks at, and all of them together in a tick; beyond it they are refused
// and come again later. A look is two probes of an index.
inline constexpr std::uint32_t kSessionRowsLookedAt = 20'000;
inline constexpr std::uint32_t kSessionRowsPerTick = 2 * kSessionRowsLookedAt;

// One registration, as far as its time goes.
struct SessionTime {
  locks::SessionRow row;
  std::uint32_t ttl_ms = 0;
  bool led = false;  // This node leads the shard.
};

// What is left to it, at most its TTL; 0: its time is over, or its end was decided.
std::uint32_t session_left_ms(const locks::NodeClock& clock,
                              const SessionTime& time,
                              std::uint32_t tick_ms,
                              Tick now);

struct SessionViewOptions {
  std::uint32_t shard_count = 1;
  std::uint32_t tick_ms = 10;
};

class SessionViews {
 public:
  using Leads = std::function<bool(ShardId)>;

  SessionViews(const SessionViewOptions& options, const locks::LockCpu& locks, Leads leads);

  // No registration: nothing of it is known here, or its end was decided wherever it was known.
  protocol::SessionDetails describe(SessionId session, Tick now) const;

  // Locks that it holds and waits for, those that stay for their delay after it failed with them;
  // what was broken by force is not its own any more.
  std::uint64_t lock_count(SessionId session) const;

  // A page of the sessions that this node lists; false: too much was looked at in this tick.
  bool page(const protocol::SessionQuery& query, Tick now, protocol::SessionPage& page);

  void on_tick() { rows_listed_ = 0; }

 private:
  protocol::SessionRow row_of(SessionId session,
                              const std::vector<sessions::Registration>& registrations,
                              Tick now) const;
  bool listed_here(const locks::SessionRecord& record) const;
  bool matches(const protocol::SessionQuery& query, const protocol::SessionRow& row) const;
  void add_keys(const sessions::Registration& registration, std::vector<std::string>& keys) const;

  SessionViewOptions options_;
  const locks::LockCpu& locks_;
  Leads leads_;
  std::uint32_t rows_listed_ = 0;  // Since the last tick.
};

}  // namespace gcoord::server
