#include "server/platform/device_choice.h"

#include "common/assert.h"
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

// What a stepper of this kind takes for a turn; a small one, which is gone afterwards.
template <typename Open>
Result<TrialTime> try_out(const StepperOptions& options, const Open& open) {
  StepperOptions small = options;
  small.row_count = options.trial.rows;
  small.fault = {};
  GCOORD_TRY(const std::unique_ptr<consensus::Stepper> stepper, open(small));
  GCOORD_TRY(const std::chrono::nanoseconds turn, time_turn(*stepper, options.trial));
  const bool on_cpu = stepper->report().product.empty();
  return TrialTime{on_cpu ? "the CPU" : name_with_product(*stepper), turn};
}

Result<std::unique_ptr<consensus::Stepper>> open_cpu(const StepperOptions& options) {
  return consensus::make_cpu_stepper(options.row_count, options.slot_count);
}

}  // namespace

ChosenStepper choose_faster(const StepperOptions& options,
                            std::uint32_t count,
                            const OpenDevice& open) {
  std::uint32_t index = 0;
  const auto device = open_first(count, [&](std::uint32_t each) {
    index = each;
    return try_out(options, [&](const StepperOptions& small) { return open(each, small); });
  });
  if (!device.ok()) {
    return cpu(options, "auto: the CPU, because " + device.status().message());
  }
  const auto processor = try_out(options, open_cpu);
  GCOORD_ASSERT(processor.ok());  // It never fails.
  if (processor.value().turn <= device.value().turn) {
    return cpu(options, "auto: " + compare_times(processor.value(), device.value(), options.trial));
  }
  auto stepper = open(index, options);
  if (!stepper.ok()) {
    return cpu(options, "auto: the CPU, because " + stepper.status().message());
  }
  return {std::move(stepper).value(),
          "auto: " + compare_times(device.value(), processor.value(), options.trial)};
}

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
      return choose_faster(options, consensus::cuda_device_count(), open_cuda);
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
