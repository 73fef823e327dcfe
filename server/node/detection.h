// Failure detection of a node, made of its options, and as JSON for operators. One thread, the
// loop's.
#pragma once

#include "common/host/metrics.h"
#include "common/json/value.h"
#include "protocol/members/alarm_messages.h"
#include "protocol/members/view_messages.h"
#include "server/detector/alarm_requests.h"
#include "server/detector/node_detector.h"
#include "server/interfaces/replicated_log.h"
#include "server/options/options.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::server {

class Detection {
 public:
  // As NodeDetector::Environment. `replies` outlives it.
  Detection(const NodeOptions& options,
            NodeDetector::Environment environment,
            protocol::ReplySink& replies);

  NodeDetector& detector() { return detector_; }

  const NodeDetector& detector() const { return detector_; }

  AlarmRequests& alarm_requests() { return alarm_requests_; }

  // What the armed alarms say, one after the other; empty: there are none.
  std::string armed_alarms() const;

  // How the node holds the others, for who asks for the view.
  std::vector<protocol::MemberVerdict> verdicts() const;

  // How much this node suspects the other; none: it does not watch it (yet).
  std::optional<std::uint32_t> phi_milli(NodeId node) const;

  // $defs/detector of docs/reference/schemas/gcoordctl.json. Times of nodes are ages in
  // milliseconds.
  Json report() const;

 private:
  std::vector<protocol::AlarmRow> rows() const;

  NodeDetector::Environment environment_;
  NodeDetector detector_;
  AlarmRequests alarm_requests_;
};

}  // namespace gcoord::server
