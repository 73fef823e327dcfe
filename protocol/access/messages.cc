#include "protocol/access/messages.h"

#include "common/bytes.h"
#include "protocol/error_codes.h"

#include <string_view>

namespace gcoord::protocol {

namespace {

using security::AccessKind;

constexpr std::uint8_t kHasPassword = 1;
constexpr std::uint8_t kDisabled = 2;
constexpr std::size_t kUserRowBytesMin = 2 + 1 + 8 + 1;
constexpr std::size_t kRoleRowBytesMin = 2 + 1 + 1;

Status malformed(const char* what) {
  return make_error(ErrorCode::PayloadMalformed, what);
}

std::uint8_t byte_of(bool value) {
  return value ? 1 : 0;
}

void write_user(ByteWriter& writer, const UserRow& row) {
  writer.text(row.name);
  writer.integer(static_cast<std::uint8_t>((row.has_password ? kHasPassword : 0) |
                                           (row.disabled ? kDisabled : 0)));
  writer.integer(row.changed);
  security::write_texts(writer, row.roles);
}

UserRow read_user(ByteReader& reader) {
  UserRow row;
  row.name = reader.text(security::kUserNameBytesMax);
  const auto flags = reader.integer<std::uint8_t>();
  row.has_password = (flags & kHasPassword) != 0;
  row.disabled = (flags & kDisabled) != 0;
  row.changed = reader.integer<std::uint64_t>();
  row.roles = security::read_texts(reader, security::kRolesOfUserMax, security::kRoleNameBytesMax);
  return row;
}

RoleRow read_role(ByteReader& reader) {
  RoleRow row;
  row.first = reader.text(security::kRoleNameBytesMax);
  row.second.grants = security::read_grants(reader, security::kGrantsMax);
  row.second.includes =
      security::read_texts(reader, security::kIncludesMax, security::kRoleNameBytesMax);
  return row;
}

constexpr std::size_t kAddressBytesMax = 128;

void write_self(ByteWriter& writer, const AccessSelf& self) {
  writer.integer(static_cast<std::uint8_t>(self.principal.kind));
  writer.integer(static_cast<std::uint8_t>(self.proof));
  writer.integer(self.until_ms);
  writer.text(self.principal.name);
  writer.text(self.address);
}

AccessSelf read_self(ByteReader& reader) {
  AccessSelf self;
  self.principal.kind = static_cast<security::PrincipalKind>(reader.integer<std::uint8_t>());
  self.proof = static_cast<ProofKind>(reader.integer<std::uint8_t>());
  self.until_ms = reader.integer<std::uint64_t>();
  self.principal.name = reader.text(security::kPrincipalNameBytesMax);
  self.address = reader.text(kAddressBytesMax);
  return self;
}

bool is_ordered(AccessKind kind) {
  return kind >= AccessKind::UserAdd && kind <= AccessKind::Disable;
}

}  // namespace

std::vector<std::byte> encode_access_query(const AccessQuery& query) {
  std::vector<std::byte> bytes;
  ByteWriter writer{bytes};
  writer.integer(static_cast<std::uint8_t>(query.subject));
  writer.integer(byte_of(query.replica));
  writer.integer(query.limit);
  writer.text(query.name);
  writer.text(query.after);
  return bytes;
}

Result<AccessQuery> decode_access_query(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  AccessQuery query;
  query.subject = static_cast<AccessSubject>(reader.integer<std::uint8_t>());
  const auto replica = reader.integer<std::uint8_t>();
  query.replica = replica == 1;
  query.limit = reader.integer<std::uint32_t>();
  query.name = reader.text(security::kUserNameBytesMax);
  query.after = reader.text(security::kUserNameBytesMax);
  const bool sound = reader.complete() && query.subject <= AccessSubject::Self && replica <= 1 &&
                     query.limit >= 1 && query.limit <= kAccessRowsMax;
  if (!sound) {
    return malformed("access_get");
  }
  return query;
}

std::vector<std::byte> encode_access_answer(const AccessAnswer& answer) {
  std::vector<std::byte> bytes;
  ByteWriter writer{bytes};
  writer.integer(answer.epoch);
  writer.integer(byte_of(answer.enabled));
  writer.integer(byte_of(answer.more));
  writer.integer(answer.recoveries);
  writer.integer(answer.user_count);
  writer.integer(answer.role_count);
  writer.integer(static_cast<std::uint32_t>(answer.users.size()));
  for (const UserRow& row : answer.users) {
    write_user(writer, row);
  }
  writer.integer(static_cast<std::uint32_t>(answer.roles.size()));
  for (const auto& [name, role] : answer.roles) {
    writer.text(name);
    security::write_grants(writer, role.grants);
    security::write_texts(writer, role.includes);
  }
  if (answer.self) {
    write_self(writer, *answer.self);
  }
  return bytes;
}

Result<AccessAnswer> decode_access_answer(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  AccessAnswer answer;
  answer.epoch = reader.integer<std::uint64_t>();
  answer.enabled = reader.integer<std::uint8_t>() == 1;
  answer.more = reader.integer<std::uint8_t>() == 1;
  answer.recoveries = reader.integer<std::uint64_t>();
  answer.user_count = reader.integer<std::uint32_t>();
  answer.role_count = reader.integer<std::uint32_t>();
  const std::uint32_t users = reader.count(kUserRowBytesMin, kAccessRowsMax);
  for (std::uint32_t k = 0; k < users && reader.ok(); ++k) {
    answer.users.push_back(read_user(reader));
  }
  const std::uint32_t roles = reader.count(kRoleRowBytesMin, kAccessRowsMax);
  for (std::uint32_t k = 0; k < roles && reader.ok(); ++k) {
    answer.roles.push_back(read_role(reader));
  }
  if (reader.ok() && reader.rest_bytes() > 0) {
    answer.self = read_self(reader);
  }
  if (!reader.ok()) {
    return malformed("access");
  }
  return answer;
}

std::vector<std::byte> encode_access_order(const AccessOrder& order) {
  std::vector<std::byte> bytes;
  ByteWriter writer{bytes};
  writer.integer(byte_of(order.dry_run));
  writer.integer(static_cast<std::uint8_t>(order.kind));
  writer.integer(order.expected);
  writer.integer(order.number);
  writer.text(order.name);
  writer.text(order.who);
  writer.text(order.password);
  security::write_texts(writer, order.roles);
  security::write_grants(writer, order.grants);
  return bytes;
}

Result<AccessOrder> decode_access_order(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  AccessOrder order;
  const auto dry_run = reader.integer<std::uint8_t>();
  order.dry_run = dry_run == 1;
  order.kind = static_cast<AccessKind>(reader.integer<std::uint8_t>());
  order.expected = reader.integer<std::uint64_t>();
  order.number = reader.integer<std::uint64_t>();
  order.name = reader.text(security::kUserNameBytesMax);
  order.who = reader.text(security::kAccessWhoBytesMax);
  order.password = reader.text(kPasswordBytesMax);
  order.roles =
      security::read_texts(reader, security::kRolesOfUserMax, security::kRoleNameBytesMax);
  order.grants = security::read_grants(reader, security::kCommandGrantsMax);
  const bool takes_password =
      order.kind == AccessKind::UserAdd || order.kind == AccessKind::UserPassword;
  const bool sound = reader.complete() && dry_run <= 1 && is_ordered(order.kind) &&
                     (takes_password || order.password.empty());
  if (!sound) {
    return malformed("access_change");
  }
  return order;
}

}  // namespace gcoord::protocol
