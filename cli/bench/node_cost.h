// Cost of a run at the nodes: system calls, copies, frames and processor time for each request.
//
// The nodes count since they began, in their status reports (node_report: client_io); the cost of a
// run is the difference of two readings, summed over the nodes that answered both. Nodes of earlier
// releases count nothing, and so do those whose report the user may not see: then there is no cost.
#pragma once

#include "common/json/value.h"
#include "gcoord/client.h"

#include <cstdint>
#include <map>
#include <string>

namespace gcoord::cli {

// Counts of one node by their names: "requests", "calls.send", "copied_bytes.frame", ...
using NodeCounts = std::map<std::string, std::uint64_t>;

class NodeCostMeter {
 public:
  // Reads the nodes' counts: the beginning.
  explicit NodeCostMeter(client::Client& client) : client_(client), begin_(read()) {}

  // Since the beginning: an object of figures, or null where no node counts. `pairs` is the number
  // of pairs of acquire and release that the run has made, or of its operations.
  Json cost(std::uint64_t pairs);

 private:
  std::map<std::uint32_t, NodeCounts> read();

  client::Client& client_;
  std::map<std::uint32_t, NodeCounts> begin_;
};

// The counts of a status report; empty: it has none.
NodeCounts counts_of(const std::string& report);

// The figures of these counts: for each request the system calls, the bytes copied, and how many
// requests and replies a frame has; for each pair the time of processors. Pure.
Json cost_json(const NodeCounts& counts, std::uint64_t pairs);

// Such an object as a sentence.
std::string cost_sentence(const Json& cost);

}  // namespace gcoord::cli
