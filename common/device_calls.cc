#include "common/device_calls.h"

#include <charconv>

namespace gcoord {

Result<DeviceFaultPlan> parse_device_fault(std::string_view text) {
  DeviceFaultPlan plan;
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const std::string_view digits = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), plan.number);
  const bool whole = error == std::errc{} && end == digits.data() + digits.size();
  if ((kind != "call" && kind != "hang") || !whole || plan.number == 0) {
    return Status{StatusCode::InvalidArgument,
                  "'" + std::string(text) + "' is neither call:N nor hang:N with N from 1 on"};
  }
  plan.kind = kind == "call" ? DeviceFaultPlan::Kind::Call : DeviceFaultPlan::Kind::Hang;
  return plan;
}

bool DeviceCalls::begin_launch() {
  ++launches_;
  return plan_.kind == DeviceFaultPlan::Kind::Hang && launches_ == plan_.number;
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
