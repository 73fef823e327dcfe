// Choice of a device for each node of the demo, with the reason, made once before anything starts,
// and of the ways in which nodes could run on what there is.
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
  bool mps = false;                   // CUDA's multi-process service (MPS) serves them.
};

DevicesHere devices_here();

// `wish` is auto, cpu or cuda:N. InvalidArgument for anything else.
Result<DevicePick> pick_devices(const std::string& wish,
                                std::uint32_t node_count,
                                const DevicesHere& here);

// One way for all nodes to run.
struct DemoWay {
  std::string name;  // For a person: "the host's turn on CPUs".
  std::string turn;  // What gcoordd is given as --turn.
  DevicePick devices;
};

// What the user asked for.
struct DemoWish {
  std::string turn = "auto";    // auto, host or resident.
  std::string device = "auto";  // As pick_devices takes it.
};

// The ways that a wish leaves open: one where both are said, or where there is no GPU to choose;
// else those whose speed only a trial tells (way_trial.h). With MPS none but CPUs is, where the
// turn was not asked for: the demo kills a node, and under MPS that ends other processes of its
// GPU, or leaves the GPU busy for the node that comes back (docs/reference/devices.md). Fails as
// pick_devices does.
Result<std::vector<DemoWay>> pick_ways(const DemoWish& wish,
                                       std::uint32_t node_count,
                                       const DevicesHere& here);

}  // namespace gcoord::chaos
