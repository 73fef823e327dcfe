// The tables of the lock service, and its ways to the log and to the clients: the ground that all
// its parts stand on.
//
// Only the composition (lock_service.h) sees all of it; each part is handed those members that it
// uses. One thread, the node's loop.
#pragma once

#include "common/host/metrics.h"
#include "locks/cpu/lock_cpu.h"
#include "membership/groups/group_cpu.h"
#include "membership/rendezvous/table.h"
#include "protocol/reply_sink.h"
#include "server/budget/pass_budget.h"
#include "server/lateness/slow_requests.h"
#include "server/lock_service/options.h"
#include "server/requests/election_asks.h"
#include "server/requests/lock_locator.h"
#include "server/requests/reply_writer.h"
#include "server/requests/service_clock.h"
#include "server/requests/service_log.h"
#include "server/requests/service_metrics.h"
#include "server/requests/session_admission.h"
#include "server/requests/shard_leaders.h"
#include "server/sessions/gathered_ends.h"
#include "server/sessions/views.h"
#include "server/waits/pending_table.h"
#include "server/waits/wait_table.h"

namespace gcoord::server {

struct LockServiceBase {
  LockServiceBase(const LockServiceOptions& options,
                  protocol::ReplySink& sink,
                  MetricsRegistry& registry);
  LockServiceBase(const LockServiceBase&) = delete;
  LockServiceBase& operator=(const LockServiceBase&) = delete;

  // Who stands in a group with whom, for the ends of sessions.
  GatheredEnds::Groups expiring_groups() const;

  LockServiceMetrics metrics;
  PassBudget budget;
  SlowRequests slow;
  ServiceClock clock;
  locks::LockCpu locks;
  membership::GroupCpu groups;
  membership::RendezvousTable rendezvous;
  PendingTable pending;
  WaitTable waits;
  TransferRequests asks;
  ServiceLog log;
  ReplyWriter replies;
  ShardLeaders leaders;
  LockLocator locator;
  SessionViews views;
  SessionAdmission admission;
};

}  // namespace gcoord::server
