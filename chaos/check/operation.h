// One client operation with its outcome, one JSON line each, in the format of the history door.
//
//   {"process":1,"op":"acquire","key":"demo/a","args":{...},"call":"1","return":"2",
//    "outcome":"ok","token":"7"}
//
// Times are nanoseconds of one clock, so that histories of several processes on one machine merge
// into one. Numbers of 64 bits are strings. Checkers read nothing but this
// (docs/reference/machine_interfaces.md has every member). Plain values; no thread rules.
#pragma once

#include "common/status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace gcoord::chaos {

enum class Op : std::uint8_t {
  Acquire,
  Release,
  Check,
  Abandon,      // The client stops keeping its session alive; `return` is when its lease ends here.
  SessionLost,  // The client's lease of `session` ran out at `return`. All its locks, key or none.
  Close,        // The client closes `session`: from `call` on its locks may come free.
  Renew,        // Of a lease: it lives for ttl_ms more.
  Read,
  Write,  // With a token: to a guarded store.
  Cas,
  Add,  // To a counter.
};

enum class Outcome : std::uint8_t {
  Ok,
  Fail,     // It certainly did not happen.
  Unknown,  // It may or may not have happened, or may still.
};

// Why an operation failed, where that says something about the key; anything else is None.
enum class Reason : std::uint8_t {
  None,
  Busy,      // Acquire: somebody else holds it.
  NotHeld,   // Release, renew: it is not held under this token.
  Stale,     // Write: the store has seen a higher token.
  Mismatch,  // Cas: the value was another.
};

// What a check was told, and what it must be told if nothing was lost.
enum class TokenState : std::uint8_t { None, Valid, Past };

// How an acquire went about it.
enum class AcquireKind : std::uint8_t { None, Lock, Try, Wait };

struct Operation {
  std::uint32_t process = 0;
  Op op = Op::Acquire;
  Outcome outcome = Outcome::Ok;
  Reason reason = Reason::None;
  AcquireKind kind = AcquireKind::None;
  TokenState verdict = TokenState::None;
  TokenState expected = TokenState::None;
  bool already_held = false;  // Acquire: an earlier grant of the same session, told again.
  std::string key;
  std::string value;       // Read: what was read; write, cas: what was to be written; add: result.
  std::string from;        // Cas: what must be there.
  std::int64_t delta = 0;  // Add.
  std::uint64_t session = 0;
  std::uint64_t sequence = 0;  // Of the request within (session, shard); 0: not told.
  std::uint32_t shard = 0;     // Tells sequences apart.
  std::uint64_t token = 0;
  std::uint64_t ttl_ms = 0;  // Acquire, renew: of a lease that nobody keeps alive meanwhile.
  std::uint64_t call_ns = 0;
  std::uint64_t return_ns = 0;
};

// The words of the JSON form; empty for None.
std::string_view op_name(Op op);
std::string_view reason_name(Reason reason);
std::string_view verdict_name(TokenState verdict);

std::string to_json_line(const Operation& operation);

// InvalidArgument, with the member that is wrong, when the line is not of the form above.
Result<Operation> parse_operation(std::string_view line);

// Now, as histories of this machine count.
std::uint64_t history_now_ns();

}  // namespace gcoord::chaos
