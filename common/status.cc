#include "common/status.h"

#include <array>
#include <cstdio>

namespace gcoord {

std::string_view status_code_name(StatusCode code) {
  static constexpr std::array<std::string_view, 17> kNames = {"OK",
                                                              "CANCELLED",
                                                              "UNKNOWN",
                                                              "INVALID_ARGUMENT",
                                                              "DEADLINE_EXCEEDED",
                                                              "NOT_FOUND",
                                                              "ALREADY_EXISTS",
                                                              "PERMISSION_DENIED",
                                                              "RESOURCE_EXHAUSTED",
                                                              "FAILED_PRECONDITION",
                                                              "ABORTED",
                                                              "OUT_OF_RANGE",
                                                              "UNIMPLEMENTED",
                                                              "INTERNAL",
                                                              "UNAVAILABLE",
                                                              "DATA_LOSS",
                                                              "UNAUTHENTICATED"};
  const auto index = static_cast<std::size_t>(code);
  return index < kNames.size() ? kNames[index] : std::string_view{"UNKNOWN"};
}

std::string Status::to_string() const {
  if (ok()) {
    return "OK";
  }
  std::string text{status_code_name(code_)};
  if (!message_.empty()) {
    text += ": " + message_;
  }
  if (detail_ != 0) {
    std::array<char, 16> suffix{};
    std::snprintf(suffix.data(), suffix.size(), " (GC%04u)", detail_);
    text += suffix.data();
  }
  return text;
}

}  // namespace gcoord
