#include "server/replicas/first_configuration.h"

#include "server/interfaces/errors.h"

#include <algorithm>

namespace gcoord::server {

Result<consensus::Configuration> first_configuration(std::vector<NodeId> nodes) {
  constexpr std::size_t kVotersMax = 7;  // Of the eight slots: one lets a member be replaced.
  std::sort(nodes.begin(), nodes.end());
  const bool repeated = std::adjacent_find(nodes.begin(), nodes.end()) != nodes.end();
  if (nodes.empty() || repeated || nodes.front() == NodeId{0} || nodes.size() > kVotersMax) {
    return Status{StatusCode::InvalidArgument,
                  "the nodes of a cluster are 1 to 7, with different ids from 1 on; correct "
                  "--node-id and --peer",
                  kEngineOptions};
  }
  consensus::Configuration configuration;
  for (std::size_t slot = 0; slot < nodes.size(); ++slot) {
    configuration.node[slot] = nodes[slot];
    configuration.weight[slot] = 1;
    configuration.voters = static_cast<consensus::SlotMask>(configuration.voters | (1u << slot));
  }
  return configuration;
}

}  // namespace gcoord::server
