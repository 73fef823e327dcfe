#include "server/gpu_guard/open.h"

#include "netcore/device/gpu_device.h"

#include <utility>

namespace gcoord::server {

std::optional<std::uint32_t> gpu_index(const std::string& stepper) {
  const auto index = netcore::parse_gpu_name(stepper);
  return index.ok() ? std::optional{index.value()} : std::nullopt;
}

std::unique_ptr<GpuGuard> open_gpu_guard(const NodeOptions& options,
                                         const std::string& stepper,
                                         MetricsRegistry& metrics) {
  if (options.device.kind == DeviceChoice::Kind::Cpu) {
    return nullptr;
  }
  const bool twin = options.device.kind == DeviceChoice::Kind::Twin;
  const bool fake = !options.nvml_library.empty();
  GpuGuardOptions guard{.policy = gpu_policy_of(options),
                        .quiet_ms = options.gpu_quiet_ms,
                        .uuid = {},
                        .takes_first = twin && fake,
                        .stripes = options.turn == TurnOption::Resident ? options.turn_stripes : 0,
                        .reopened = options.gpu_reopened};
  if (const auto index = gpu_index(stepper); index.has_value()) {
    if (const auto facts = netcore::gpu_facts(*index); facts.ok()) {
      guard.uuid = gpu_uuid_text(facts.value().uuid);
    }
  }
  auto sampler =
      twin && !fake
          ? nullptr
          : std::make_unique<GpuSampler>(nvml_source(fake ? options.nvml_library : kNvmlLibrary));
  return std::make_unique<GpuGuard>(std::move(guard), std::move(sampler), metrics);
}

}  // namespace gcoord::server
