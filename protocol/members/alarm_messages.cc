#include "protocol/members/alarm_messages.h"

#include "common/bytes.h"
#include "protocol/error_codes.h"

#include <algorithm>
#include <array>
#include <utility>

namespace gcoord::protocol {

namespace {

constexpr std::size_t kOrderBytes = 1 + 1 + 2 + 4;
constexpr std::size_t kRowBytesMin = 1 + 1 + 4 + 8 + 2;
constexpr std::array kKinds = {AlarmKind::NotConverged, AlarmKind::SuspectForLong};

}  // namespace

std::string_view alarm_kind_name(AlarmKind kind) {
  switch (kind) {
    case AlarmKind::NotConverged:
      return "not-converged";
    case AlarmKind::SuspectForLong:
      return "suspect-for-long";
  }
  return "unknown";
}

std::optional<AlarmKind> parse_alarm_kind(std::string_view name) {
  const auto* const kind = std::ranges::find(kKinds, name, alarm_kind_name);
  return kind == kKinds.end() ? std::nullopt : std::optional(*kind);
}

std::vector<std::byte> encode_alarm_order(const AlarmOrder& order) {
  std::vector<std::byte> bytes;
  ByteWriter writer{bytes};
  writer.integer(static_cast<std::uint8_t>(order.action));
  writer.integer(order.kind ? static_cast<std::uint8_t>(*order.kind) : std::uint8_t{0});
  writer.array(std::array<std::byte, 2>{});
  writer.integer(order.node.value);
  writer.bytes(order.who.data(), order.who.size());
  return bytes;
}

// A kind of a later release is one that this node has no alarm of.
Result<AlarmOrder> decode_alarm_order(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  AlarmOrder order;
  order.action = static_cast<AlarmAction>(reader.integer<std::uint8_t>());
  const auto kind = reader.integer<std::uint8_t>();
  static_cast<void>(reader.bytes(2));
  order.node = NodeId{reader.integer<std::uint32_t>()};
  const bool known = order.action == AlarmAction::List || order.action == AlarmAction::Disarm;
  if (!reader.ok() || !known || reader.rest_bytes() > kAlarmWhoBytesMax) {
    return make_error(ErrorCode::PayloadMalformed, "member_alarms");
  }
  order.kind = kind == 0 ? std::nullopt : std::optional(static_cast<AlarmKind>(kind));
  const auto who = payload.subspan(kOrderBytes);
  order.who.assign(reinterpret_cast<const char*>(who.data()), who.size());
  return order;
}

std::vector<std::byte> encode_alarm_rows(std::span<const AlarmRow> rows) {
  std::vector<std::byte> bytes;
  ByteWriter writer{bytes};
  const auto kept = rows.first(std::min<std::size_t>(rows.size(), kAlarmsMax));
  writer.integer(static_cast<std::uint32_t>(kept.size()));
  for (const AlarmRow& row : kept) {
    writer.integer(static_cast<std::uint8_t>(row.kind));
    writer.integer(static_cast<std::uint8_t>(row.armed ? 1 : 0));
    writer.integer(row.node.value);
    writer.integer(row.since_ms);
    writer.text(std::string_view{row.text}.substr(0, kAlarmTextBytesMax));
  }
  return bytes;
}

Result<std::vector<AlarmRow>> decode_alarm_rows(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  std::vector<AlarmRow> rows;
  const std::uint32_t count = reader.count(kRowBytesMin, kAlarmsMax);
  for (std::uint32_t k = 0; k < count; ++k) {
    AlarmRow row;
    row.kind = static_cast<AlarmKind>(reader.integer<std::uint8_t>());
    row.armed = reader.integer<std::uint8_t>() == 1;
    row.node = NodeId{reader.integer<std::uint32_t>()};
    row.since_ms = reader.integer<std::uint64_t>();
    row.text = reader.text(kAlarmTextBytesMax);
    rows.push_back(std::move(row));
  }
  if (!reader.ok()) {
    return make_error(ErrorCode::PayloadMalformed, "member_alarms");
  }
  return rows;
}

}  // namespace gcoord::protocol
