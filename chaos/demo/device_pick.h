// Choice of a device for each node of the demo, with the reason, made once before anything starts.
//
// A GPU is taken when there is one that this build can use: one for each node where there are as
// many, else the nodes share those there are, in turn. What was asked for by name is not replaced.
#pragma once

#include "common/status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::chaos {

struct DevicePick {
  std::vector<std::string> device_of_node;  // What gcoordd is given as --device, by node.
  std::string why;                          // For a person: "one GPU for three nodes: ...".
};

// What this machine offers: the names of its GPUs, or why none can be used.
struct DevicesHere {
  std::vector<std::string> products;  // Of cuda:0, cuda:1 and so on.
  std::string obstacle;               // Meant when there are none.
};

DevicesHere devices_here();

// `wish` is auto, cpu or cuda:N. InvalidArgument for anything else.
Result<DevicePick> pick_devices(const std::string& wish,
                                std::uint32_t node_count,
                                const DevicesHere& here);

}  // namespace gcoord::chaos
