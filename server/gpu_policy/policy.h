// The operator's policy for faults of a node's GPU: --gpu-policy CLASS=ACTION,...
//
// A class is what was seen; an action is what the node does about it. Names are for scripts and
// never change. Xid numbers are those of NVIDIA's "Xid Errors". Pure; any thread.
#pragma once

#include "common/status.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gcoord::server {

enum class GpuFault : std::uint8_t {
  XidFatal,          // The GPU or its firmware has stopped, or fell off the bus.
  XidProgram,        // A program's error, which may be another process's on the same GPU.
  EccUncorrected,    // Memory was wrong and could not be corrected.
  EccCorrectedRate,  // Memory is corrected often, or a row of it was replaced.
  LinkError,         // An NVLink failed or had to recover.
  Thermal,           // Clocks are low because of heat.
  Hung,              // The driver answers no reading any more.
};

inline constexpr std::size_t kGpuFaults = 7;

enum class GpuAction : std::uint8_t {
  Ignore,          // It shows in metrics alone.
  Log,             // A line of the log when it begins and when it ends.
  Drain,           // The node gives its leaderships away and takes none until it ends.
  RestartContext,  // The node closes the device and all of itself, and opens both anew.
  Stop,            // The process ends.
};

inline constexpr std::size_t kGpuActions = 5;

std::string_view gpu_fault_name(GpuFault fault);
std::string_view gpu_action_name(GpuAction action);

struct GpuPolicy {
  // A state that memory may have spoiled is built anew, and a GPU that is gone helps nobody. What
  // may get worse costs no availability, so leaderships go elsewhere.
  std::array<GpuAction, kGpuFaults> actions = {GpuAction::Stop,
                                               GpuAction::Log,
                                               GpuAction::RestartContext,
                                               GpuAction::Log,
                                               GpuAction::Drain,
                                               GpuAction::Log,
                                               GpuAction::Drain};

  std::array<bool, kGpuFaults> given{};  // By the operator; the others are defaults.

  GpuAction of(GpuFault fault) const { return actions[static_cast<std::size_t>(fault)]; }

  // The same actions, whoever chose them.
  friend bool operator==(const GpuPolicy& a, const GpuPolicy& b) { return a.actions == b.actions; }
};

// The policy of a node whose state is in memory alone: ecc-uncorrected=drain, where the operator
// has not said otherwise. All nodes on a GPU see such an error at once, and a node that is opened
// anew has forgotten: a majority of those would end the cluster's memory (GC5008).
GpuPolicy gpu_policy_in_memory(GpuPolicy policy);

// "xid-fatal=stop,thermal=drain": classes that are not named keep their defaults. InvalidArgument,
// with what is allowed, for anything else, for a class named twice, and for hung=restart-context: a
// driver that does not answer does not let a context be closed.
Result<GpuPolicy> parse_gpu_policy(std::string_view text);

// All classes, as parse_gpu_policy() takes them.
std::string gpu_policy_text(const GpuPolicy& policy);

// The class of an Xid; none: it says nothing of the node's GPU that is worth an action.
std::optional<GpuFault> fault_of_xid(std::uint32_t number);

}  // namespace gcoord::server
