#include "chaos/live/fault.h"

#include <algorithm>
#include <iterator>

namespace gcoord::chaos {

namespace {

FaultClass skipped(std::string_view name, std::string_view table, std::string_view reason) {
  return {name, table, false, nullptr, reason};
}

// The rest of the fault table: what this door cannot do to real processes, and why.
std::vector<FaultClass> faults_out_of_reach() {
  return {
      skipped("device-lost",
              "19",
              "a GPU that others may share is never reset, and nothing else takes it off its bus"),
      skipped("rolling-upgrade",
              "23",
              "a run has one program; ./gcoord chaos upgrade has two releases in one cluster"),
      skipped("equivocating-peer",
              "28",
              "real nodes sign one vote a term; tests of evidence forge the second one"),
      skipped(
          "tls",
          "29",
          "nodes of a run speak plain TCP on loopback; ./gcoord judge tls has the faults of TLS"),
      skipped("memory-pressure",
              "35",
              "needs a cgroup of its own; the limits of tables are unit-tested"),
      skipped("address-reuse", "37", "on loopback every node has one address for good"),
  };
}

}  // namespace

Result<std::string> NodesDown::heal(LiveWorld& world) {
  GCOORD_TRY_STATUS(world.start(nodes_));
  return std::string{};
}

std::vector<FaultClass> all_faults(const StepPosition& place) {
  std::vector<FaultClass> all;
  for (auto&& list : {crash_faults(),
                      link_faults(),
                      disk_faults(),
                      file_faults(),
                      membership_faults(place),
                      clock_faults(),
                      client_faults(),
                      device_faults(place),
                      thread_faults(place),
                      faults_out_of_reach()}) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

std::string name_nodes(const std::vector<std::uint32_t>& nodes) {
  std::string text = nodes.size() == 1 ? "node " : "nodes ";
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == nodes.size() ? " and " : ", ") + std::to_string(nodes[i]);
  }
  return text;
}

}  // namespace gcoord::chaos
