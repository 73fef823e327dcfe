// The run as one drawing over one axis of time: rate, latency, who led, and which fault struck
// when, with the fault windows shaded through all of it. SVG without scripts; styled by class.
// Pure.
#pragma once

#include "chaos/live/live_result.h"

#include <string>

namespace gcoord::chaos {

// `style` goes into the drawing, so that it can stand alone.
std::string live_chart(const LiveResult& result,
                       const LiveOptions& options,
                       const std::string& style);

// Text as XML has it.
std::string escape_xml(const std::string& text);

}  // namespace gcoord::chaos
