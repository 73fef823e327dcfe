// Nodes of the host turn and of the resident turn, for tests of behaviour that both have
// (tests/acceptance/rows.toml). A suite of them is instantiated as
//
//   class LockRunTest : public AtBothTurns<LockRunNodesTest> {};
//   INSTANTIATE_TEST_SUITE_P(BothTurns, LockRunTest, both_turns(), turn_name);
//
// and its cases are then called BothTurns/LockRunTest.Case/host and .../resident. A resident turn
// runs in the emulation of its device, or on the device that GCOORD_TURNS_DEVICE names
// (./gcoord judge turns). One thread.
#pragma once

#include "chaos/process/local_cluster.h"
#include "common/comma_list.h"
#include "tests/cli/programs.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::cli {

inline auto both_turns() {
  return testing::Values("host", "resident");
}

inline std::string turn_name(const testing::TestParamInfo<std::string>& turn) {
  return turn.param;
}

// The flags of a node of this turn.
inline std::vector<std::string> turn_flags(const std::string& turn) {
  std::vector<std::string> flags = {"--turn", turn};
  const char* const device = std::getenv("GCOORD_TURNS_DEVICE");
  if (turn == "resident" && device != nullptr) {
    flags.insert(flags.end(), {"--device", device});
  }
  return flags;
}

// The same for each of three nodes, as ProcessCluster takes them.
inline std::vector<std::vector<std::string>> turn_of_all(
    const std::string& turn, const std::vector<std::string>& more = {}) {
  std::vector<std::string> flags = turn_flags(turn);
  flags.insert(flags.end(), more.begin(), more.end());
  return {3, flags};
}

// A cluster of 16 shards, all of which have leaders: one node where the turn is the host's
// (`gcoordd dev`), and three where it is resident, which needs so many. `more`: further flags of
// every node.
class TurnNodes {
 public:
  explicit TurnNodes(const std::string& turn, const std::vector<std::string>& more = {}) {
    if (turn == "host") {
      alone_.emplace(more);
      return;
    }
    chaos::LocalClusterOptions options;
    options.program = chaos::program_beside("gcoordd");
    options.directory = folder_.path();
    options.shards = 16;
    options.node_arguments = {"--election-ms", "500", "--heartbeat-ms", "50"};
    options.arguments_of_node = turn_of_all(turn, more);
    auto planned = chaos::LocalCluster::plan(options);
    EXPECT_TRUE(planned.ok()) << planned.status().to_string();
    cluster_.emplace(std::move(planned).value());
    const Status started = cluster_->start_all(kPatience);
    EXPECT_TRUE(started.ok()) << started.to_string();
    while (ctl().json({"--timeout", "60s", "lock", "ls"})["complete"] != true) {
    }
  }

  // Of the first node.
  std::string endpoint() const {
    return alone_.has_value() ? alone_->endpoint() : cluster_->endpoints().front();
  }

  // With the endpoints of all nodes.
  Ctl ctl() const {
    return alone_.has_value() ? alone_->ctl() : Ctl{comma_list(cluster_->endpoints())};
  }

  // The node of the host turn.
  DevNode& alone() { return *alone_; }

  // SIGKILL to all nodes.
  void kill() {
    if (alone_.has_value()) {
      alone_->child().kill_now();
      return;
    }
    for (std::uint32_t node = 1; node <= cluster_->node_count(); ++node) {
      cluster_->kill(node);
    }
  }

 private:
  const ScratchFolder folder_;
  std::optional<DevNode> alone_;
  std::optional<chaos::LocalCluster> cluster_;
};

// A fixture whose constructor takes a turn, once at each.
template <typename Fixture>
class AtBothTurns : public Fixture, public testing::WithParamInterface<std::string> {
 protected:
  AtBothTurns() : Fixture(GetParam()) {}
};

}  // namespace gcoord::cli
