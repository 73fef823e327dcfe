#include "protocol/members/change_messages.h"

#include "common/bytes.h"
#include "protocol/error_codes.h"
#include "protocol/members/view_messages.h"

#include <utility>

namespace gcoord::protocol {

namespace {

constexpr std::size_t kActionViewBytesMax = std::size_t{128} << 10;
// Bits of an order, and of an answer.
constexpr std::uint8_t kDryRun = 1;
constexpr std::uint8_t kForce = 2;
constexpr std::uint8_t kAutoPromoted = 4;
constexpr std::uint8_t kHasToken = 1;

Status not_an_action() {
  return make_error(ErrorCode::PayloadMalformed, "member_change");
}

// Whether the fields are those of the action.
bool is_order(const MemberActionOrder& order) {
  const bool adds = order.action == MemberAction::Add;
  const bool weighs = adds || order.action == MemberAction::Reweigh;
  const bool replaces = adds || order.action == MemberAction::Promote;
  const bool known = order.action >= MemberAction::Add && order.action <= MemberAction::MoveLeaders;
  const bool role = order.role >= MemberRole::Voter && order.role <= MemberRole::Witness;
  const bool token = adds ? order.token_ms >= 1000 && order.token_ms <= kJoinTokenMsMax
                          : order.token_ms == 0 && order.name.empty() && order.labels.empty() &&
                                !order.auto_promote && order.role == MemberRole::Voter;
  return known && role && token && order.number != 0 && adds == (order.node.value == 0) &&
         (weighs || order.weight == 0) && (replaces || order.replaces.value == 0);
}

void write_tolerance(ByteWriter& writer, const MemberTolerance& tolerance) {
  writer.integer(tolerance.votes);
  writer.integer(tolerance.alive);
  writer.integer(tolerance.needed);
}

MemberTolerance read_tolerance(ByteReader& reader) {
  MemberTolerance tolerance;
  tolerance.votes = reader.integer<std::uint32_t>();
  tolerance.alive = reader.integer<std::uint32_t>();
  tolerance.needed = reader.integer<std::uint32_t>();
  return tolerance;
}

void write_moves(ByteWriter& writer, const MemberMoves& moves) {
  writer.integer(moves.epoch);
  writer.integer(moves.shards);
  writer.integer(moves.led);
  writer.integer(moves.settled);
  writer.integer(moves.ready);
}

MemberMoves read_moves(ByteReader& reader) {
  MemberMoves moves;
  moves.epoch = reader.integer<std::uint64_t>();
  moves.shards = reader.integer<std::uint32_t>();
  moves.led = reader.integer<std::uint32_t>();
  moves.settled = reader.integer<std::uint32_t>();
  moves.ready = reader.integer<std::uint32_t>();
  return moves;
}

}  // namespace

std::string_view member_action_name(MemberAction action) {
  switch (action) {
    case MemberAction::Add:
      return "add";
    case MemberAction::Promote:
      return "promote";
    case MemberAction::Remove:
      return "remove";
    case MemberAction::Drain:
      return "drain";
    case MemberAction::Undrain:
      return "undrain";
    case MemberAction::Reweigh:
      return "reweigh";
    case MemberAction::MoveLeaders:
      return "move_leaders";
  }
  return "unknown";
}

std::vector<std::byte> encode_member_action(const MemberActionOrder& order) {
  std::vector<std::byte> bytes;
  ByteWriter writer{bytes};
  const unsigned flags = (order.dry_run ? kDryRun : 0u) | (order.force ? kForce : 0u) |
                         (order.auto_promote ? kAutoPromoted : 0u);
  writer.integer(static_cast<std::uint8_t>(order.action));
  writer.integer(static_cast<std::uint8_t>(flags));
  writer.integer(static_cast<std::uint8_t>(order.role));
  writer.integer(std::uint8_t{0});
  writer.integer(order.weight);
  writer.integer(order.node.value);
  writer.integer(order.replaces.value);
  writer.integer(order.expected);
  writer.integer(order.number);
  writer.integer(order.token_ms);
  writer.text(order.name);
  write_labels(writer, order.labels);
  writer.text(order.who);
  return bytes;
}

Result<MemberActionOrder> decode_member_action(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  MemberActionOrder order;
  order.action = static_cast<MemberAction>(reader.integer<std::uint8_t>());
  const auto flags = reader.integer<std::uint8_t>();
  order.dry_run = (flags & kDryRun) != 0;
  order.force = (flags & kForce) != 0;
  order.auto_promote = (flags & kAutoPromoted) != 0;
  order.role = static_cast<MemberRole>(reader.integer<std::uint8_t>());
  const auto reserved = reader.integer<std::uint8_t>();
  order.weight = reader.integer<std::uint32_t>();
  order.node = NodeId{reader.integer<std::uint32_t>()};
  order.replaces = NodeId{reader.integer<std::uint32_t>()};
  order.expected = reader.integer<std::uint64_t>();
  order.number = reader.integer<std::uint64_t>();
  order.token_ms = reader.integer<std::uint64_t>();
  order.name = reader.text(kMemberNameBytesMax);
  auto labels = read_labels(reader, kMemberLabelsMax);
  order.who = reader.text(kMemberWhoBytesMax);
  const bool known = (flags & ~(kDryRun | kForce | kAutoPromoted)) == 0 && reserved == 0;
  if (!reader.complete() || !labels || !known) {
    return not_an_action();
  }
  order.labels = *std::move(labels);
  return is_order(order) ? Result<MemberActionOrder>(std::move(order)) : not_an_action();
}

std::vector<std::byte> encode_member_action_answer(const MemberActionAnswer& answer) {
  std::vector<std::byte> bytes;
  ByteWriter writer{bytes};
  const std::vector<std::byte> view = encode_view(answer.view);
  writer.integer(static_cast<std::uint32_t>(view.size()));
  writer.bytes(view.data(), view.size());
  writer.integer(answer.node.value);
  writer.integer(static_cast<std::uint8_t>(answer.token ? kHasToken : 0));
  writer.array(answer.token.value_or(JoinToken{}));
  writer.integer(answer.deadline_ms);
  write_tolerance(writer, answer.before);
  write_tolerance(writer, answer.after);
  write_moves(writer, answer.moves);
  writer.integer(answer.handed_over);
  return bytes;
}

Result<MemberActionAnswer> decode_member_action_answer(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  MemberActionAnswer answer;
  const std::string_view view_bytes = reader.blob(kActionViewBytesMax);
  auto view = decode_view(std::as_bytes(std::span{view_bytes}));
  answer.node = NodeId{reader.integer<std::uint32_t>()};
  const auto flags = reader.integer<std::uint8_t>();
  JoinToken token{};
  reader.array(token);
  if ((flags & kHasToken) != 0) {
    answer.token = token;
  }
  answer.deadline_ms = reader.integer<std::uint64_t>();
  answer.before = read_tolerance(reader);
  answer.after = read_tolerance(reader);
  answer.moves = read_moves(reader);
  answer.handed_over = reader.integer<std::uint32_t>();
  if (!reader.ok() || !view) {
    return not_an_action();
  }
  answer.view = *std::move(view);
  return answer;
}

std::vector<std::byte> encode_member_moves(const MemberMoves& moves) {
  std::vector<std::byte> bytes;
  ByteWriter writer{bytes};
  write_moves(writer, moves);
  return bytes;
}

Result<MemberMoves> decode_member_moves(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  const MemberMoves moves = read_moves(reader);
  return reader.ok() ? Result<MemberMoves>(moves)
                     : Result<MemberMoves>(make_error(ErrorCode::PayloadMalformed, "member_moves"));
}

}  // namespace gcoord::protocol
