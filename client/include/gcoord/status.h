// Error types of the client library: Status by value, and Result<T> with a value or a Status.
//
// No call of the library throws. Codes are the canonical ones of gRPC; `detail` is the stable
// number that gcoord prints as GC6001 (docs/reference/errors.md lists all), 0 when there is none;
// the message names one cause, the evidence and one fix. Plain values; no thread rules.
//
//  auto lock = session.acquire("jobs/train", {.wait = 0s});
//  if (lock.status().detail() == kDetailLockBusy) { ... }                   // One known cause.
//  if (lock.status().code() == StatusCode::Unavailable) { ... }             // Try again later.
//  if (!lock.ok()) { log(lock.status().to_string()); }                      // For people.
#pragma once

#include "gcoord/api.h"

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace gcoord::client {

// The canonical codes of gRPC and absl, with their meanings. The next step of a program depends
// on the code more often than on the number: Unavailable and DeadlineExceeded may be tried again
// later; Aborted means that another session was first; InvalidArgument and OutOfRange are mistakes
// of the caller; Cancelled comes from closing the client. Never renumber: the codes travel in the
// client protocol.
enum class StatusCode : std::uint8_t {
  Ok = 0,                  // Success.
  Cancelled = 1,           // The client, the watch or the wait was closed (GC4010, GC6207, GC6006).
  Unknown = 2,             // No error of the library has it.
  InvalidArgument = 3,     // A mistake of the caller: an empty name (GC1101).
  DeadlineExceeded = 4,    // No answer in time (GC4009).
  NotFound = 5,            // No such lock, session or leader (GC6016, GC6101).
  AlreadyExists = 6,       // The id is in use (GC6301).
  PermissionDenied = 7,    // A node cannot use its data directory.
  ResourceExhausted = 8,   // A limit is reached, such as the locks of a node (GC6012).
  FailedPrecondition = 9,  // The state does not allow it: a stale token (GC6003).
  Aborted = 10,            // Another session was first (GC6001), or this one is lost (GC6007).
  OutOfRange = 11,         // A number is out of range (GC1112), or the past is gone (GC6201).
  Unimplemented = 12,      // The node does not know the request (GC4004).
  Internal = 13,           // A device or a disk of a node failed.
  Unavailable = 14,        // It may succeed later: no leader at present (GC5001).
  DataLoss = 15,           // Data is damaged, or contradicts a proof.
  Unauthenticated = 16,    // No error of the library has it.
};

// Numbers that programs branch on most often, as Status::detail() gives them;
// docs/reference/errors.md has the whole table. A number never changes its meaning and is never
// used again. Nodes of a later release may answer with numbers that a program does not know: their
// code says enough to go on.
inline constexpr std::uint32_t kDetailUnreachable = 3001;  // No node can be reached.
inline constexpr std::uint32_t kDetailCircuitOpen =
    3011;  // All endpoints failed recently (ClientOptions::fail_fast).
inline constexpr std::uint32_t kDetailDeadlineExceeded = 4009;  // No answer in time.
inline constexpr std::uint32_t kDetailNoLeader = 5001;        // The shard has no leader at present.
inline constexpr std::uint32_t kDetailLockBusy = 6001;        // Another session holds the lock.
inline constexpr std::uint32_t kDetailLockNotHeld = 6002;     // Nobody holds the lock.
inline constexpr std::uint32_t kDetailTokenStale = 6003;      // The token is not that of the hold.
inline constexpr std::uint32_t kDetailWaitTimedOut = 6005;    // Not granted within the wait.
inline constexpr std::uint32_t kDetailWaitCancelled = 6006;   // The wait was cancelled.
inline constexpr std::uint32_t kDetailSessionExpired = 6007;  // The session is lost.
inline constexpr std::uint32_t kDetailDeadlock = 6040;        // The wait was part of a deadlock.
inline constexpr std::uint32_t kDetailElectionVacant = 6101;  // The election has no leader.
inline constexpr std::uint32_t kDetailOfficeLost = 6110;      // This candidate does not lead.
inline constexpr std::uint32_t kDetailCandidateAbsent = 6111;  // No such candidate waits.

// Success, or what went wrong. Copying one is as cheap as copying its message. A result that nobody
// looks at is a warning of the compiler; write static_cast<void>(...) where that is meant.
class [[nodiscard]] Status {
 public:
  // Success.
  Status() = default;

  // A failure; code is not Ok. detail 0 when there is no stable number. For programs that answer in
  // the library's words, such as a SnapshotSink that ends a reading; the library takes it as it is,
  // and does not ask whether the number is one of its own.
  Status(StatusCode code, std::string message, std::uint32_t detail = 0)
      : code_(code), detail_(detail), message_(std::move(message)) {}

  // Whether the call succeeded.
  bool ok() const { return code_ == StatusCode::Ok; }

  // The canonical code, by which a program decides about the next step.
  StatusCode code() const { return code_; }

  // The number of docs/reference/errors.md: 6001 for GC6001. For scripts; it never changes its
  // meaning.
  std::uint32_t detail() const { return detail_; }

  // For people: the cause, the evidence in brackets, and what to do. Its words may change.
  const std::string& message() const { return message_; }

  // "ABORTED: the lock is held by another session (GC6001)", or "OK": one line, for logs and for
  // people.
  GCOORD_API std::string to_string() const;

 private:
  StatusCode code_ = StatusCode::Ok;
  std::uint32_t detail_ = 0;
  std::string message_;
};

// A value, or the Status that says why there is none:
//
//   auto lock = session.acquire("jobs/train");
//   if (!lock.ok()) { return report(lock.status()); }
//   use(lock.value().fence());
template <typename T>
class [[nodiscard]] Result {
 public:
  // Both implicit on purpose: `return value;` and `return status;` read best.
  Result(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)

  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    if (status_.ok()) {
      std::abort();  // A bug of the caller: success needs a value.
    }
  }

  // Whether there is a value.
  bool ok() const { return value_.has_value(); }

  // Success when there is a value; else why there is none.
  const Status& status() const { return status_; }

  // The value; of a temporary it is moved out: `Lock lock = session.acquire(name).value();`.
  // Only when ok(); anything else ends the program, for a missing value must not be used.
  T& value() & { return checked(value_); }

  const T& value() const& { return checked(value_); }

  T&& value() && { return std::move(checked(value_)); }

 private:
  template <typename Optional>
  static auto& checked(Optional& value) {
    if (!value.has_value()) {
      std::abort();
    }
    return *value;
  }

  std::optional<T> value_;
  Status status_;
};

}  // namespace gcoord::client
