#include "server/platform/system_random.h"

#include <random>

namespace gcoord::server {

std::uint64_t draw_random() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

}  // namespace gcoord::server
