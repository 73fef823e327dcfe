// The tables of the lock service, and its ways to the log and to the clients: the ground that all
// its parts stand on.
//
// Only the composition (lock_service.h) sees all of it; each part is handed those members that it
// uses. One thread, the node's loop.
#pragma once

#include "common/metrics.h"
#include "locks/lock_cpu.h"
#include "server/election_asks.h"
#include "server/lock_locator.h"
#include "server/lock_service_metrics.h"
#include "server/lock_service_options.h"
#include "server/pending_table.h"
#include "server/reply_sink.h"
#include "server/reply_writer.h"
#include "server/service_clock.h"
#include "server/service_log.h"
#include "server/session_admission.h"
#include "server/session_views.h"
#include "server/shard_leaders.h"
#include "server/wait_table.h"

namespace gcoord::server {

struct LockServiceBase {
  LockServiceBase(const LockServiceOptions& options, ReplySink& sink, MetricsRegistry& registry);
  LockServiceBase(const LockServiceBase&) = delete;
  LockServiceBase& operator=(const LockServiceBase&) = delete;

  LockServiceMetrics metrics;
  ServiceClock clock;
  locks::LockCpu locks;
  PendingTable pending;
  WaitTable waits;
  ElectionAsks asks;
  ServiceLog log;
  ReplyWriter replies;
  ShardLeaders leaders;
  LockLocator locator;
  SessionViews views;
  SessionAdmission admission;
};

}  // namespace gcoord::server
