#include "membership/rendezvous/command.h"

#include "common/assert.h"
#include "common/bytes.h"
#include "membership/rendezvous/limits.h"

#include <cstddef>
#include <span>
#include <vector>

namespace gcoord::membership {

bool bounds_sound(const RendezvousBounds& bounds) {
  return bounds.members_min >= 1 && bounds.members_min <= bounds.members_max &&
         bounds.members_max <= kRendezvousMembersMax;
}

std::string encode_rendezvous_arrive(const RendezvousBounds& bounds, std::string_view payload) {
  GCOORD_ASSERT(bounds_sound(bounds));
  GCOORD_ASSERT(payload.size() <= kRendezvousPayloadBytesMax);
  std::vector<std::byte> bytes;
  ByteWriter writer{bytes};
  writer.integer(static_cast<std::uint8_t>(RendezvousOp::Arrive));
  writer.integer(bounds.members_min);
  writer.integer(bounds.members_max);
  writer.integer(bounds.last_call_ms);
  writer.bytes(payload);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string encode_rendezvous_leave() {
  return std::string(1, static_cast<char>(RendezvousOp::Leave));
}

bool is_rendezvous(std::string_view bytes) {
  return !bytes.empty() &&
         static_cast<unsigned char>(bytes.front()) >= static_cast<unsigned>(RendezvousOp::Arrive);
}

RendezvousCommand decode_rendezvous_command(std::string_view bytes) {
  ByteReader reader{std::as_bytes(std::span{bytes.data(), bytes.size()})};
  RendezvousCommand command;
  command.op = static_cast<RendezvousOp>(reader.integer<std::uint8_t>());
  if (command.op == RendezvousOp::Leave) {
    return reader.complete() ? command : RendezvousCommand{};
  }
  command.bounds.members_min = reader.integer<std::uint32_t>();
  command.bounds.members_max = reader.integer<std::uint32_t>();
  command.bounds.last_call_ms = reader.integer<std::uint32_t>();
  const bool fits = reader.rest_bytes() <= kRendezvousPayloadBytesMax;
  command.payload = reader.bytes(reader.rest_bytes());
  const bool sound =
      command.op == RendezvousOp::Arrive && reader.ok() && fits && bounds_sound(command.bounds);
  return sound ? command : RendezvousCommand{};
}

}  // namespace gcoord::membership
