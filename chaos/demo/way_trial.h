// Trial of the ways in which the demo's nodes may run: each serves the demo's load for a moment,
// in a cluster of its own that is gone afterwards, and the fastest is taken.
//
// Blocking. Talks on stdout. One thread.
#pragma once

#include "chaos/demo/demo.h"
#include "chaos/demo/device_pick.h"
#include "common/status.h"

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <vector>

namespace gcoord::chaos {

// How long each way serves.
inline constexpr std::chrono::milliseconds kWayTrial{1'000};

// Commits per second of a way that served for a moment, in a fresh directory. Failures: it could
// not be carried out.
Result<double> try_way(const DemoOptions& options,
                       const DemoWay& way,
                       const std::filesystem::path& directory);

using TryWay = std::function<Result<double>(const DemoWay& way)>;

// The way with the most, whose reason then says what all of them did. One way alone is taken as it
// is. Failures: that of the first where none could be tried.
Result<DemoWay> fastest_way(std::vector<DemoWay> ways, const TryWay& try_one);

}  // namespace gcoord::chaos
