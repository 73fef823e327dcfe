#include "server/limits/node_limits.h"

#include <utility>

namespace gcoord::server {

NodeLimits::NodeLimits(LimitsMachine& machine, Environment environment)
    : machine_(machine),
      judge_(std::move(environment.judge), environment.metrics),
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
