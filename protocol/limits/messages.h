// Payloads of requests about limits and denials: LimitsGet and LimitsChange.
//
// Decoding is bounded, and refuses what no client writes; whether names and numbers are right is
// judged where a change is applied (security/limits/limit_apply.h). Pure functions; thread-safe.
#pragma once

#include "common/status.h"
#include "security/limits/command.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::protocol {

// An answer ends before so many bytes of rows.
inline constexpr std::size_t kLimitsAnswerBytes = std::size_t{256} << 10;

// Payload: denials 1, replica 1, after scope 1, after name (text).
struct LimitsQuery {
  bool denials = false;  // Those, or limits.
  // Any node may answer, from what it has applied; else the leader of shard 0 does.
  bool replica = false;
  std::uint8_t after_scope = 0;  // Rows behind this one; 0: from the first.
  std::string after_name;

  friend bool operator==(const LimitsQuery& a, const LimitsQuery& b) = default;
};

std::vector<std::byte> encode_limits_query(const LimitsQuery& query);
Result<LimitsQuery> decode_limits_query(std::span<const std::byte> payload);

using LimitRow = std::pair<security::LimitKey<security::LimitScope>, security::Limit>;
using DenialRow = std::pair<security::LimitKey<security::DenialScope>, security::Denial>;

// The state of an epoch, and the rows that were wanted. Payload: epoch 8, more 1, limit count 4,
// denial count 4, rows 4 and limits (scope 1, name, limit), rows 4 and denials (the same); with
// Feature::Safeguards then the longest TTL of sessions of each of the limits, 4 bytes each.
struct LimitsAnswer {
  std::uint64_t epoch = 0;
  bool more = false;  // Rows were left out behind the last one.
  std::uint32_t limit_count = 0;
  std::uint32_t denial_count = 0;  // That have not ended.
  std::vector<LimitRow> limits;
  std::vector<DenialRow> denials;

  friend bool operator==(const LimitsAnswer& a, const LimitsAnswer& b) = default;
};

std::vector<std::byte> encode_limits_answer(const LimitsAnswer& answer);
// A later release may say more behind it.
Result<LimitsAnswer> decode_limits_answer(std::span<const std::byte> payload);

// A change by an operator. Payload: dry run 1, duration_ms 8, and the command
// (security/limits/command.h), in which proven and now_ms are 0.
struct LimitsOrder {
  bool dry_run = false;           // Judge it, and change nothing.
  std::uint64_t duration_ms = 0;  // Of a denial; the node that takes it makes its end of it.
  // expected: 0: whichever epoch is the newest. who: where no principal is proven.
  security::LimitCommand command;

  friend bool operator==(const LimitsOrder& a, const LimitsOrder& b) = default;
};

std::vector<std::byte> encode_limits_order(const LimitsOrder& order);
Result<LimitsOrder> decode_limits_order(std::span<const std::byte> payload);

}  // namespace gcoord::protocol
