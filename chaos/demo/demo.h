// The demo: three real nodes, a mixed load from several client processes, a kill -9 in the middle,
// and a judgement over everything the clients were told.
//
// Blocking; one per process. Talks on stdout, step by step.
#pragma once

#include "common/status.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gcoord::chaos {

struct DemoOptions {
  std::filesystem::path gcoordd;
  std::filesystem::path self;  // This program, which is its own worker.
  std::filesystem::path
      directory;                // Data directories, logs and histories go into a fresh one here.
  std::string device = "auto";  // auto, cpu or cuda:N (device_pick.h).
  std::uint32_t shards = 65'536;
  std::uint32_t clients = 4;  // Client processes.
  std::uint32_t lanes = 16;   // Requests that each of them keeps under way.
  std::chrono::milliseconds length{10'000};
  std::string durability = "durable";  // Or memory.
  // host, resident (the turn on the device itself, docs/reference/devices.md), or auto: where there
  // are GPUs each way is tried for a moment, and the fastest is taken (way_trial.h).
  std::string turn = "auto";
  bool keep = false;
};

struct NodeRow {
  std::uint32_t node_id = 0;
  std::string client_address;
  std::uint32_t leaders = 0;
  double resident_mib = 0;
  double cpu_seconds = 0;
  std::uint32_t incarnation = 0;
  std::string stepper;  // As the node says: "cpu", "cuda:0".
};

// What the clients did.
struct DemoLoad {
  double seconds = 0;
  std::uint64_t operations = 0;
  std::uint64_t grants = 0;
  std::uint64_t waited_grants = 0;  // Of them, of waiting requests.
  std::uint64_t releases = 0;
  std::uint64_t expiries = 0;  // Locks that were forgotten, and came free by expiry.
  std::uint64_t unknown = 0;   // Operations whose outcome the client could not learn.
  std::uint64_t sessions_lost = 0;
  double commits_per_s = 0;
  double acquire_p50_ms = 0;
  double acquire_p99_ms = 0;
};

// The node that was killed, and what came after it.
struct DemoKill {
  std::uint32_t node = 0;
  std::uint32_t leaders = 0;  // Shards that it led.
  double failover_ms = 0;
  double restart_ms = 0;  // From its start until the killed node served again.
  double readmit_ms = 0;  // Memory mode: until it voted in every shard again.
};

// What the checkers found.
struct DemoVerdict {
  std::uint64_t violations = 0;     // Of any invariant, by any checker.
  std::uint64_t undecided = 0;      // Checkers that could not judge to the end.
  std::uint64_t double_grants = 0;  // Of them: I11 and I18.
  std::uint64_t lost_acks = 0;      // Of them: I8 and I10; and names that are stuck.
  std::uint64_t names_stuck = 0;    // Nobody could take them at the end; part of lost_acks.
};

struct DemoResult {
  std::uint32_t nodes = 0;
  std::uint32_t shards = 0;
  std::string stepper;  // Of node 1, as it says itself; so is turn.
  std::string turn;
  std::string device_reason;  // Why the nodes run where they do.
  std::string durability;
  bool tls = false;     // Nodes speak TLS with each other, as node 1 says, and with clients.
  double start_ms = 0;  // From the first process until every shard was led.
  DemoLoad load;
  DemoKill kill;
  DemoVerdict verdict;
  std::uint32_t shards_compared = 0;
  std::uint32_t shards_different = 0;
  bool roots_agree = false;
  std::vector<NodeRow> node_rows;
  std::string first_fault;  // Empty when every check held.

  bool passed() const { return first_fault.empty(); }
};

// Fails when the demo could not be carried out; a check that does not hold is in the result. On
// either, the directory is kept and named on stdout.
Result<DemoResult> run_demo(const DemoOptions& options);

}  // namespace gcoord::chaos
