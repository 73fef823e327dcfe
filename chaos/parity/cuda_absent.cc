#include "chaos/parity/world.h"

namespace gcoord::chaos {

Result<std::unique_ptr<ResidentWorld>> make_device_world(int /*device*/,
                                                         const ResidentShape& /*shape*/,
                                                         std::uint32_t /*wide_count*/) {
  return Status{StatusCode::Unavailable,
                "this build has no device code; configure with --preset cuda"};
}

}  // namespace gcoord::chaos
