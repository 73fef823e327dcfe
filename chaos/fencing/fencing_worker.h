// One client process of a fencing run: lanes that wait in line for the same locks, hold them for a
// while, write to a store under them before and after, and give them back. It may be stopped at any
// time, and writes when it goes on as if nothing had happened: that is what tokens are for.
//
// Blocking.
#pragma once

#include "common/status.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gcoord::chaos {

struct FencingWorkerOptions {
  std::vector<std::string> endpoints;
  std::filesystem::path directory;  // Of the run: store, board, histories.
  bool etcd = false;                // Else gcoord.
  bool guarded = true;              // The store looks at tokens.
  std::uint32_t number = 0;         // Of this process, from 1.
  std::uint32_t lanes = 16;
  std::chrono::seconds ttl{2};
};

// Prints "ready" on stdout when it begins; ends when the board says so.
Status run_fencing_worker(const FencingWorkerOptions& options);

}  // namespace gcoord::chaos
