// The five operations of gcoordctl bench on a gcoord cluster.
//
//   lock   acquires a name, waits for it if need be, and releases it
//   lease  grants a session with a TTL, and closes it
//   elect  campaigns for a name until it leads, and resigns
//   watch  acquires and releases a name; its end is when a watch has told of the grant
//   read   reads a held name, linearizably
#pragma once

#include "cli/bench/load/plan.h"
#include "cli/bench/load/work.h"
#include "cli/bench/operations/gcoord_clients.h"

#include <memory>
#include <string>
#include <vector>

namespace gcoord::cli {

// The names of the operations, in the order of the help.
const std::vector<std::string>& operation_names();

// The work of the plan's operation, with its sessions and watches open. The work owns the
// connections, and closes them. Failures are those of the library.
client::Result<std::unique_ptr<Work>> open_operation(const BenchPlan& plan,
                                                     std::vector<client::Client> connections);

// One each; open_operation() chooses. The clients have their sessions.
client::Result<std::unique_ptr<Work>> open_lock_work(const BenchPlan& plan,
                                                     std::unique_ptr<GcoordClients> clients);
client::Result<std::unique_ptr<Work>> open_lease_work(const BenchPlan& plan,
                                                      std::unique_ptr<GcoordClients> clients);
client::Result<std::unique_ptr<Work>> open_elect_work(const BenchPlan& plan,
                                                      std::unique_ptr<GcoordClients> clients);
client::Result<std::unique_ptr<Work>> open_watch_work(const BenchPlan& plan,
                                                      std::unique_ptr<GcoordClients> clients);
client::Result<std::unique_ptr<Work>> open_read_work(const BenchPlan& plan,
                                                     std::unique_ptr<GcoordClients> clients);

}  // namespace gcoord::cli
