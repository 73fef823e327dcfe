// Device choice of the nodes of a run, in gcoordd's option values.
#pragma once

#include <string>
#include <vector>

namespace gcoord::chaos {

struct StepPosition {
  std::string device;     // --device; empty: CPUs.
  bool resident = false;  // --turn resident, of 3, 5 or 7 nodes; without a device on its twin.

  std::string device_name() const { return !device.empty() ? device : resident ? "twin" : "cpu"; }

  bool on_device() const { return device_name() != "cpu"; }

  // Of every node.
  std::vector<std::string> arguments() const {
    std::vector<std::string> list;
    if (!device.empty() || resident) {
      list.insert(list.end(), {"--device", device_name()});
    }
    if (resident) {
      // So that all that turns say to each other crosses the links that are cut and clogged here.
      list.insert(list.end(), {"--turn", "resident", "--resident-peers", "proxy"});
    }
    return list;
  }
};

}  // namespace gcoord::chaos
