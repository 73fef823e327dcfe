// Failure detection of a node, made of its options, and as JSON for operators. One thread, the
// loop's.
#pragma once

#include "common/host/metrics.h"
#include "common/json/value.h"
#include "server/detector/node_detector.h"
#include "server/interfaces/replicated_log.h"
#include "server/options/options.h"

namespace gcoord::server {

class Detection {
 public:
  // As NodeDetector::Environment.
  Detection(const NodeOptions& options, NodeDetector::Environment environment);

  NodeDetector& detector() { return detector_; }

  const NodeDetector& detector() const { return detector_; }

  // $defs/detector of docs/reference/schemas/gcoordctl.json. Times of nodes are ages in
  // milliseconds.
  Json report() const;

 private:
  NodeDetector::Environment environment_;
  NodeDetector detector_;
};

}  // namespace gcoord::server
