#include "cli/bench/operations/operations.h"

#include <utility>

namespace gcoord::cli {

namespace {

using Open = client::Result<std::unique_ptr<Work>> (*)(const BenchPlan&,
                                                       std::unique_ptr<GcoordClients>);

Open opener_of(const std::string& operation) {
  if (operation == "lock") {
    return open_lock_work;
  }
  if (operation == "lease") {
    return open_lease_work;
  }
  if (operation == "elect") {
    return open_elect_work;
  }
  return operation == "watch" ? open_watch_work : open_read_work;
}

}  // namespace

const std::vector<std::string>& operation_names() {
  static const std::vector<std::string> names{"lock", "lease", "elect", "watch", "read"};
  return names;
}

client::Result<std::unique_ptr<Work>> open_operation(const BenchPlan& plan,
                                                     std::vector<client::Client> connections) {
  auto clients = std::make_unique<GcoordClients>(plan, std::move(connections));
  // A lease is a session of its own each time.
  if (plan.operation != "lease") {
    if (client::Status opened = clients->open_sessions(); !opened.ok()) {
      return opened;
    }
  }
  return opener_of(plan.operation)(plan, std::move(clients));
}

}  // namespace gcoord::cli
