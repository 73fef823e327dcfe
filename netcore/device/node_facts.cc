#include "netcore/device/node_facts.h"

#include "netcore/device/gpu_device.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace gcoord::netcore {

Result<GpuNodeFacts> own_gpu_node_facts(std::optional<std::uint32_t> device) {
  GpuNodeFacts facts;
  facts.process_id = static_cast<std::uint64_t>(getpid());
  std::string boot_id;
  std::ifstream{"/proc/sys/kernel/random/boot_id"} >> boot_id;
  std::copy_n(
      boot_id.begin(), std::min(boot_id.size(), facts.boot_id.size() - 1), facts.boot_id.begin());
  if (device.has_value()) {
    GCOORD_TRY(const GpuFacts gpu, gpu_facts(*device));
    facts.device = gpu.uuid;
    facts.has_gpu = 1;
    facts.shares_by_fd = gpu.shares_by_fd ? 1 : 0;
  }
  return facts;
}

GpuLinkFacts facts_between(const GpuNodeFacts& own, const GpuNodeFacts& peer) {
  GpuLinkFacts facts;
  facts.same_host = own.boot_id[0] != 0 && own.boot_id == peer.boot_id;
  facts.same_process = facts.same_host && own.process_id == peer.process_id && own.has_gpu != 0 &&
                       own.device == peer.device;
  facts.peer_has_gpu = peer.has_gpu != 0 && own.has_gpu != 0;
  facts.shares_by_fd = own.shares_by_fd != 0 && peer.shares_by_fd != 0;
  if (facts.peer_has_gpu) {
    const auto own_index = gpu_by_uuid(own.device);
    const auto peer_index = gpu_by_uuid(peer.device);
    facts.peer_visible = own_index.ok() && peer_index.ok();
    facts.peer_access =
        facts.peer_visible && gpu_reaches(own_index.value(), peer_index.value()).ok();
  }
  return facts;
}

}  // namespace gcoord::netcore
