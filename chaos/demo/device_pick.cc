#include "chaos/demo/device_pick.h"

#include "netcore/device/gpu_device.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

namespace gcoord::chaos {
namespace {

// Its clients find it by a pipe in a folder that the environment names.
bool mps_runs() {
  const char* const named = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  std::error_code failed;
  return std::filesystem::exists(
      std::filesystem::path(named != nullptr && *named != 0 ? named : "/tmp/nvidia-mps") /
          "control",
      failed);
}

}  // namespace

DevicesHere devices_here() {
  DevicesHere here;
  const auto count = netcore::gpu_count();
  if (!count.ok()) {
    here.obstacle = count.status().message();
    return here;
  }
  for (std::uint32_t index = 0; index < count.value(); ++index) {
    const auto facts = netcore::gpu_facts(index);
    if (!facts.ok()) {
      here.obstacle = facts.status().message();
      break;
    }
    here.products.push_back(facts.value().name);
  }
  here.mps = mps_runs();
  return here;
}

Result<DevicePick> pick_devices(const std::string& wish,
                                std::uint32_t node_count,
                                const DevicesHere& here) {
  DevicePick pick;
  if (wish == "cpu") {
    pick.device_of_node.assign(node_count, "cpu");
    pick.why = "the CPU for every node, as asked";
    return pick;
  }
  if (wish != "auto") {
    GCOORD_TRY(const std::uint32_t index, netcore::parse_gpu_name(wish));
    pick.device_of_node.assign(node_count, fmt::format("cuda:{}", index));
    pick.why = fmt::format("cuda:{} for every node, as asked", index);
    return pick;
  }
  const auto found = static_cast<std::uint32_t>(here.products.size());
  if (found == 0) {
    pick.device_of_node.assign(node_count, "cpu");
    pick.why = "the CPU for every node: " + here.obstacle;
    return pick;
  }
  for (std::uint32_t node = 0; node < node_count; ++node) {
    pick.device_of_node.push_back(fmt::format("cuda:{}", node % found));
  }
  const std::string& product = here.products.front();
  if (found == 1) {
    pick.why =
        fmt::format("one GPU for all {} nodes: cuda:0 ({}) is all there is", node_count, product);
  } else if (found < node_count) {
    pick.why = fmt::format("{} GPUs ({}) for {} nodes, in turn", found, product, node_count);
  } else {
    pick.why = fmt::format("a GPU for each node: {} of {} ({})", node_count, found, product);
  }
  return pick;
}

Result<std::vector<DemoWay>> pick_ways(const DemoWish& wish,
                                       std::uint32_t node_count,
                                       const DevicesHere& here) {
  GCOORD_TRY(DevicePick devices, pick_devices(wish.device, node_count, here));
  if (wish.turn != "auto") {
    return std::vector<DemoWay>{{"as asked", wish.turn, std::move(devices)}};
  }
  GCOORD_TRY(DevicePick processors, pick_devices("cpu", node_count, here));
  if (devices.device_of_node == processors.device_of_node) {
    return std::vector<DemoWay>{{"the host's turn on CPUs", "host", std::move(devices)}};
  }
  if (here.mps && wish.device == "auto") {
    processors.why =
        "the CPU for every node: under MPS, which serves the GPUs here, the kill -9 of one node "
        "ends others";
    return std::vector<DemoWay>{{"the host's turn on CPUs", "host", std::move(processors)}};
  }
  std::vector<DemoWay> ways;
  if (wish.device == "auto") {
    ways.push_back({"the host's turn on CPUs", "host", std::move(processors)});
  }
  ways.push_back({"the host's turn with steps on GPUs", "host", devices});
  ways.push_back({"the resident turn on GPUs", "resident", std::move(devices)});
  return ways;
}

}  // namespace gcoord::chaos
