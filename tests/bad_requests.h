// Requests that every front end refuses by their own words, whatever is locked: one table, run
// against the node's protocol, the C interface, gcoordctl, and all front ends beside each other. A
// mistake has the same number everywhere (docs/reference/errors.md).
#pragma once

#include "protocol/error_codes.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gcoord {

enum class BadVerb { Acquire, Release, Check, Open };

struct BadRequest {
  const char* what;
  protocol::ErrorCode error;
  BadVerb verb;
  std::string name = {};
  std::uint64_t token = 7;  // Of a release and a check.
  std::int64_t ttl_ms = 0;  // Of an open.

  std::uint32_t number() const { return static_cast<std::uint32_t>(error); }
};

inline std::vector<BadRequest> bad_requests() {
  using enum BadVerb;
  using protocol::ErrorCode;
  const std::string longest(1025, 'x');
  const std::string no_text = "\xff\xfe";
  return {
      {"no name", ErrorCode::NameEmpty, Acquire, ""},
      {"a long name", ErrorCode::NameTooLong, Acquire, longest},
      {"no text", ErrorCode::NameNotUtf8, Acquire, no_text},
      {"a control character", ErrorCode::NameControl, Acquire, "a\n"},
      {"a control character of C1", ErrorCode::NameControl, Acquire, "a\u009b2J"},
      {"a mark that turns the direction", ErrorCode::NameControl, Acquire, "a\u202eb"},
      {"release: no name", ErrorCode::NameEmpty, Release, ""},
      {"release: a long name", ErrorCode::NameTooLong, Release, longest},
      {"release: no text", ErrorCode::NameNotUtf8, Release, no_text},
      {"release: token 0", ErrorCode::TokenZero, Release, "a", 0},
      {"check: no name", ErrorCode::NameEmpty, Check, ""},
      {"check: a long name", ErrorCode::NameTooLong, Check, longest},
      {"check: no text", ErrorCode::NameNotUtf8, Check, no_text},
      {"check: token 0", ErrorCode::TokenZero, Check, "a", 0},
      {"TTL 0", ErrorCode::TtlTooShort, Open},
      {"a TTL of 25 hours", ErrorCode::TtlTooLong, Open, "", 0, 25 * 3'600'000},
  };
}

}  // namespace gcoord
