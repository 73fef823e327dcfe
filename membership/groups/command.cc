#include "membership/groups/command.h"

#include "common/assert.h"
#include "common/utf8.h"
#include "membership/groups/limits.h"

#include <algorithm>

namespace gcoord::membership {
namespace {

constexpr std::size_t kSizeBytes = 4;

std::string begin(GroupOp op) {
  return std::string(1, static_cast<char>(op));
}

bool decode_join(std::string_view rest, GroupCommand& command) {
  const std::size_t id_bytes = rest.empty() ? 0 : static_cast<unsigned char>(rest.front());
  if (id_bytes == 0 || id_bytes > kMemberIdBytesMax || rest.size() < 1 + id_bytes) {
    return false;
  }
  const std::string_view payload = rest.substr(1 + id_bytes);
  if (payload.size() > kMemberPayloadBytesMax || !member_id_sound(rest.substr(1, id_bytes))) {
    return false;
  }
  command.id = rest.data() + 1;
  command.id_bytes = static_cast<std::uint16_t>(id_bytes);
  command.payload = payload.data();
  command.payload_bytes = static_cast<std::uint16_t>(payload.size());
  return true;
}

bool decode_update(std::string_view rest, GroupCommand& command) {
  command.payload = rest.data();
  command.payload_bytes =
      static_cast<std::uint16_t>(std::min<std::size_t>(rest.size(), kMemberPayloadBytesMax));
  return rest.size() <= kMemberPayloadBytesMax;
}

bool decode_arrive(std::string_view rest, GroupCommand& command) {
  for (std::size_t k = 0; k < rest.size() && k < kSizeBytes; ++k) {
    command.barrier_size |= std::uint32_t{static_cast<unsigned char>(rest[k])} << (8 * k);
  }
  return rest.size() == kSizeBytes && command.barrier_size >= 1 &&
         command.barrier_size <= kGroupMembersMax;
}

bool decode_rest(std::string_view rest, GroupCommand& command) {
  switch (command.op) {
    case GroupOp::Join:
      return decode_join(rest, command);
    case GroupOp::Leave:
      return rest.empty();
    case GroupOp::Update:
      return decode_update(rest, command);
    case GroupOp::Arrive:
      return decode_arrive(rest, command);
    case GroupOp::Malformed:
      break;
  }
  return false;
}

}  // namespace

bool member_id_sound(std::string_view id) {
  const auto is_control = [](char each) {
    return static_cast<unsigned char>(each) < 0x20 || each == 0x7f;
  };
  return !id.empty() && id.size() <= kMemberIdBytesMax && utf8_well_formed(id) &&
         std::ranges::none_of(id, is_control);
}

std::string encode_join(std::string_view id, std::string_view payload) {
  GCOORD_ASSERT(member_id_sound(id));
  GCOORD_ASSERT(payload.size() <= kMemberPayloadBytesMax);
  std::string bytes = begin(GroupOp::Join);
  bytes += static_cast<char>(id.size());
  bytes += id;
  bytes += payload;
  return bytes;
}

std::string encode_leave() {
  return begin(GroupOp::Leave);
}

std::string encode_update(std::string_view payload) {
  GCOORD_ASSERT(payload.size() <= kMemberPayloadBytesMax);
  return begin(GroupOp::Update).append(payload);
}

std::string encode_arrive(std::uint32_t barrier_size) {
  GCOORD_ASSERT(barrier_size >= 1 && barrier_size <= kGroupMembersMax);
  std::string bytes = begin(GroupOp::Arrive);
  for (std::size_t k = 0; k < kSizeBytes; ++k) {
    bytes += static_cast<char>(barrier_size >> (8 * k) & 0xffu);
  }
  return bytes;
}

GroupCommand decode_group_command(std::string_view bytes) {
  GroupCommand command;
  if (bytes.empty()) {
    return command;
  }
  command.op = static_cast<GroupOp>(bytes.front());
  return decode_rest(bytes.substr(1), command) ? command : GroupCommand{};
}

}  // namespace gcoord::membership
