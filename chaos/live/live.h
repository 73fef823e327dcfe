// Live chaos: real gcoordd processes under a checked load, faults injected from one seed, healed,
// and judged.
//
// Blocking; one per process. Everything that it starts ends with it. Talks on stdout.
#pragma once

#include "chaos/demo/worker.h"
#include "chaos/live/step_position.h"
#include "chaos/rings/client_way.h"
#include "common/status.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::chaos {

struct LiveOptions {
  std::filesystem::path gcoordd;
  std::filesystem::path library;            // The shim.
  std::vector<std::string> worker_command;  // What runs run_worker, without its arguments.
  // What runs run_ring_attacker(), without its arguments.
  std::vector<std::string> attacker_command;
  std::filesystem::path directory;  // A fresh one is made here.
  std::filesystem::path report;     // The page; empty: none.
  std::string replay;               // The command that runs this again.
  std::uint32_t nodes = 5;
  std::uint32_t shards = 64;
  std::uint32_t clients = 4;  // Client processes.
  ClientWay client_way = ClientWay::Tcp;
  std::uint32_t rate = 1500;  // Operations a second that they ask for together.
  std::chrono::seconds length{60};
  std::uint64_t seed = 1;
  std::vector<std::string> faults;  // Classes; empty: all.
  StepPosition place;  // A turn that is resident writes no trace: histories are judged.
  bool keep = false;
  // Whether a shard that is led too late after healing fails the run. Not in tests, which must not
  // depend on the speed of a machine.
  bool judges_time = true;
};

// One class in the result.
struct FaultTally {
  std::string name;
  std::string table;  // Its number in docs/internals/faults.md.
  std::uint32_t injected = 0;
  std::uint64_t felt = 0;
  std::string skip;          // Why it cannot be injected here; empty: it can.
  double full_worst_ms = 0;  // As below, the worst of them; 0: no node lost what it had.
};

// One strike, in nanoseconds of the histories' clock.
struct StrikeRecord {
  std::uint32_t number = 0;
  std::string fault;
  std::string what;
  std::string outcome;
  std::uint64_t from_ns = 0;
  std::uint64_t healed_ns = 0;
  std::uint64_t over_ns = 0;  // Led everywhere again, and the grace after it is over.
  double led_after_ms = 0;    // From healing until every shard had a leader.
  // From the beginning of healing until each node voted in all shards again; 0: none had lost what
  // it had.
  double full_after_ms = 0;
};

// What a node led at a moment; -1: it did not answer.
struct LeaderSample {
  std::uint64_t at_ns = 0;
  std::uint32_t node = 0;
  std::int32_t leaders = -1;
};

// The classes that `names` asks for, or all. InvalidArgument names one that does not exist.
Status check_fault_names(const std::vector<std::string>& names, const StepPosition& place = {});

// One line for each class: its name, its number, whether it can be injected here.
std::string list_faults(const StepPosition& place = {});

// Exit code: 0 nothing is wrong, 1 something is, or is undecided, or could not be carried out.
int run_live(const LiveOptions& options, bool json);

}  // namespace gcoord::chaos
