// Expected failures: Status says what went wrong, Result<T> carries a value or a Status.
//
// Codes are the canonical ones of gRPC and absl. The message is for the operator: one cause, the
// evidence, one fix. `detail` is a stable number for scripts, printed as GC1102; 0 means that there
// is none. Host only, no exceptions.
#pragma once

#include "common/assert.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace gcoord {

// Never renumber: the codes travel in the client protocol.
enum class StatusCode : std::uint8_t {
  Ok = 0,
  Cancelled = 1,
  Unknown = 2,
  InvalidArgument = 3,
  DeadlineExceeded = 4,
  NotFound = 5,
  AlreadyExists = 6,
  PermissionDenied = 7,
  ResourceExhausted = 8,
  FailedPrecondition = 9,
  Aborted = 10,
  OutOfRange = 11,
  Unimplemented = 12,
  Internal = 13,
  Unavailable = 14,
  DataLoss = 15,
  Unauthenticated = 16,
};

// The code's canonical name, for example "UNAVAILABLE".
std::string_view status_code_name(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;

  Status(StatusCode code, std::string message, std::uint32_t detail = 0)
      : code_(code), detail_(detail), message_(std::move(message)) {
    GCOORD_ASSERT(code != StatusCode::Ok);
  }

  bool ok() const { return code_ == StatusCode::Ok; }

  StatusCode code() const { return code_; }

  std::uint32_t detail() const { return detail_; }

  const std::string& message() const { return message_; }

  // "UNAVAILABLE: no leader for shard 7 (GC5001)", or "OK".
  std::string to_string() const;

 private:
  StatusCode code_ = StatusCode::Ok;
  std::uint32_t detail_ = 0;
  std::string message_;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  // Both implicit on purpose: `return value;` and `return Status{...};` read best.
  Result(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)

  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    GCOORD_ASSERT(!status_.ok());
  }

  bool ok() const { return value_.has_value(); }

  const Status& status() const { return status_; }

  T& value() & {
    GCOORD_ASSERT(ok());
    return *value_;
  }

  const T& value() const& {
    GCOORD_ASSERT(ok());
    return *value_;
  }

  T&& value() && {
    GCOORD_ASSERT(ok());
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace gcoord

#define GCOORD_CONCAT_INNER(a, b) a##b
#define GCOORD_CONCAT(a, b) GCOORD_CONCAT_INNER(a, b)

// GCOORD_TRY(auto checkpoint, store.load(shard)): declares the value, or returns the failure to the
// caller.
#define GCOORD_TRY(declaration, expression) \
  GCOORD_TRY_INNER(GCOORD_CONCAT(gcoord_result_, __LINE__), declaration, expression)
#define GCOORD_TRY_INNER(result, declaration, expression) \
  auto result = (expression);                             \
  if (!result.ok()) {                                     \
    return result.status();                               \
  }                                                       \
  declaration = std::move(result).value()

// GCOORD_TRY_STATUS(wal.append(record)): returns the failure to the caller, if any.
#define GCOORD_TRY_STATUS(expression)             \
  if (auto status = (expression); !status.ok()) { \
    return status;                                \
  }
