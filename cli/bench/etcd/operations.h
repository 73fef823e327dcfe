// The operations of gcoordctl bench on etcd, each in the way that costs etcd least.
//
//   lock   one transaction (that of clientv3/concurrency.Mutex) and one delete; a lock that another
//          client has is waited for with etcd's own Lock call, which makes the same key
//   lease  LeaseGrant and LeaseRevoke
//   elect  as lock; an election that is held is waited for with Campaign
//   watch  lock and unlock; the end is when a Watch stream has told of the key
//   read   Range of one key, linearizably
#pragma once

#include "cli/bench/etcd/clients.h"
#include "cli/bench/load/plan.h"
#include "cli/bench/load/work.h"

#include <memory>

namespace gcoord::cli {

// The work of the plan's operation. It owns the clients, and closes them.
Result<std::unique_ptr<Work>> open_etcd_operation(const BenchPlan& plan,
                                                  std::unique_ptr<EtcdClients> clients);

// One each; open_etcd_operation() chooses.
Result<std::unique_ptr<Work>> open_etcd_hold_work(const BenchPlan& plan,
                                                  std::unique_ptr<EtcdClients> clients);
Result<std::unique_ptr<Work>> open_etcd_lease_work(const BenchPlan& plan,
                                                   std::unique_ptr<EtcdClients> clients);
Result<std::unique_ptr<Work>> open_etcd_watch_work(const BenchPlan& plan,
                                                   std::unique_ptr<EtcdClients> clients);
Result<std::unique_ptr<Work>> open_etcd_read_work(const BenchPlan& plan,
                                                  std::unique_ptr<EtcdClients> clients);

}  // namespace gcoord::cli
