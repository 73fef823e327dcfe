#include "chaos/live/live_world.h"

#include <algorithm>
#include <csignal>

namespace gcoord::chaos {

namespace {

constexpr std::chrono::seconds kReady{30};
constexpr std::chrono::seconds kStop{10};

}  // namespace

bool LiveWorld::alive(std::uint32_t node) {
  return cluster.pid(node) > 0 && cluster.running(node) &&
         !cluster.wait_exit(node, std::chrono::milliseconds{0}).has_value();
}

Status LiveWorld::start(const std::vector<std::uint32_t>& nodes) {
  std::vector<std::uint32_t> begun;
  for (const std::uint32_t node : nodes) {
    if (!alive(node)) {
      GCOORD_TRY_STATUS(cluster.spawn(node));
      begun.push_back(node);
    }
  }
  for (const std::uint32_t node : begun) {
    GCOORD_TRY_STATUS(cluster.wait_serving(node, kReady));
  }
  return Status{};
}

std::vector<std::uint32_t> LiveWorld::claim(Draw& draw, std::uint32_t count) {
  std::vector<std::uint32_t> nodes = draw.some(node_count(), node_count());
  std::erase_if(nodes, [this](std::uint32_t node) {
    return std::find(claimed.begin(), claimed.end(), node) != claimed.end();
  });
  GCOORD_ASSERT(!nodes.empty());
  nodes.resize(std::min<std::size_t>(count, nodes.size()));
  claimed.insert(claimed.end(), nodes.begin(), nodes.end());
  return nodes;
}

void LiveWorld::stop(std::uint32_t node) {
  if (!alive(node)) {
    return;
  }
  cluster.signal(node, SIGCONT);
  cluster.signal(node, SIGTERM);
  cluster.wait_exit(node, kStop);
  cluster.kill(node);
}

}  // namespace gcoord::chaos
