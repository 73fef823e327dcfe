// One client process of the demo: many requests at once, of every kind, all of them in a history.
//
// Lanes, each with a session, take turns at: lock and unlock a name of their own; wait in line for
// a name that everybody wants, hold it for some milliseconds, release it; try such a name; check
// tokens held and tokens given back. Beside them one thread opens short sessions, takes a name and
// forgets about it, so that the lock must come free by expiry. Until the end a keeper lock is held.
// Under live chaos lanes also keep to a rate, write to a guarded store and outlive their sessions.
#pragma once

#include "chaos/demo/lane.h"
#include "common/status.h"
#include "gcoord/options.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gcoord::chaos {

struct WorkerOptions {
  std::vector<std::string> endpoints;
  client::TlsOptions tls{};
  std::filesystem::path history;
  std::uint32_t number = 0;  // Of this process; its name in the history.
  std::uint32_t lanes = 16;
  std::uint64_t seed = 1;
  std::chrono::milliseconds length{10'000};
  LanePlan plan;                // Without its store:
  std::filesystem::path store;  // a file that all client processes map; empty: none.
  bool leases = false;          // Beside forgotten locks, leases that are renewed for a while.
};

// Prints "ready" on stdout when its sessions are open, runs for the length, and "done" at the end.
// Fails when it could not take part, not when an operation failed: that is in the history.
Status run_worker(const WorkerOptions& options);

}  // namespace gcoord::chaos
