// The lock service's work that time makes due, and its talk with the other nodes: expiry,
// coordinator, deadlocks, moves, delays, features.
//
// Each part has a header of its own; here they are joined to the log, the tables and each other.
// Everything is proposed and sent from on_tick() and on_pass(), never while the engine applies.
// One thread, the node's loop.
#pragma once

#include "common/host/metrics.h"
#include "common/ids.h"
#include "locks/cpu/lock_cpu.h"
#include "server/budget/pass_budget.h"
#include "server/deadlocks/watch.h"
#include "server/interfaces/cluster_members.h"
#include "server/lock_service/delay_ends.h"
#include "server/lock_service/lock_moves.h"
#include "server/lock_service/options.h"
#include "server/peers/coordinator_driver.h"
#include "server/peers/node_features.h"
#include "server/requests/reply_writer.h"
#include "server/requests/service_clock.h"
#include "server/requests/service_log.h"
#include "server/requests/shard_leaders.h"
#include "server/sessions/device_sweeps.h"
#include "server/sessions/expiry.h"
#include "server/waits/wait_table.h"

#include <cstdint>
#include <span>

namespace gcoord::server {

struct ServiceTasks {
  struct Environment {
    ServiceLog& log;
    ReplyWriter& replies;
    const ShardLeaders& leaders;
    locks::LockCpu& locks;
    GatheredEnds::Groups groups;
    const WaitTable& waits;
    const ServiceClock& clock;
    PassBudget& budget;
  };

  ServiceTasks(const LockServiceOptions& options,
               MetricsRegistry& metrics,
               const Environment& environment);
  ServiceTasks(const ServiceTasks&) = delete;
  ServiceTasks& operator=(const ServiceTasks&) = delete;

  void start(ReplicatedLog& engine, Incarnation incarnation);

  // As LockService::set_members. False: an earlier epoch than before; nothing is changed.
  bool set_members(const ClusterMembers& members);

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
  SessionExpiry::Environment expiry_doors(const Environment& environment);
  CoordinatorDriver::Environment office_doors();
  DeadlockWatch::Environment deadlock_doors();
  LockMoves::Environment move_doors();
  std::uint32_t ends_max() const;
  void propose_ends(ShardId shard,
                    std::span<const sessions::ExpiryProposal> ends,
                    std::uint64_t number);

  Environment env_;
  std::uint64_t members_epoch_ = 0;
};

}  // namespace gcoord::server
