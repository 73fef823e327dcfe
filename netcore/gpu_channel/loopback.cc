#include "netcore/gpu_channel/loopback.h"

#include <utility>

namespace gcoord::netcore {

Result<GpuChannelPair> make_gpu_loopback(MemoryRegistry& registry,
                                         const GpuChannelOptions& options) {
  GpuChannelPair pair;
  GCOORD_TRY(pair.first, GpuChannel::create(registry, options));
  GCOORD_TRY(pair.second, GpuChannel::create(registry, options));
  pair.first->attach(pair.second->region(), false);
  pair.second->attach(pair.first->region(), false);
  return pair;
}

}  // namespace gcoord::netcore
