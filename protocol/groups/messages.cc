#include "protocol/groups/messages.h"

#include "common/bytes.h"
#include "protocol/lock_messages.h"

namespace gcoord::protocol {
namespace {

// epoch, kind, session, id bytes, payload bytes.
constexpr std::size_t kRowBytesMin = 8 + 1 + 8 + 2 + 2;

GroupChangeRow read_row(ByteReader& reader, bool& known) {
  GroupChangeRow row;
  row.epoch = reader.integer<std::uint64_t>();
  const auto kind = reader.integer<std::uint8_t>();
  row.kind = static_cast<GroupChangeKind>(kind);
  row.session = SessionId{reader.integer<std::uint64_t>()};
  row.id = reader.text(kMemberIdBytesMax);
  row.payload = reader.text(kMemberPayloadBytesMax);
  known = known && kind >= 1 && kind <= 3;
  return row;
}

}  // namespace

std::vector<std::byte> encode_group_join(const GroupJoin& join) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.text(join.name);
  writer.text(join.id);
  writer.bytes(join.payload);
  return out;
}

Result<GroupJoin> decode_group_join(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  GroupJoin join;
  join.name = reader.text(payload.size());
  join.id = reader.text(payload.size());
  if (!reader.ok()) {
    return make_error(ErrorCode::PayloadMalformed, "group_join");
  }
  join.payload = reader.bytes(reader.rest_bytes());
  return join;
}

std::vector<std::byte> encode_group_update(const GroupUpdate& update) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.text(update.name);
  writer.bytes(update.payload);
  return out;
}

Result<GroupUpdate> decode_group_update(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  GroupUpdate update;
  update.name = reader.text(payload.size());
  if (!reader.ok()) {
    return make_error(ErrorCode::PayloadMalformed, "group_update");
  }
  update.payload = reader.bytes(reader.rest_bytes());
  return update;
}

std::vector<std::byte> encode_group_arrival(const GroupArrival& arrival) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.integer(arrival.size);
  writer.bytes(arrival.name);
  return out;
}

Result<GroupArrival> decode_group_arrival(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  GroupArrival arrival;
  arrival.size = reader.integer<std::uint32_t>();
  if (!reader.ok()) {
    return make_error(ErrorCode::PayloadMalformed, "group_barrier");
  }
  arrival.name = reader.bytes(reader.rest_bytes());
  return arrival;
}

std::vector<std::byte> encode_group_query(const GroupQuery& query) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.integer(query.epoch);
  writer.integer(query.member_count);
  writer.bytes(query.name);
  return out;
}

Result<GroupQuery> decode_group_query(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  GroupQuery query;
  query.epoch = reader.integer<std::uint64_t>();
  query.member_count = reader.integer<std::uint32_t>();
  if (!reader.ok()) {
    return make_error(ErrorCode::PayloadMalformed, "group_get");
  }
  query.name = reader.bytes(reader.rest_bytes());
  return query;
}

std::vector<std::byte> encode_group_answer(const GroupAnswer& answer) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.integer(static_cast<std::uint8_t>(answer.whole ? 1 : 0));
  writer.integer(answer.epoch);
  writer.integer(answer.barrier_size);
  writer.integer(answer.arrived);
  writer.integer(static_cast<std::uint32_t>(answer.rows.size()));
  for (const GroupChangeRow& row : answer.rows) {
    writer.integer(row.epoch);
    writer.integer(static_cast<std::uint8_t>(row.kind));
    writer.integer(row.session.value);
    writer.text(row.id);
    writer.text(row.payload);
  }
  return out;
}

Result<GroupAnswer> decode_group_answer(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  GroupAnswer answer;
  const auto whole = reader.integer<std::uint8_t>();
  answer.whole = whole == 1;
  answer.epoch = reader.integer<std::uint64_t>();
  answer.barrier_size = reader.integer<std::uint32_t>();
  answer.arrived = reader.integer<std::uint32_t>();
  answer.rows.resize(reader.count(kRowBytesMin, kGroupChangesMax));
  bool known = whole <= 1;
  for (GroupChangeRow& row : answer.rows) {
    row = read_row(reader, known);
  }
  if (!reader.complete() || !known) {
    return make_error(ErrorCode::PayloadMalformed, "group_get reply");
  }
  return answer;
}

ErrorCode check_group_name(std::string_view name) {
  const ErrorCode code = check_new_name(name);
  return code == ErrorCode::None && name.size() > kGroupNameBytesMax ? ErrorCode::GroupNameTooLong
                                                                     : code;
}

ErrorCode check_member_id(std::string_view id) {
  const bool sound = id.size() <= kMemberIdBytesMax && check_new_name(id) == ErrorCode::None;
  return sound ? ErrorCode::None : ErrorCode::MemberIdInvalid;
}

ErrorCode check_member_payload(std::string_view payload) {
  return payload.size() <= kMemberPayloadBytesMax ? ErrorCode::None
                                                  : ErrorCode::MemberPayloadTooLong;
}

ErrorCode check_barrier_size(std::uint32_t size) {
  return size >= 1 && size <= kGroupMembersMax ? ErrorCode::None : ErrorCode::BarrierSizeInvalid;
}

namespace {

// Whose request it is, and the name of the group.
ErrorCode check_asker(const RequestSlot& slot, std::string_view name) {
  if (slot.session == 0) {
    return ErrorCode::SessionZero;
  }
  const ErrorCode code = check_window(slot);
  return code != ErrorCode::None ? code : check_group_name(name);
}

ErrorCode check_join(const RequestSlot& slot,
                     std::span<const std::byte> payload,
                     const RequestLimits& limits) {
  const auto join = decode_group_join(payload);
  if (!join.ok()) {
    return ErrorCode::PayloadMalformed;
  }
  for (const ErrorCode code : {check_asker(slot, join.value().name),
                               check_member_id(join.value().id),
                               check_member_payload(join.value().payload)}) {
    if (code != ErrorCode::None) {
      return code;
    }
  }
  return check_ttl(slot.ttl_ms, limits);
}

ErrorCode check_update(const RequestSlot& slot, std::span<const std::byte> payload) {
  const auto update = decode_group_update(payload);
  if (!update.ok()) {
    return ErrorCode::PayloadMalformed;
  }
  const ErrorCode code = check_asker(slot, update.value().name);
  return code != ErrorCode::None ? code : check_member_payload(update.value().payload);
}

ErrorCode check_arrival(const RequestSlot& slot,
                        std::span<const std::byte> payload,
                        const RequestLimits& limits) {
  const auto arrival = decode_group_arrival(payload);
  if (!arrival.ok()) {
    return ErrorCode::PayloadMalformed;
  }
  for (const ErrorCode code : {check_asker(slot, arrival.value().name),
                               check_barrier_size(arrival.value().size),
                               check_wait(slot.deadline_ms)}) {
    if (code != ErrorCode::None) {
      return code;
    }
  }
  return check_ttl(slot.ttl_ms, limits);
}

ErrorCode check_query(const RequestSlot& slot, std::span<const std::byte> payload) {
  const auto query = decode_group_query(payload);
  if (!query.ok()) {
    return ErrorCode::PayloadMalformed;
  }
  const ErrorCode code = check_wait(slot.deadline_ms);
  return code != ErrorCode::None ? code : check_group_name(query.value().name);
}

}  // namespace

ErrorCode check_group_request(const RequestSlot& slot,
                              std::span<const std::byte> payload,
                              const RequestLimits& limits) {
  switch (slot.kind) {
    case RequestKind::GroupJoin:
      return check_join(slot, payload, limits);
    case RequestKind::GroupLeave:
      return check_asker(slot, text_of(payload));
    case RequestKind::GroupUpdate:
      return check_update(slot, payload);
    case RequestKind::GroupBarrier:
      return check_arrival(slot, payload, limits);
    case RequestKind::GroupGet:
      return check_query(slot, payload);
    default:
      return ErrorCode::KindUnknown;
  }
}

}  // namespace gcoord::protocol
