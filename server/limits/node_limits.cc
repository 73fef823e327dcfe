#include "server/limits/node_limits.h"

#include <utility>

namespace gcoord::server {

NodeLimits::NodeLimits(LimitsMachine& machine, Environment environment)
    : machine_(machine),
      judge_(std::move(environment.judge), environment.metrics),
      prunes_({.log = environment.requests.log,
               .machine = machine,
               .replies = environment.requests.replies,
               .all_guard = environment.requests.all_guard,
               .rights_on = std::move(environment.rights_on),
               .wall_ms = environment.requests.wall_ms,
               .proven = environment.requests.proven,
               .delay_ms = environment.prune_delay_ms},
              environment.data_dir),
      requests_([this, &environment] {
        environment.requests.subject = [this](protocol::ConnectionId connection) {
          return judge_.subject(connection);
        };
        return std::move(environment.requests);
      }()) {
  judge_.assign(machine_.table());
  machine_.set_listener(this);
}

}  // namespace gcoord::server
