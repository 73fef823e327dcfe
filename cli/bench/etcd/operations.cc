#include "cli/bench/etcd/operations.h"

#include <utility>

namespace gcoord::cli {

Result<std::unique_ptr<Work>> open_etcd_operation(const BenchPlan& plan,
                                                  std::unique_ptr<EtcdClients> clients) {
  if (plan.operation == "lease") {
    return open_etcd_lease_work(plan, std::move(clients));
  }
  if (plan.operation == "watch") {
    return open_etcd_watch_work(plan, std::move(clients));
  }
  return plan.operation == "read" ? open_etcd_read_work(plan, std::move(clients))
                                  : open_etcd_hold_work(plan, std::move(clients));
}

}  // namespace gcoord::cli
