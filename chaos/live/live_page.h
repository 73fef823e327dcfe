// A live run as one page: no network, no other file; light or dark as the reader's system is. Pure.
#pragma once

#include "chaos/live/live_result.h"

#include <string>

namespace gcoord::chaos {

std::string live_page(const LiveResult& result, const LiveOptions& options);

}  // namespace gcoord::chaos
