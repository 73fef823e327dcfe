#include "server/limits/node_limits.h"

#include <utility>

namespace gcoord::server {

NodeLimits::NodeLimits(LimitsMachine& machine,
                       LimitRequests::Environment requests,
                       LimitJudge::Environment judge,
                       MetricsRegistry& metrics)
    : machine_(machine), judge_(std::move(judge), metrics), requests_([this, &requests] {
        requests.subject = [this](protocol::ConnectionId connection) {
          return judge_.subject(connection);
        };
        return std::move(requests);
      }()) {
  judge_.assign(machine_.table());
  machine_.set_listener(this);
}

}  // namespace gcoord::server
