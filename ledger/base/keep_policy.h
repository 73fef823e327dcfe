// Retention policy of a log: bounds of its count, bytes and age, and their text form.
//
// Of several bounds the tightest counts. The text is what --ledger-keep and gcoordctl take. Pure
// values; thread-safe.
#pragma once

#include "common/status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace gcoord::ledger {

// Of a shard; 0 bounds nothing.
struct KeepPolicy {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::uint64_t age_ms = 0;

  bool keeps_all() const { return entries == 0 && bytes == 0 && age_ms == 0; }

  friend bool operator==(const KeepPolicy& a, const KeepPolicy& b) = default;
};

// "all", or bounds with commas between: entries:N, bytes:N[KiB|MiB|GiB|TiB], age:TIME.
// InvalidArgument says what is wrong.
Result<KeepPolicy> parse_keep_policy(std::string_view text);
// "all", which is 0, or N[KiB|MiB|GiB|TiB]; as above.
Result<std::uint64_t> parse_bytes_max(std::string_view text);
// The same back.
std::string keep_policy_text(const KeepPolicy& policy);
std::string bytes_max_text(std::uint64_t bytes_max);

}  // namespace gcoord::ledger
