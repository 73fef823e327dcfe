// Trial of a stepper: how long it takes for a turn of ordinary size.
//
// A row of the trial leads alone, so it needs no other node: in each turn it takes one command and
// hears that the one before is stored and applied. Turns of a node under load have tens of such
// rows; a device that only wins with thousands is the slower one for its clients. One thread;
// blocks for about TrialTurns::most.
#pragma once

#include "common/status.h"
#include "consensus/step/stepper.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace gcoord::server {

struct TrialTurns {
  using Clock = std::function<std::chrono::nanoseconds()>;

  std::uint32_t rows = 64;      // Of a turn; the stepper has at least as many.
  std::uint32_t count = 1'000;  // Turns at most, and
  std::chrono::nanoseconds most = std::chrono::milliseconds{100};  // no more after so long.
  Clock now = [] { return std::chrono::steady_clock::now().time_since_epoch(); };
};

// The median time of a turn, over rows of a stepper that was never used, and is not to be used for
// anything else after. Failures: the stepper's; Internal where its rows do not decide what they are
// given.
Result<std::chrono::nanoseconds> time_turn(consensus::Stepper& stepper, const TrialTurns& turns);

// What a trial said of one way to step.
struct TrialTime {
  std::string what;  // For a person: "the CPU".
  std::chrono::nanoseconds turn{0};
};

// "the CPU takes 9 us for a turn of 64 shards, cuda:0 (NVIDIA H200) takes 61 us"
std::string compare_times(const TrialTime& taken, const TrialTime& other, const TrialTurns& turns);

}  // namespace gcoord::server
