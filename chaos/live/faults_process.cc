// Crashes and pauses of nodes.
#include "chaos/live/fault.h"

#include <csignal>

namespace gcoord::chaos {

namespace {

std::vector<std::uint32_t> every_node(const LiveWorld& world) {
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t node = 1; node <= world.node_count(); ++node) {
    nodes.push_back(node);
  }
  return nodes;
}

class Kill final : public NodesDown {
 public:
  enum class Whom : std::uint8_t { Some, All };

  explicit Kill(Whom whom) : whom_(whom) {}

  Result<std::string> inject(LiveWorld& world, Draw& draw) override {
    nodes_ = whom_ == Whom::All ? every_node(world)
                                : draw.some(draw.between(1, world.minority()), world.node_count());
    for (const std::uint32_t node : nodes_) {
      world.cluster.kill(node);
    }
    return "kill -9 of " + name_nodes(nodes_);
  }

  std::chrono::milliseconds hold(Draw& draw) override {
    return whom_ == Whom::All ? draw.milliseconds(100, 1000) : draw.milliseconds(500, 4000);
  }

 private:
  Whom whom_;
};

// SIGSTOP: the process stands still, its clock goes on, its sockets stay open.
class Pause final : public Fault {
 public:
  Result<std::string> inject(LiveWorld& world, Draw& draw) override {
    nodes_ = draw.some(draw.between(1, world.minority()), world.node_count());
    for (const std::uint32_t node : nodes_) {
      world.cluster.signal(node, SIGSTOP);
    }
    return "SIGSTOP of " + name_nodes(nodes_);
  }

  std::chrono::milliseconds hold(Draw& draw) override { return draw.milliseconds(300, 6000); }

  Result<std::string> heal(LiveWorld& world) override {
    for (const std::uint32_t node : nodes_) {
      world.cluster.signal(node, SIGCONT);
    }
    return std::string{};
  }

  std::uint64_t felt() const override { return nodes_.size(); }

 private:
  std::vector<std::uint32_t> nodes_;
};

}  // namespace

std::vector<FaultClass> crash_faults() {
  return {{"kill", "1", false, [] { return std::make_unique<Kill>(Kill::Whom::Some); }, {}},
          {"kill-all", "1", false, [] { return std::make_unique<Kill>(Kill::Whom::All); }, {}},
          {"pause", "16", false, [] { return std::make_unique<Pause>(); }, {}}};
}

}  // namespace gcoord::chaos
