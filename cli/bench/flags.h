// Options of gcoordctl bench, and the plan that they make.
#pragma once

#include "cli/bench/closed_lock.h"
#include "cli/bench/load/plan.h"
#include "cli/terminal/command.h"

#include <cstdint>
#include <optional>
#include <string>

namespace gcoord::cli {

// As the user gave them; empty: not given.
struct BenchFlags {
  std::string operation;
  std::string load;
  std::optional<std::uint32_t> rate;
  std::optional<std::uint32_t> clients;
  std::optional<std::uint32_t> connections;
  std::optional<std::uint32_t> threads;
  std::optional<std::uint32_t> keys;
  std::string distribution;
  std::string duration;
  std::string ttl = "10s";
  std::string csv;
  std::string report;
  std::string histogram;
  std::string compare;

  // Of the closed loop of `bench lock`.
  std::string seconds;
  std::optional<std::uint32_t> pipeline;
  std::optional<std::uint32_t> batch;
  std::string names;
  std::string history;

  // Whether operations are due by a clock: always but for `bench lock` without a rate.
  bool open_loop() const { return operation != "lock" || rate.has_value() || !load.empty(); }
};

void add_open_flags(Command& verb, BenchFlags& flags);

// Besides, of `bench lock`.
void add_closed_flags(Command& verb, BenchFlags& flags);

// Nothing when an option cannot be used, which has been printed.
std::optional<BenchPlan> plan_of(Context& context, const BenchFlags& flags);
std::optional<ClosedLockFlags> closed_plan_of(Context& context, const BenchFlags& flags);

}  // namespace gcoord::cli
