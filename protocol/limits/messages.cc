#include "protocol/limits/messages.h"

#include "common/bytes.h"
#include "protocol/error_codes.h"

namespace gcoord::protocol {

namespace {

constexpr std::size_t kLimitRowBytesMin = 1 + 2 + 7 * 4 + 8;
constexpr std::size_t kDenialRowBytesMin = 1 + 2 + 8 + 2;
constexpr std::size_t kOrderHeadBytes = 1 + 8;

Status malformed(const char* what) {
  return make_error(ErrorCode::PayloadMalformed, what);
}

std::uint8_t byte_of(bool value) {
  return value ? 1 : 0;
}

}  // namespace

std::vector<std::byte> encode_limits_query(const LimitsQuery& query) {
  std::vector<std::byte> bytes;
  ByteWriter writer{bytes};
  writer.integer(byte_of(query.denials));
  writer.integer(byte_of(query.replica));
  writer.integer(query.after_scope);
  writer.text(query.after_name);
  return bytes;
}

Result<LimitsQuery> decode_limits_query(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  LimitsQuery query;
  const auto denials = reader.integer<std::uint8_t>();
  const auto replica = reader.integer<std::uint8_t>();
  query.denials = denials == 1;
  query.replica = replica == 1;
  query.after_scope = reader.integer<std::uint8_t>();
  query.after_name = reader.text(security::kLimitNameBytesMax);
  if (!reader.complete() || denials > 1 || replica > 1) {
    return malformed("limits_get");
  }
  return query;
}

std::vector<std::byte> encode_limits_answer(const LimitsAnswer& answer) {
  std::vector<std::byte> bytes;
  ByteWriter writer{bytes};
  writer.integer(answer.epoch);
  writer.integer(byte_of(answer.more));
  writer.integer(answer.limit_count);
  writer.integer(answer.denial_count);
  writer.integer(static_cast<std::uint32_t>(answer.limits.size()));
  for (const auto& [key, limit] : answer.limits) {
    writer.integer(static_cast<std::uint8_t>(key.scope));
    writer.text(key.name);
    security::write_limit(writer, limit);
  }
  writer.integer(static_cast<std::uint32_t>(answer.denials.size()));
  for (const auto& [key, denial] : answer.denials) {
    writer.integer(static_cast<std::uint8_t>(key.scope));
    writer.text(key.name);
    security::write_denial(writer, denial);
  }
  // Behind what earlier releases read.
  for (const auto& [key, limit] : answer.limits) {
    writer.integer(limit.session_ttl_ms);
  }
  return bytes;
}

Result<LimitsAnswer> decode_limits_answer(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  LimitsAnswer answer;
  answer.epoch = reader.integer<std::uint64_t>();
  answer.more = reader.integer<std::uint8_t>() == 1;
  answer.limit_count = reader.integer<std::uint32_t>();
  answer.denial_count = reader.integer<std::uint32_t>();
  const std::uint32_t limits = reader.count(kLimitRowBytesMin, security::kLimitsMax);
  for (std::uint32_t k = 0; k < limits && reader.ok(); ++k) {
    LimitRow row;
    row.first.scope = static_cast<security::LimitScope>(reader.integer<std::uint8_t>());
    row.first.name = reader.text(security::kLimitNameBytesMax);
    row.second = security::read_limit(reader);
    answer.limits.push_back(std::move(row));
  }
  const std::uint32_t denials = reader.count(kDenialRowBytesMin, security::kDenialsMax);
  for (std::uint32_t k = 0; k < denials && reader.ok(); ++k) {
    DenialRow row;
    row.first.scope = static_cast<security::DenialScope>(reader.integer<std::uint8_t>());
    row.first.name = reader.text(security::kDenialNameBytesMax);
    row.second = security::read_denial(reader);
    answer.denials.push_back(std::move(row));
  }
  if (reader.ok() && !reader.complete()) {
    for (LimitRow& row : answer.limits) {
      row.second.session_ttl_ms = reader.integer<std::uint32_t>();
    }
  }
  if (!reader.ok()) {
    return malformed("limits");
  }
  return answer;
}

std::vector<std::byte> encode_limits_order(const LimitsOrder& order) {
  std::vector<std::byte> bytes;
  ByteWriter writer{bytes};
  writer.integer(byte_of(order.dry_run));
  writer.integer(order.duration_ms);
  const std::vector<std::byte> command = security::encode_limit_command(order.command);
  bytes.insert(bytes.end(), command.begin(), command.end());
  return bytes;
}

Result<LimitsOrder> decode_limits_order(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  LimitsOrder order;
  const auto dry_run = reader.integer<std::uint8_t>();
  order.dry_run = dry_run == 1;
  order.duration_ms = reader.integer<std::uint64_t>();
  auto command = reader.ok() && dry_run <= 1
                     ? security::decode_limit_command(payload.subspan(kOrderHeadBytes))
                     : std::nullopt;
  // Orders to prune come by a request of their own, which needs another right.
  const bool sound = command && !command->prunes() && !command->proven && command->now_ms == 0 &&
                     (command->kind == security::LimitKind::Deny) == (order.duration_ms != 0) &&
                     (command->kind != security::LimitKind::Deny || command->denial.until_ms == 0);
  if (!sound) {
    return malformed("limits_change");
  }
  order.command = *std::move(command);
  return order;
}

}  // namespace gcoord::protocol
