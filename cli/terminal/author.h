// The author of an order that a node writes down: who runs this program.
#pragma once

#include <string>

namespace gcoord::cli {

// "ann@build-7", by the effective user and the name of this host. Nothing proves it.
std::string author();

}  // namespace gcoord::cli
