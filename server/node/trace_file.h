// Traces of nodes: every transition of every shard as one line of JSON
// (docs/reference/machine_interfaces.md).
//
//   {"tick","node","shard","term","vote","role","leader","last","commit","applied","durable",
//    "cause","state_hash"}
//
// The host of a resident turn sees less (server/resident/trace/sightings.h): vote, last, commit,
// durable, and now and then term and state_hash, are left out there.
//
// Buffered and written by the loop's thread, so a trace slows a node down; it is for checking
// implementations against the specification, not for production. A failed write ends the trace, not
// the node, and is logged once.
#pragma once

#include "common/status.h"
#include "server/interfaces/replica_view.h"
#include "server/resident/trace/sightings.h"

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

namespace gcoord::server {

class TraceFile {
 public:
  // A file is one life of one node: where there is one already, PATH.2 is written, or PATH.3 and so
  // on, and path() says which.
  static Result<std::unique_ptr<TraceFile>> open(const std::string& path);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  void write(const ShardTransition& transition);
  void write(const TurnSighting& sighting);

  const std::string& path() const { return path_; }

 private:
  void put(const std::string& line);

  TraceFile(std::FILE* file, std::string path) : file_(file), path_(std::move(path)) {}

  std::FILE* file_ = nullptr;
  std::string path_;
  bool failed_ = false;
};

}  // namespace gcoord::server
