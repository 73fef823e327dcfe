#include "chaos/live/live_page.h"

namespace gcoord::chaos {
std::string live_page(const LiveResult&, const LiveOptions&) {
  return "soon";
}
}  // namespace gcoord::chaos
