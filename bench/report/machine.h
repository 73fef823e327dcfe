// The machine a result was measured on: without it no figure can be compared.
#pragma once

#include "common/json/value.h"

#include <filesystem>

namespace gcoord::bench {

// {"cores", "cpu", "memory_gib", "kernel", "synced_write_ms_p50", "commit"}. Measures the cost
// of one synced write of 4 KiB in `directory`, where the benchmark keeps its logs. Takes less than
// a second on any disk that is of use.
Json describe_machine(const std::filesystem::path& directory);

}  // namespace gcoord::bench
