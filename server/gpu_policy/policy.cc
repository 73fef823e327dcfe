#include "server/gpu_policy/policy.h"

#include <algorithm>

namespace gcoord::server {
namespace {

constexpr std::array<std::string_view, kGpuFaults> kFaultNames = {"xid-fatal",
                                                                  "xid-program",
                                                                  "ecc-uncorrected",
                                                                  "ecc-corrected-rate",
                                                                  "link-error",
                                                                  "thermal",
                                                                  "hung"};
constexpr std::array<std::string_view, kGpuActions> kActionNames = {
    "ignore", "log", "drain", "restart-context", "stop"};

struct XidClass {
  std::uint32_t number;
  GpuFault fault;
};

constexpr std::array kXids = {
    XidClass{13, GpuFault::XidProgram},        // Exception of the graphics engine.
    XidClass{31, GpuFault::XidProgram},        // Fault of the memory management unit.
    XidClass{32, GpuFault::XidProgram},        // Invalid or corrupted push buffer.
    XidClass{43, GpuFault::XidProgram},        // A channel was reset.
    XidClass{45, GpuFault::XidProgram},        // Clean-up after an earlier error.
    XidClass{46, GpuFault::XidFatal},          // The GPU stopped processing.
    XidClass{48, GpuFault::EccUncorrected},    // Double bit error.
    XidClass{61, GpuFault::XidFatal},          // Micro-controller: breakpoint.
    XidClass{62, GpuFault::XidFatal},          // Micro-controller: halt.
    XidClass{63, GpuFault::EccCorrectedRate},  // A row or page of memory is to be replaced.
    XidClass{64, GpuFault::EccUncorrected},    // And cannot be.
    XidClass{74, GpuFault::LinkError},         // NVLink.
    XidClass{79, GpuFault::XidFatal},          // Fell off the bus.
    XidClass{92, GpuFault::EccCorrectedRate},  // High rate of single bit errors.
    XidClass{94, GpuFault::EccUncorrected},    // Contained.
    XidClass{95, GpuFault::EccUncorrected},    // Not contained.
    XidClass{109, GpuFault::XidFatal},         // A context switch timed out.
    XidClass{110, GpuFault::XidFatal},         // Security fault.
    XidClass{119, GpuFault::XidFatal},         // The GPU's system processor does not answer.
    XidClass{120, GpuFault::XidFatal},         // It has failed.
    XidClass{136, GpuFault::LinkError},        // NVLink: training failed.
    XidClass{140, GpuFault::EccUncorrected},   // Unrecovered.
    XidClass{143, GpuFault::XidFatal},         // It did not come up.
    XidClass{149, GpuFault::LinkError},        // NVLink: fatal.
    XidClass{150, GpuFault::LinkError},        // NVLink: switch.
};

template <typename Value, std::size_t count>
std::optional<Value> named(const std::array<std::string_view, count>& names,
                           std::string_view name) {
  const auto* const found = std::ranges::find(names, name);
  return found == names.end() ? std::nullopt
                              : std::optional{static_cast<Value>(found - names.begin())};
}

template <std::size_t count>
std::string list_of(const std::array<std::string_view, count>& names) {
  std::string text;
  for (const std::string_view name : names) {
    text += (text.empty() ? "" : ", ") + std::string{name};
  }
  return text;
}

Status wrong(std::string message) {
  return {StatusCode::InvalidArgument, std::move(message)};
}

}  // namespace

std::string_view gpu_fault_name(GpuFault fault) {
  return kFaultNames[static_cast<std::size_t>(fault)];
}

std::string_view gpu_action_name(GpuAction action) {
  return kActionNames[static_cast<std::size_t>(action)];
}

Result<GpuPolicy> parse_gpu_policy(std::string_view text) {
  GpuPolicy policy;
  while (!text.empty()) {
    const std::string_view rule = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), rule.size() + 1));
    const std::size_t sign = rule.find('=');
    const auto fault = named<GpuFault>(kFaultNames, rule.substr(0, sign));
    const auto action = sign == std::string_view::npos
                            ? std::nullopt
                            : named<GpuAction>(kActionNames, rule.substr(sign + 1));
    if (!fault.has_value() || !action.has_value()) {
      return wrong("'" + std::string{rule} + "' is no CLASS=ACTION; classes are " +
                   list_of(kFaultNames) + "; actions are " + list_of(kActionNames));
    }
    bool& already = policy.given[static_cast<std::size_t>(*fault)];
    if (already) {
      return wrong("'" + std::string{gpu_fault_name(*fault)} + "' is named twice");
    }
    if (*fault == GpuFault::Hung && *action == GpuAction::RestartContext) {
      return wrong("a driver that hangs lets no context be closed: give hung another action");
    }
    already = true;
    policy.actions[static_cast<std::size_t>(*fault)] = *action;
  }
  return policy;
}

GpuPolicy gpu_policy_in_memory(GpuPolicy policy) {
  constexpr auto kEcc = static_cast<std::size_t>(GpuFault::EccUncorrected);
  if (!policy.given[kEcc]) {
    policy.actions[kEcc] = GpuAction::Drain;
  }
  return policy;
}

std::string gpu_policy_text(const GpuPolicy& policy) {
  std::string text;
  for (std::size_t k = 0; k < kGpuFaults; ++k) {
    const auto fault = static_cast<GpuFault>(k);
    text += (text.empty() ? "" : ",") + std::string{gpu_fault_name(fault)} + "=" +
            std::string{gpu_action_name(policy.of(fault))};
  }
  return text;
}

std::optional<GpuFault> fault_of_xid(std::uint32_t number) {
  const auto* const found = std::ranges::find(kXids, number, &XidClass::number);
  return found == kXids.end() ? std::nullopt : std::optional{found->fault};
}

}  // namespace gcoord::server
