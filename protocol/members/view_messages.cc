#include "protocol/members/view_messages.h"

#include "protocol/error_codes.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace gcoord::protocol {

namespace {

constexpr std::size_t kSightBytes = 4 + 1 + 4 + 4 + 8;
constexpr std::size_t kViewBytesMax = std::size_t{128} << 10;
// Bits of a sight.
constexpr std::uint8_t kAlive = 1;
constexpr std::uint8_t kHasPhi = 2;
constexpr std::uint8_t kHeard = 4;
// Bits of a verdict.
constexpr std::uint8_t kDirect = 1;
constexpr std::uint8_t kIndirect = 2;
constexpr std::size_t kVerdictBytes = 4 + 4 * 1 + 4 * 4;

Status malformed(const char* what) {
  return make_error(ErrorCode::PayloadMalformed, what);
}

void write_sight(ByteWriter& writer, const MemberSight& sight) {
  const unsigned flags = (sight.alive ? kAlive : 0u) | (sight.phi_milli ? kHasPhi : 0u) |
                         (sight.heard_ms ? kHeard : 0u);
  writer.integer(sight.node.value);
  writer.integer(static_cast<std::uint8_t>(flags));
  writer.integer(sight.phi_milli.value_or(0));
  writer.integer(sight.heard_ms.value_or(0));
  writer.integer(sight.epoch);
}

MemberSight read_sight(ByteReader& reader) {
  MemberSight sight;
  sight.node = NodeId{reader.integer<std::uint32_t>()};
  const auto flags = reader.integer<std::uint8_t>();
  sight.alive = (flags & kAlive) != 0;
  const auto phi = reader.integer<std::uint32_t>();
  const auto heard = reader.integer<std::uint32_t>();
  sight.phi_milli = (flags & kHasPhi) != 0 ? std::optional(phi) : std::nullopt;
  sight.heard_ms = (flags & kHeard) != 0 ? std::optional(heard) : std::nullopt;
  sight.epoch = reader.integer<std::uint64_t>();
  return sight;
}

void write_verdict(ByteWriter& writer, const MemberVerdict& held) {
  const unsigned flags = (held.direct_ms ? kDirect : 0u) | (held.indirect_ms ? kIndirect : 0u);
  writer.integer(held.node.value);
  writer.integer(held.verdict);
  writer.integer(held.cause);
  writer.integer(held.level);
  writer.integer(static_cast<std::uint8_t>(flags));
  writer.integer(held.phi_milli);
  writer.integer(held.since_ms);
  writer.integer(held.direct_ms.value_or(0));
  writer.integer(held.indirect_ms.value_or(0));
}

MemberVerdict read_verdict(ByteReader& reader) {
  MemberVerdict held;
  held.node = NodeId{reader.integer<std::uint32_t>()};
  held.verdict = reader.integer<std::uint8_t>();
  held.cause = reader.integer<std::uint8_t>();
  held.level = reader.integer<std::uint8_t>();
  const auto flags = reader.integer<std::uint8_t>();
  held.phi_milli = reader.integer<std::uint32_t>();
  held.since_ms = reader.integer<std::uint32_t>();
  const auto direct = reader.integer<std::uint32_t>();
  const auto indirect = reader.integer<std::uint32_t>();
  held.direct_ms = (flags & kDirect) != 0 ? std::optional(direct) : std::nullopt;
  held.indirect_ms = (flags & kIndirect) != 0 ? std::optional(indirect) : std::nullopt;
  return held;
}

void write_voters(ByteWriter& writer, const ViewAnswer& answer) {
  writer.integer(answer.settled);
  writer.integer(static_cast<std::uint32_t>(answer.earlier_voters.size()));
  for (const std::vector<NodeId>& voters : answer.earlier_voters) {
    writer.integer(static_cast<std::uint32_t>(voters.size()));
    for (const NodeId node : voters) {
      writer.integer(node.value);
    }
  }
}

void read_voters(ByteReader& reader, ViewAnswer& answer) {
  answer.settled = reader.integer<std::uint64_t>();
  const std::uint32_t lists = reader.count(sizeof(std::uint32_t), kViewListsMax);
  for (std::uint32_t k = 0; k < lists; ++k) {
    const std::uint32_t voters = reader.count(sizeof(std::uint32_t), kViewNodesMax);
    answer.earlier_voters.emplace_back(voters);
    for (NodeId& node : answer.earlier_voters.back()) {
      node = NodeId{reader.integer<std::uint32_t>()};
    }
  }
}

}  // namespace

std::vector<std::byte> encode_view_query(const ViewQuery& query) {
  std::vector<std::byte> bytes;
  ByteWriter writer{bytes};
  writer.integer(static_cast<std::uint8_t>(query.mode));
  writer.integer(static_cast<std::uint8_t>(query.members ? 1 : 0));
  writer.array(std::array<std::byte, 2>{});
  writer.integer(query.wait_ms);
  writer.integer(query.after);
  return bytes;
}

Result<ViewQuery> decode_view_query(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  ViewQuery query;
  query.mode = static_cast<ViewQuery::Mode>(reader.integer<std::uint8_t>());
  query.members = (reader.integer<std::uint8_t>() & 1) != 0;
  static_cast<void>(reader.bytes(2));
  query.wait_ms = reader.integer<std::uint32_t>();
  query.after = reader.integer<std::uint64_t>();
  const bool sound =
      reader.complete() && query.mode <= ViewQuery::Mode::Next && query.wait_ms <= kViewWaitMsMax;
  if (!sound) {
    return malformed("view_get");
  }
  return query;
}

std::vector<std::byte> encode_view_answer(const ViewAnswer& answer) {
  std::vector<std::byte> bytes;
  ByteWriter writer{bytes};
  const std::vector<std::byte> view = encode_view(answer.view);
  writer.integer(static_cast<std::uint32_t>(view.size()));
  writer.bytes(view.data(), view.size());
  writer.integer(answer.newest);
  writer.integer(static_cast<std::uint32_t>(answer.sights.size()));
  for (const MemberSight& sight : answer.sights) {
    write_sight(writer, sight);
  }
  if (answer.settled != 0 || !answer.verdicts.empty()) {
    write_voters(writer, answer);
  }
  if (!answer.verdicts.empty()) {
    writer.integer(static_cast<std::uint32_t>(answer.verdicts.size()));
    for (const MemberVerdict& held : answer.verdicts) {
      write_verdict(writer, held);
    }
  }
  return bytes;
}

Result<ViewAnswer> decode_view_answer(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  const std::string_view view_bytes = reader.blob(kViewBytesMax);
  auto view = decode_view(std::as_bytes(std::span{view_bytes}));
  ViewAnswer answer;
  answer.newest = reader.integer<std::uint64_t>();
  const std::uint32_t count = reader.count(kSightBytes, kViewNodesMax);
  for (std::uint32_t k = 0; k < count; ++k) {
    answer.sights.push_back(read_sight(reader));
  }
  if (reader.rest_bytes() != 0) {
    read_voters(reader, answer);
  }
  if (reader.rest_bytes() != 0) {
    const std::uint32_t held = reader.count(kVerdictBytes, kViewNodesMax);
    for (std::uint32_t k = 0; k < held; ++k) {
      answer.verdicts.push_back(read_verdict(reader));
    }
  }
  // A later release may say more behind it.
  if (!reader.ok() || !view) {
    return malformed("view");
  }
  answer.view = *std::move(view);
  return answer;
}

void write_change(ByteWriter& writer, const MemberChange& change) {
  writer.integer(change.node.value);
  writer.integer(change.expected);
  writer.integer(change.number);
  writer.integer(static_cast<std::uint8_t>(change.name ? 1 : 0));
  writer.text(change.name.value_or(""));
  write_labels(writer, change.labels);
  writer.text(change.who);
}

std::optional<MemberChange> read_change(ByteReader& reader) {
  MemberChange change;
  change.node = NodeId{reader.integer<std::uint32_t>()};
  change.expected = reader.integer<std::uint64_t>();
  change.number = reader.integer<std::uint64_t>();
  const auto named = reader.integer<std::uint8_t>();
  const std::string_view name = reader.text(kMemberNameBytesMax);
  auto labels = read_labels(reader, kMemberLabelChangesMax);
  change.who = reader.text(kMemberWhoBytesMax);
  if (!reader.ok() || named > 1 || (named == 0 && !name.empty())) {
    return std::nullopt;
  }
  change.name = named == 1 ? std::optional(std::string{name}) : std::nullopt;
  change.labels = *std::move(labels);
  const auto fall = [](const MemberLabel& a, const MemberLabel& b) { return a.key >= b.key; };
  const bool rise = std::ranges::adjacent_find(change.labels, fall) == change.labels.end();
  return rise ? std::optional(std::move(change)) : std::nullopt;
}

std::vector<std::byte> encode_member_order(const MemberOrder& order) {
  std::vector<std::byte> bytes;
  ByteWriter writer{bytes};
  writer.integer(static_cast<std::uint8_t>(order.dry_run ? 1 : 0));
  write_change(writer, order.change);
  return bytes;
}

Result<MemberOrder> decode_member_order(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  const auto dry_run = reader.integer<std::uint8_t>();
  auto change = read_change(reader);
  if (!reader.complete() || !change || dry_run > 1) {
    return malformed("member_update");
  }
  return MemberOrder{dry_run == 1, *std::move(change)};
}

}  // namespace gcoord::protocol
