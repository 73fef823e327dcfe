#include "security/roles/role_cpu.h"

#include "common/bytes.h"
#include "security/roles/grant_rules.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

namespace gcoord::security {

namespace {

constexpr std::uint8_t kVersion = 1;
// The least that a row takes.
constexpr std::size_t kUserBytesMin = 2 + 1 + 2 + 1 + 1 + 8;
constexpr std::size_t kRoleBytesMin = 2 + 1 + 1;

bool rise(const std::vector<std::string>& names) {
  return std::ranges::adjacent_find(names, std::greater_equal<>{}) == names.end();
}

bool read_roles(ByteReader& reader, AccessTable& table) {
  const std::uint32_t count = reader.count(kRoleBytesMin, kRolesMax);
  for (std::uint32_t k = 0; k < count; ++k) {
    std::string name{reader.text(kRoleNameBytesMax)};
    Role role;
    role.grants = read_grants(reader, kGrantsMax);
    role.includes = read_texts(reader, kIncludesMax, kRoleNameBytesMax);
    const auto falls = [](const Grant& a, const Grant& b) { return !grant_precedes(a, b); };
    const bool sound = reader.ok() && is_role_name(name) && name != kRootRole &&
                       (table.roles.empty() || table.roles.rbegin()->first < name) &&
                       std::ranges::all_of(role.grants, is_grant) && rise(role.includes) &&
                       std::ranges::adjacent_find(role.grants, falls) == role.grants.end();
    if (!sound) {
      return false;
    }
    table.row_bytes += bytes_of(name, role);
    table.roles.emplace_hint(table.roles.end(), std::move(name), std::move(role));
  }
  return reader.ok();
}

bool is_sound(const AccessTable& table, const User& user) {
  const Verifier& verifier = user.verifier;
  return verifier.is_none() == verifier.bytes.empty() && rise(user.roles) &&
         user.changed <= table.epoch && user.changed != 0 &&
         std::ranges::all_of(user.roles, [&](const auto& each) { return has_role(table, each); });
}

bool read_users(ByteReader& reader, AccessTable& table) {
  const std::uint32_t count = reader.count(kUserBytesMin, kUsersMax);
  for (std::uint32_t k = 0; k < count; ++k) {
    std::string name{reader.text(kUserNameBytesMax)};
    User user;
    user.verifier = read_verifier(reader);
    user.roles = read_texts(reader, kRolesOfUserMax, kRoleNameBytesMax);
    const auto disabled = reader.integer<std::uint8_t>();
    user.disabled = disabled == 1;
    user.changed = reader.integer<std::uint64_t>();
    const bool sound = reader.ok() && disabled <= 1 && is_user_name(name) &&
                       (table.users.empty() || table.users.rbegin()->first < name) &&
                       is_sound(table, user);
    if (!sound) {
      return false;
    }
    table.row_bytes += bytes_of(name, user);
    table.users.emplace_hint(table.users.end(), std::move(name), std::move(user));
  }
  return reader.ok();
}

// What is between rows.
bool is_sound(const AccessTable& table) {
  for (const auto& [name, role] : table.roles) {
    if (!std::ranges::all_of(role.includes,
                             [&](const auto& each) { return has_role(table, each); })) {
      return false;
    }
  }
  const auto depth = include_depth(table);
  return table.epoch != 0 && depth && *depth <= kIncludeDepthMax &&
         table.row_bytes <= kTableBytesMax && (!table.enabled || has_admin(table)) &&
         table.numbers.size() == std::min<std::uint64_t>(table.epoch, kChangesKept);
}

}  // namespace

AccessCode AccessCpu::apply(std::span<const std::byte> command) {
  const auto decoded = decode_access_command(command);
  return decoded ? security::apply(table_, *decoded) : AccessCode::Malformed;
}

AccessCode AccessCpu::preview(const AccessCommand& command) const {
  AccessTable table = table_;
  return security::apply(table, command);
}

std::optional<std::uint64_t> AccessCpu::made_by(std::uint64_t number) const {
  const auto& numbers = table_.numbers;
  const auto found = std::find(numbers.rbegin(), numbers.rend(), number);
  if (number == 0 || found == numbers.rend()) {
    return std::nullopt;
  }
  return table_.epoch - static_cast<std::uint64_t>(found - numbers.rbegin());
}

void AccessCpu::serialize(std::vector<std::byte>& bytes) const {
  if (is_empty()) {
    return;
  }
  ByteWriter writer{bytes};
  writer.integer(kVersion);
  writer.integer(static_cast<std::uint8_t>(table_.enabled ? 1 : 0));
  writer.integer(table_.epoch);
  writer.integer(table_.recoveries);
  write_marks(writer, table_.recovered);
  writer.integer(static_cast<std::uint32_t>(table_.numbers.size()));
  for (const std::uint64_t number : table_.numbers) {
    writer.integer(number);
  }
  writer.integer(static_cast<std::uint32_t>(table_.roles.size()));
  for (const auto& [name, role] : table_.roles) {
    writer.text(name);
    write_grants(writer, role.grants);
    write_texts(writer, role.includes);
  }
  writer.integer(static_cast<std::uint32_t>(table_.users.size()));
  for (const auto& [name, user] : table_.users) {
    writer.text(name);
    write_verifier(writer, user.verifier);
    write_texts(writer, user.roles);
    writer.integer(static_cast<std::uint8_t>(user.disabled ? 1 : 0));
    writer.integer(user.changed);
  }
}

std::optional<AccessCpu> AccessCpu::parse(std::span<const std::byte> bytes) {
  AccessCpu state;
  if (bytes.empty()) {
    return state;
  }
  ByteReader reader{bytes};
  AccessTable& table = state.table_;
  const auto version = reader.integer<std::uint8_t>();
  const auto enabled = reader.integer<std::uint8_t>();
  table.enabled = enabled == 1;
  table.epoch = reader.integer<std::uint64_t>();
  table.recoveries = reader.integer<std::uint64_t>();
  table.recovered = read_marks(reader);
  const std::uint32_t numbers = reader.count(sizeof(std::uint64_t), kChangesKept);
  for (std::uint32_t k = 0; k < numbers; ++k) {
    table.numbers.push_back(reader.integer<std::uint64_t>());
  }
  const bool whole = version == kVersion && enabled <= 1 && read_roles(reader, table) &&
                     read_users(reader, table) && reader.complete() && is_sound(table);
  return whole ? std::optional(std::move(state)) : std::nullopt;
}

}  // namespace gcoord::security
