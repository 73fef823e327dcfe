// Batch checks and leader maps: lists of fixed-size answers.
#include "common/bytes.h"
#include "protocol/error_codes.h"
#include "protocol/lock_messages.h"
#include "protocol/validate.h"

namespace gcoord::protocol {
namespace {

// Smallest check: token, name length, one byte of name.
constexpr std::size_t kCheckBytesMin = 11;

bool verdict_known(std::uint32_t verdict) {
  return verdict >= static_cast<std::uint32_t>(CheckVerdict::Valid) &&
         verdict <= static_cast<std::uint32_t>(CheckVerdict::NotLeader);
}

}  // namespace

std::vector<std::byte> encode_check_batch(std::span<const TokenCheck> checks) {
  GCOORD_ASSERT(checks.size() <= kCheckBatchMax);
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.integer(static_cast<std::uint32_t>(checks.size()));
  for (const TokenCheck& check : checks) {
    writer.integer(check.token.value);
    writer.text(check.name);
  }
  return out;
}

Result<std::vector<TokenCheck>> decode_check_batch(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  const std::uint32_t count = reader.count(kCheckBytesMin, kCheckBatchMax);
  std::vector<TokenCheck> checks;
  checks.reserve(count);
  for (std::uint32_t index = 0; index < count; ++index) {
    const FencingToken token{reader.integer<std::uint64_t>()};
    checks.push_back({reader.text(payload.size()), token});
    if (const ErrorCode code = check_name(checks.back().name); code != ErrorCode::None) {
      return make_error(reader.ok() ? code : ErrorCode::PayloadMalformed, "lock_check_batch");
    }
  }
  if (!reader.complete()) {
    return make_error(ErrorCode::PayloadMalformed, "lock_check_batch");
  }
  return checks;
}

std::vector<std::byte> encode_verdicts(std::span<const CheckVerdict> verdicts) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.integer(static_cast<std::uint32_t>(verdicts.size()));
  for (const CheckVerdict verdict : verdicts) {
    writer.integer(static_cast<std::uint32_t>(verdict));
  }
  return out;
}

Result<std::vector<CheckVerdict>> decode_verdicts(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  const std::uint32_t count = reader.count(sizeof(std::uint32_t), kCheckBatchMax);
  std::vector<CheckVerdict> verdicts;
  verdicts.reserve(count);
  for (std::uint32_t index = 0; index < count; ++index) {
    const auto verdict = reader.integer<std::uint32_t>();
    if (!verdict_known(verdict)) {
      return make_error(ErrorCode::PayloadMalformed, "verdicts");
    }
    verdicts.push_back(static_cast<CheckVerdict>(verdict));
  }
  if (!reader.complete()) {
    return make_error(ErrorCode::PayloadMalformed, "verdicts");
  }
  return verdicts;
}

std::vector<std::byte> encode_shard_range(const ShardRange& range) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.integer(range.first.value);
  writer.integer(range.count);
  return out;
}

Result<ShardRange> decode_shard_range(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  ShardRange range;
  range.first = ShardId{reader.integer<std::uint32_t>()};
  range.count = reader.integer<std::uint32_t>();
  if (!reader.complete()) {
    return make_error(ErrorCode::PayloadMalformed, "shard range");
  }
  if (range.count > kLeaderMapShardsMax) {
    return make_error(ErrorCode::LimitOutOfRange, "shard range");
  }
  return range;
}

std::vector<std::byte> encode_leader_map(const LeaderMap& map) {
  GCOORD_ASSERT(map.leaders.size() <= kLeaderMapShardsMax);
  std::vector<std::byte> out;
  out.reserve((2 + map.leaders.size()) * sizeof(std::uint32_t));
  ByteWriter writer{out};
  writer.integer(map.first.value);
  writer.integer(static_cast<std::uint32_t>(map.leaders.size()));
  for (const NodeId leader : map.leaders) {
    writer.integer(leader.value);
  }
  return out;
}

Result<LeaderMap> decode_leader_map(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  LeaderMap map;
  map.first = ShardId{reader.integer<std::uint32_t>()};
  map.leaders.resize(reader.count(sizeof(std::uint32_t), kLeaderMapShardsMax));
  for (NodeId& leader : map.leaders) {
    leader = NodeId{reader.integer<std::uint32_t>()};
  }
  if (!reader.complete()) {
    return make_error(ErrorCode::PayloadMalformed, "leader map");
  }
  return map;
}

}  // namespace gcoord::protocol
