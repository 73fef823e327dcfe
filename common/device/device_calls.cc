#include "common/device/device_calls.h"

#include <charconv>

namespace gcoord {

Result<DeviceFaultPlan> parse_device_fault(std::string_view text) {
  DeviceFaultPlan plan;
  const std::size_t colon = text.find(':');
  constexpr std::string_view kOfSweeps = "sweep-";
  std::string_view kind = text.substr(0, colon);
  if (kind.substr(0, kOfSweeps.size()) == kOfSweeps) {
    plan.part = DeviceFaultPlan::Part::Sweeps;
    kind.remove_prefix(kOfSweeps.size());
  }
  const std::string_view digits = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), plan.number);
  const bool whole = error == std::errc{} && end == digits.data() + digits.size();
  plan.kind = kind == "call"   ? DeviceFaultPlan::Kind::Call
              : kind == "hang" ? DeviceFaultPlan::Kind::Hang
              : kind == "flip" ? DeviceFaultPlan::Kind::Flip
                               : DeviceFaultPlan::Kind::None;
  const bool flips_sweep =
      plan.kind == DeviceFaultPlan::Kind::Flip && plan.part == DeviceFaultPlan::Part::Sweeps;
  if (plan.kind == DeviceFaultPlan::Kind::None || flips_sweep || !whole || plan.number == 0) {
    return Status{
        StatusCode::InvalidArgument,
        "'" + std::string(text) +
            "' is none of call:N, hang:N and flip:N, nor sweep-call:N and sweep-hang:N, N "
            "from 1 on"};
  }
  return plan;
}

DeviceFaultPlan::Kind DeviceCalls::begin_launch() {
  ++launches_;
  const bool meant = plan_.kind != DeviceFaultPlan::Kind::Call && launches_ == plan_.number;
  return meant ? plan_.kind : DeviceFaultPlan::Kind::None;
}

DeviceFaultPlan::Kind DeviceCalls::begin_look() {
  if (plan_.kind != DeviceFaultPlan::Kind::Flip || launches_ + 1 != plan_.number) {
    return DeviceFaultPlan::Kind::None;
  }
  plan_ = DeviceFaultPlan{};
  return DeviceFaultPlan::Kind::Flip;
}

void DeviceCalls::inject(DeviceFaultPlan plan) {
  plan_ = plan;
  plan_.number += plan.kind == DeviceFaultPlan::Kind::Call ? made_ : launches_;
}

Status DeviceCalls::begin(std::string_view what) {
  if (!failure_.ok()) {
    return failure_;
  }
  ++made_;
  if (plan_.kind == DeviceFaultPlan::Kind::Call && made_ == plan_.number) {
    return fail(Status{StatusCode::Internal,
                       std::string(what) + ": injected at call " + std::to_string(made_),
                       kDeviceFailed});
  }
  return {};
}

Status DeviceCalls::end(Status status) {
  return status.ok() ? status : fail(std::move(status));
}

Status DeviceCalls::fail(Status status) {
  GCOORD_ASSERT(!status.ok());
  if (status.detail() == 0) {
    status = Status{status.code(), status.message(), kDeviceFailed};
  }
  if (failure_.ok()) {
    failure_ = status;
  }
  return status;
}

}  // namespace gcoord
