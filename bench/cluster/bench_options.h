// Options and result type that all benchmarks of whole clusters share.
//
// A benchmark talks on stderr, returns one JSON object, and leaves keeping and printing it to
// main.cc. Blocking; minutes rather than seconds.
#pragma once

#include "common/json/value.h"
#include "common/status.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gcoord::bench {

struct BenchOptions {
  // For data directories and logs. Must lie on a real disk, the same for all that is compared.
  std::filesystem::path directory;
  std::filesystem::path gcoordd;
  std::uint32_t shards = 65'536;
  std::uint32_t runs = 3;
  std::chrono::milliseconds measured{5000};
  std::uint32_t clients = 256;
  std::uint32_t names = 10'000'000;  // Of locks.
  std::uint32_t leases = 1'000'000;
  std::uint32_t watches = 1'000'000;  // Of one name, at most.
  std::uint32_t waiters = 100'000;    // For one lock, at most.
  std::uint32_t members = 64;         // Of a group.
  std::uint32_t burst = 2000;         // Of them, that come together.
  bool kill_leader = false;           // Of the lock that they wait for, half-way.
  std::string part = "all";           // Of a benchmark that has parts.
  bool one_session = false;           // The clients of a load are names of one session.
  std::string node_cores;             // What nodes run on; empty: what the benchmark does.
  std::string skew = "uniform";       // Of names: uniform or zipf.
  std::uint32_t batch = 0;            // Commands of a batch of locks; 0: three sizes.
  // Of locks on a device: entries that a row has decided when its whole group applies them; 0:
  // never. Several are measured in turn. None: as LockTurnWork has it.
  std::vector<std::uint32_t> together;
  std::string durability = "durable";  // Of the cluster: durable or memory.
  std::string device = "cpu";          // What runs: cpu, cuda:N, or cuda:N,cuda:M.
  std::string turn = "host";           // Of the cluster's nodes: host or resident.
  std::uint32_t tick_ms = 10;          // Of the cluster's nodes.
  bool quick = false;                  // Of vs: a brief look that is no measurement.
  std::string peers = "all";           // Of vs: who takes part, for example gcoord,etcd-3.4.
  std::string etcd35;                  // Of vs: the program of etcd 3.5; empty: there is none.
  std::string hash;                    // Of turn: see turn/turn_hash.h; empty: nothing is hashed.
};

using BenchResult = Result<Json>;

// Long enough for a million shards on a slow disk.
inline constexpr std::chrono::minutes kStartTimeout{2};

}  // namespace gcoord::bench
