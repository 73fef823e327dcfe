#include "protocol/rendezvous/messages.h"

#include "common/bytes.h"
#include "protocol/lock_messages.h"

namespace gcoord::protocol {
namespace {

constexpr std::size_t kMemberBytesMin = 8 + 2;

}  // namespace

std::vector<std::byte> encode_rendezvous_join(const RendezvousJoin& join) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.integer(join.members_min);
  writer.integer(join.members_max);
  writer.integer(join.last_call_ms);
  writer.text(join.name);
  writer.bytes(join.payload);
  return out;
}

Result<RendezvousJoin> decode_rendezvous_join(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  RendezvousJoin join;
  join.members_min = reader.integer<std::uint32_t>();
  join.members_max = reader.integer<std::uint32_t>();
  join.last_call_ms = reader.integer<std::uint32_t>();
  join.name = reader.text(payload.size());
  if (!reader.ok()) {
    return make_error(ErrorCode::PayloadMalformed, "rendezvous_join");
  }
  join.payload = reader.bytes(reader.rest_bytes());
  return join;
}

std::vector<std::byte> encode_rendezvous_round(const std::vector<RendezvousMemberRow>& members) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.integer(static_cast<std::uint32_t>(members.size()));
  for (const RendezvousMemberRow& member : members) {
    writer.integer(member.session.value);
    writer.text(member.payload);
  }
  return out;
}

Result<std::vector<RendezvousMemberRow>> decode_rendezvous_round(
    std::span<const std::byte> payload) {
  ByteReader reader{payload};
  std::vector<RendezvousMemberRow> members(reader.count(kMemberBytesMin, kRendezvousMembersMax));
  for (RendezvousMemberRow& member : members) {
    member.session = SessionId{reader.integer<std::uint64_t>()};
    member.payload = reader.text(kRendezvousPayloadBytesMax);
  }
  if (!reader.complete()) {
    return make_error(ErrorCode::PayloadMalformed, "rendezvous_join reply");
  }
  return members;
}

std::vector<std::byte> encode_rendezvous_query(const RendezvousQuery& query) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.integer(query.version);
  writer.bytes(query.name);
  return out;
}

Result<RendezvousQuery> decode_rendezvous_query(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  RendezvousQuery query;
  query.version = reader.integer<std::uint64_t>();
  if (!reader.ok()) {
    return make_error(ErrorCode::PayloadMalformed, "rendezvous_get");
  }
  query.name = reader.bytes(reader.rest_bytes());
  return query;
}

std::vector<std::byte> encode_rendezvous_state(const RendezvousState& state) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  for (const std::uint64_t number : {state.version, state.round, state.alive}) {
    writer.integer(number);
  }
  for (const std::uint32_t number : {state.size,
                                     state.present,
                                     state.waiting,
                                     state.members_min,
                                     state.members_max,
                                     state.last_call_ms}) {
    writer.integer(number);
  }
  writer.integer(static_cast<std::uint8_t>(state.last_call ? 1 : 0));
  return out;
}

Result<RendezvousState> decode_rendezvous_state(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  RendezvousState state;
  for (std::uint64_t* const number : {&state.version, &state.round, &state.alive}) {
    *number = reader.integer<std::uint64_t>();
  }
  for (std::uint32_t* const number : {&state.size,
                                      &state.present,
                                      &state.waiting,
                                      &state.members_min,
                                      &state.members_max,
                                      &state.last_call_ms}) {
    *number = reader.integer<std::uint32_t>();
  }
  const auto last_call = reader.integer<std::uint8_t>();
  state.last_call = last_call == 1;
  const bool sound = last_call <= 1 && state.present <= state.size;
  if (!reader.complete() || !sound) {
    return make_error(ErrorCode::PayloadMalformed, "rendezvous_get reply");
  }
  return state;
}

ErrorCode check_rendezvous_name(std::string_view name) {
  const ErrorCode code = check_new_name(name);
  return code == ErrorCode::None && name.size() > kRendezvousNameBytesMax
             ? ErrorCode::GroupNameTooLong
             : code;
}

ErrorCode check_rendezvous_join(const RendezvousJoin& join) {
  const bool bounds = join.members_min >= 1 && join.members_min <= join.members_max &&
                      join.members_max <= kRendezvousMembersMax &&
                      join.last_call_ms <= kRendezvousLastCallMsMax;
  if (!bounds) {
    return ErrorCode::RendezvousBoundsInvalid;
  }
  return join.payload.size() <= kRendezvousPayloadBytesMax ? check_rendezvous_name(join.name)
                                                           : ErrorCode::MemberPayloadTooLong;
}

namespace {

ErrorCode check_join(const RequestSlot& slot,
                     std::span<const std::byte> payload,
                     const RequestLimits& limits) {
  const auto join = decode_rendezvous_join(payload);
  if (!join.ok()) {
    return ErrorCode::PayloadMalformed;
  }
  for (const ErrorCode code :
       {check_window(slot), check_rendezvous_join(join.value()), check_wait(slot.deadline_ms)}) {
    if (code != ErrorCode::None) {
      return code;
    }
  }
  return check_ttl(slot.ttl_ms, limits);
}

ErrorCode check_leave(const RequestSlot& slot, std::span<const std::byte> payload) {
  const ErrorCode code = check_window(slot);
  return code != ErrorCode::None ? code : check_rendezvous_name(text_of(payload));
}

ErrorCode check_get(const RequestSlot& slot, std::span<const std::byte> payload) {
  const auto query = decode_rendezvous_query(payload);
  if (!query.ok()) {
    return ErrorCode::PayloadMalformed;
  }
  const ErrorCode code = check_wait(slot.deadline_ms);
  return code != ErrorCode::None ? code : check_rendezvous_name(query.value().name);
}

}  // namespace

ErrorCode check_rendezvous_request(const RequestSlot& slot,
                                   std::span<const std::byte> payload,
                                   const RequestLimits& limits) {
  if (slot.kind != RequestKind::RendezvousGet && slot.session == 0) {
    return ErrorCode::SessionZero;
  }
  switch (slot.kind) {
    case RequestKind::RendezvousJoin:
      return check_join(slot, payload, limits);
    case RequestKind::RendezvousLeave:
      return check_leave(slot, payload);
    case RequestKind::RendezvousGet:
      return check_get(slot, payload);
    default:
      return ErrorCode::KindUnknown;
  }
}

}  // namespace gcoord::protocol
