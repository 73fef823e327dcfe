// The upgrade test: three nodes or more of the previous release under a checked load; one after the
// other goes to this release, back, and up again, by SIGTERM or SIGKILL; then every judge of live
// chaos. Nodes with a resident turn do the same (docs/adr/0164). With one release for both it is a
// rolling restart.
//
// In memory mode a node that came back has forgotten its promises: the next move waits until every
// node votes in all shards again.
//
// A node of the previous release may refuse a data directory that this one has written, with
// GC2007. That is an outcome, not a failure: the node stays with this release. Everything else that
// keeps a node from serving is a failure.
//
// Blocking; one per process. Everything that it starts ends with it. Talks on stdout.
#pragma once

#include "chaos/upgrade/previous_release.h"
#include "common/status.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gcoord::chaos {

struct UpgradeOptions {
  ReleasePrograms previous;
  std::filesystem::path gcoordd;            // Of this release.
  std::vector<std::string> worker_command;  // What runs run_worker, without its arguments.
  std::filesystem::path directory;          // A fresh one is made here.
  std::uint32_t nodes = 3;
  std::uint32_t shards = 64;
  std::uint32_t clients = 2;  // Client processes.
  std::uint32_t rate = 500;   // Operations a second that they ask for together.
  std::chrono::seconds length{120};
  std::uint64_t seed = 1;
  std::string durability = "durable";
  std::string device;     // --device; empty: CPUs, and twins for resident turns.
  bool resident = false;  // --turn resident, of 3, 5 or 7 nodes.
  std::string resident_peers = "auto";
  bool trace = true;  // Not of resident turns of releases that refuse it, which 0165 ended.
  bool keep = false;
};

// Exit code: 0 nothing is wrong, 1 something is, or is undecided, or could not be carried out.
int run_upgrade(const UpgradeOptions& options, bool json);

}  // namespace gcoord::chaos
