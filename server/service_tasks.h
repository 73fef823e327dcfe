// The lock service's work that time makes due, and its talk with the other nodes: expiry,
// coordinator, deadlocks, moves, delays, features.
//
// Each part has a header of its own; here they are joined to the log, the tables and each other.
// Everything is proposed and sent from on_tick() and on_pass(), never while the engine applies.
// One thread, the node's loop.
#pragma once

#include "common/ids.h"
#include "common/metrics.h"
#include "locks/lock_cpu.h"
#include "server/coordinator_driver.h"
#include "server/deadlock_watch.h"
#include "server/delay_ends.h"
#include "server/device_sweeps.h"
#include "server/lock_moves.h"
#include "server/lock_service_options.h"
#include "server/node_features.h"
#include "server/reply_writer.h"
#include "server/service_clock.h"
#include "server/service_log.h"
#include "server/session_expiry.h"
#include "server/shard_leaders.h"
#include "server/wait_table.h"

#include <cstdint>
#include <span>

namespace gcoord::server {

struct ServiceTasks {
  struct Environment {
    ServiceLog& log;
    ReplyWriter& replies;
    const ShardLeaders& leaders;
    locks::LockCpu& locks;
    const WaitTable& waits;
    const ServiceClock& clock;
  };

  ServiceTasks(const LockServiceOptions& options,
               MetricsRegistry& metrics,
               const Environment& environment);
  ServiceTasks(const ServiceTasks&) = delete;
  ServiceTasks& operator=(const ServiceTasks&) = delete;

  void start(ReplicatedLog& engine, Incarnation incarnation);

  // Once per tick, and then once per pass of the loop.
  void on_tick();
  void on_pass();

  // kTickNever while nothing is timed.
  Tick next_deadline() const;

  void on_loop_gap(std::uint64_t ticks);

  NodeFeatures features;
  DeviceSweeps sweeps;
  SessionExpiry expiry;
  CoordinatorDriver office;
  DeadlockWatch deadlocks;
  LockMoves moves;
  DelayEnds delays;

 private:
  SessionExpiry::Doors expiry_doors();
  CoordinatorDriver::Environment office_doors();
  DeadlockWatch::Doors deadlock_doors();
  LockMoves::Doors move_doors();
  void propose_ends(ShardId shard,
                    std::span<const sessions::ExpiryProposal> ends,
                    std::uint64_t number);

  Environment env_;
};

}  // namespace gcoord::server
