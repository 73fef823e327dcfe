// A comparison of peers: first the best way to drive each is found, then all run in turn.
//
// The rounds alternate (A B C, A B C), every run in a fresh cluster that is gone when the next peer
// runs, so that what changes on the machine meanwhile meets all of them. A peer that cannot run is
// named with its reason; a run that fails is kept as one that failed and counts for nothing else.
// One thread; takes minutes.
#pragma once

#include "bench/vs/peer.h"
#include "common/json/value.h"
#include "common/status.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace gcoord::bench {

struct ComparisonOptions {
  std::filesystem::path directory;  // The data of every peer lies below it: one disk for all.
  std::uint32_t rounds = 3;
  std::uint32_t clients = 256;     // Of Shape::Many.
  std::uint32_t pipelined = 1024;  // Names of Shape::Pipelined.
  // Load of Shape::Many on every fresh cluster before anything counts: what compiles itself while
  // it runs (Java) is measured compiled, and files and tables have their size.
  std::chrono::milliseconds settled{8000};
  std::chrono::milliseconds warm_up{1000};  // Of each load, not counted.
  std::chrono::milliseconds measured{5000};
  std::chrono::milliseconds tried{2000};  // Measured for each way, to find the best.
};

// {"peers": [facts and "ways"], "not_run": [{"name", "reason"}], "runs": [{"round", "peer", shape:
// figures}], "summary": {peer: {shape: {figure: {"median", "least", "most"}}}}} and the options.
// Aborted when a peer that is there could be driven in no way at all.
Result<Json> compare(const std::vector<std::unique_ptr<Peer>>& peers,
                     const ComparisonOptions& options);

}  // namespace gcoord::bench
