#include "server/platform/device_choice.h"

#include "common/device/device_errors.h"
#include "consensus/device/device_stepper.h"
#include "consensus/device/stand_in_device.h"
#include "consensus/device/stepper_cuda.h"
#include "protocol/error_codes.h"
#include "server/platform/boot_time.h"
#include "server/platform/device_busy_wait.h"

#include <charconv>

namespace gcoord::server {
namespace {

// The places of the numbers in the one table (docs/reference/errors.md).
static_assert(kDeviceBuild == static_cast<std::uint32_t>(protocol::ErrorCode::DeviceBuild));
static_assert(kDeviceAbsent == static_cast<std::uint32_t>(protocol::ErrorCode::DeviceAbsent));
static_assert(kDeviceMemory == static_cast<std::uint32_t>(protocol::ErrorCode::DeviceMemory));
static_assert(kDeviceBusy == static_cast<std::uint32_t>(protocol::ErrorCode::DeviceBusy));
static_assert(kDeviceFailed == static_cast<std::uint32_t>(protocol::ErrorCode::DeviceFailed));
static_assert(kDeviceOverrun == static_cast<std::uint32_t>(protocol::ErrorCode::DeviceOverrun));
static_assert(kDeviceExhausted == static_cast<std::uint32_t>(protocol::ErrorCode::DeviceExhausted));
static_assert(kDeviceDiffers == static_cast<std::uint32_t>(protocol::ErrorCode::DeviceDiffers));

Result<std::unique_ptr<consensus::Stepper>> open_cuda(std::uint32_t index,
                                                      const StepperOptions& options) {
  return consensus::make_cuda_stepper({.device = static_cast<int>(index),
                                       .row_count = options.row_count,
                                       .slot_count = options.slot_count,
                                       .clock_us = [] { return boot_time_us(); },
                                       .fault = options.fault,
                                       .check_one_in = options.check_one_in});
}

Result<std::unique_ptr<consensus::Stepper>> open_twin(const StepperOptions& options) {
  return consensus::make_device_stepper(std::make_unique<consensus::StandInDevice>(options.fault),
                                        {.row_count = options.row_count,
                                         .slot_count = options.slot_count,
                                         .check_one_in = options.check_one_in});
}

ChosenStepper cpu(const StepperOptions& options, std::string why) {
  return {consensus::make_cpu_stepper(options.row_count, options.slot_count), std::move(why)};
}

std::string name_with_product(const consensus::Stepper& stepper) {
  const consensus::StepperReport report = stepper.report();
  return report.name + " (" + report.product + ")";
}

ChosenStepper first_usable(const StepperOptions& options) {
  auto stepper = open_first(consensus::cuda_device_count(),
                            [&](std::uint32_t index) { return open_cuda(index, options); });
  if (!stepper.ok()) {
    return cpu(options, "auto: the CPU, because " + stepper.status().message());
  }
  std::string why = "auto: " + name_with_product(*stepper.value()) + " can be used";
  return {std::move(stepper).value(), std::move(why)};
}

}  // namespace

Result<DeviceChoice> parse_device_choice(std::string_view text) {
  constexpr std::string_view kPrefix = "cuda:";
  constexpr std::uint32_t kIndexMax = 255;  // More devices than any machine has.
  if (text == "cpu") {
    return DeviceChoice{};
  }
  if (text == "auto") {
    return DeviceChoice{.kind = DeviceChoice::Kind::Auto};
  }
  if (text == "twin") {
    return DeviceChoice{.kind = DeviceChoice::Kind::Twin};
  }
  DeviceChoice choice{.kind = DeviceChoice::Kind::Cuda};
  const std::string_view digits = text.substr(std::min(kPrefix.size(), text.size()));
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), choice.index);
  const bool whole = error == std::errc{} && end == digits.data() + digits.size();
  if (text.substr(0, kPrefix.size()) != kPrefix || !whole || choice.index > kIndexMax) {
    return Status{
        StatusCode::InvalidArgument,
        "'" + std::string(text) + "' is none of cpu, auto, twin and cuda:N, for example cuda:0"};
  }
  return choice;
}

Result<ChosenStepper> choose_stepper(const StepperOptions& options) {
  switch (options.device.kind) {
    case DeviceChoice::Kind::Cpu:
      return cpu(options, "cpu was requested, or is the default");
    case DeviceChoice::Kind::Auto:
      return first_usable(options);
    case DeviceChoice::Kind::Cuda:
    case DeviceChoice::Kind::Twin:
      break;
  }
  const bool twin = options.device.kind == DeviceChoice::Kind::Twin;
  auto stepper = twin ? open_twin(options) : open_patiently(device_patience(), [&options] {
    return open_cuda(options.device.index, options);
  });
  if (!stepper.ok()) {
    return explain_device(stepper.status());
  }
  std::string why = name_with_product(*stepper.value()) + " was requested by name";
  return ChosenStepper{std::move(stepper).value(), std::move(why)};
}

Result<std::unique_ptr<sessions::SweepDevice>> open_sweep_device(const DeviceChoice& choice) {
  switch (choice.kind) {
    case DeviceChoice::Kind::Cuda:
      return sessions::make_cuda_sweep_device(static_cast<int>(choice.index));
    case DeviceChoice::Kind::Twin:
      return sessions::make_host_sweep_device();
    case DeviceChoice::Kind::Cpu:
    case DeviceChoice::Kind::Auto:
      break;
  }
  return std::unique_ptr<sessions::SweepDevice>{};
}

Status explain_device(const Status& status) {
  const bool known = status.detail() >= kDeviceBuild && status.detail() <= kDeviceDiffers &&
                     protocol::find_error(status.detail()) != nullptr;
  return known ? protocol::make_error(static_cast<protocol::ErrorCode>(status.detail()),
                                      status.message())
               : status;
}

}  // namespace gcoord::server
