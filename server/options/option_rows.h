// The parts of option_table(), by what they are about.
#pragma once

#include "server/options/option_table.h"

#include <span>

namespace gcoord::server {

std::span<const OptionRow> cluster_rows();
std::span<const OptionRow> client_rows();
std::span<const OptionRow> trust_rows();
std::span<const OptionRow> engine_rows();

}  // namespace gcoord::server
