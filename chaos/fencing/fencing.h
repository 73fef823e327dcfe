// Holders stopped beyond their TTL, by the hundred, with a store that looks at tokens and one that
// does not: gcoord's locks, and etcd's from Debian beside them.
//
// Blocking; one per process. Everything that it starts ends with it.
#pragma once

#include "chaos/check/checks.h"
#include "common/json/value.h"
#include "common/status.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gcoord::chaos {

struct FencingOptions {
  std::filesystem::path gcoordd;
  std::vector<std::string> worker_command;  // What runs run_fencing_worker.
  std::filesystem::path directory;          // Fresh ones are made here.
  std::uint64_t grants = 100'000;           // Contended ones, at least.
  std::uint64_t stopped = 1'000;            // Holders to be stopped beyond their TTL, at least.
  std::uint32_t processes = 6;
  std::uint32_t lanes = 32;  // In each; those of one number contend for one name.
  std::uint64_t seed = 1;
  std::chrono::seconds ttl{2};
  std::chrono::seconds length_max{1200};  // Of the run against each system.
  bool etcd = false;                      // The same against etcd.
  bool keep = false;
};

struct FencingResult {
  std::string system;  // gcoord, etcd.
  double seconds = 0;
  std::uint64_t grants = 0;
  std::uint64_t contended = 0;        // Of them: somebody else was waiting at that moment.
  std::uint64_t stops = 0;            // Of client processes.
  std::uint64_t holders_stopped = 0;  // That held a lock when they were stopped.
  std::uint64_t writes = 0;
  std::uint64_t stale_writes = 0;  // Tried by holders that were none any more.
  std::uint64_t stale_accepted = 0;
  std::uint64_t errors = 0;
  CheckSummary checks;  // gcoord only: of the whole history.
  bool judged = false;

  bool passed() const;
};

Result<FencingResult> run_fencing(const FencingOptions& options, bool etcd);

Json to_json(const FencingResult& result);
std::string to_text(const std::vector<FencingResult>& results);

}  // namespace gcoord::chaos
