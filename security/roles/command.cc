#include "security/roles/command.h"

#include "common/bytes.h"

#include <algorithm>
#include <utility>

namespace gcoord::security {

namespace {

constexpr std::uint8_t kVersion = 1;

// A count of one byte that is above the bound makes the reader fail.
std::size_t read_count(ByteReader& reader, std::size_t count_max) {
  const auto count = reader.integer<std::uint8_t>();
  if (count > count_max) {
    static_cast<void>(reader.bytes(reader.rest_bytes() + 1));
    return 0;
  }
  return count;
}

struct Fields {
  bool name = true;
  bool verifier = false;
  bool roles = false;
  bool grants = false;
  bool marks = false;
};

std::optional<Fields> fields_of(AccessKind kind) {
  switch (kind) {
    case AccessKind::UserAdd:
      return Fields{.verifier = true, .roles = true};
    case AccessKind::UserPassword:
      return Fields{.verifier = true};
    case AccessKind::UserGrant:
    case AccessKind::UserRevoke:
      return Fields{.roles = true};
    case AccessKind::UserDelete:
    case AccessKind::UserEnable:
    case AccessKind::UserDisable:
    case AccessKind::RoleDelete:
      return Fields{};
    case AccessKind::RoleAdd:
    case AccessKind::RoleGrant:
    case AccessKind::RoleRevoke:
      return Fields{.roles = true, .grants = true};
    case AccessKind::Enable:
    case AccessKind::Disable:
      return Fields{.name = false};
    case AccessKind::Recover:
      return Fields{.name = false, .marks = true};
  }
  return std::nullopt;
}

bool fits_kind(const AccessCommand& command) {
  const auto fields = fields_of(command.kind);
  return fields && (fields->name || command.name.empty()) &&
         (fields->verifier || (command.verifier.is_none() && command.verifier.bytes.empty())) &&
         (fields->roles || command.roles.empty()) && (fields->grants || command.grants.empty()) &&
         (fields->marks || command.marks.empty());
}

}  // namespace

void write_verifier(ByteWriter& writer, const Verifier& verifier) {
  writer.integer(verifier.algorithm);
  writer.text({reinterpret_cast<const char*>(verifier.bytes.data()), verifier.bytes.size()});
}

Verifier read_verifier(ByteReader& reader) {
  Verifier verifier;
  verifier.algorithm = reader.integer<std::uint8_t>();
  const std::string_view text = reader.text(kVerifierBytesMax);
  const auto bytes = std::as_bytes(std::span{text});
  verifier.bytes.assign(bytes.begin(), bytes.end());
  return verifier;
}

void write_texts(ByteWriter& writer, const std::vector<std::string>& texts) {
  writer.integer(static_cast<std::uint8_t>(texts.size()));
  for (const std::string& text : texts) {
    writer.text(text);
  }
}

std::vector<std::string> read_texts(ByteReader& reader,
                                    std::size_t count_max,
                                    std::size_t bytes_max) {
  std::vector<std::string> texts;
  const std::size_t count = read_count(reader, count_max);
  for (std::size_t k = 0; k < count && reader.ok(); ++k) {
    texts.emplace_back(reader.text(bytes_max));
  }
  return texts;
}

void write_marks(ByteWriter& writer, const std::vector<RecoveryMark>& marks) {
  writer.integer(static_cast<std::uint8_t>(marks.size()));
  for (const RecoveryMark& mark : marks) {
    writer.integer(mark.node.value);
    writer.integer(mark.number);
  }
}

std::vector<RecoveryMark> read_marks(ByteReader& reader) {
  std::vector<RecoveryMark> marks;
  const std::size_t count = read_count(reader, kRecoveryMarksMax);
  for (std::size_t k = 0; k < count && reader.ok(); ++k) {
    const NodeId node{reader.integer<std::uint32_t>()};
    marks.push_back({node, reader.integer<std::uint64_t>()});
  }
  return marks;
}

void write_grants(ByteWriter& writer, const std::vector<Grant>& grants) {
  writer.integer(static_cast<std::uint8_t>(grants.size()));
  for (const Grant& grant : grants) {
    writer.text(grant.prefix);
    writer.integer(static_cast<std::uint8_t>(grant.exact ? 1 : 0));
    writer.integer(grant.rights);
  }
}

std::vector<Grant> read_grants(ByteReader& reader, std::size_t count_max) {
  std::vector<Grant> grants;
  const std::size_t count = read_count(reader, count_max);
  for (std::size_t k = 0; k < count && reader.ok(); ++k) {
    Grant grant;
    grant.prefix = reader.text(kGrantPrefixBytesMax);
    const auto exact = reader.integer<std::uint8_t>();
    grant.exact = exact != 0;
    grant.rights = exact > 1 ? 0 : reader.integer<std::uint64_t>();
    if (grant.rights == 0) {  // No release writes such a grant.
      static_cast<void>(reader.bytes(reader.rest_bytes() + 1));
      break;
    }
    grants.push_back(std::move(grant));
  }
  return grants;
}

std::vector<std::byte> encode_access_command(const AccessCommand& command) {
  std::vector<std::byte> bytes;
  ByteWriter writer{bytes};
  writer.integer(static_cast<std::uint8_t>(command.kind));
  writer.integer(kVersion);
  writer.integer(command.expected);
  writer.integer(command.number);
  writer.integer(static_cast<std::uint8_t>(command.proven ? 1 : 0));
  writer.text(command.name);
  writer.text(command.who);
  write_verifier(writer, command.verifier);
  write_texts(writer, command.roles);
  write_grants(writer, command.grants);
  write_marks(writer, command.marks);
  return bytes;
}

std::optional<AccessCommand> decode_access_command(std::span<const std::byte> bytes) {
  if (bytes.size() > kAccessCommandBytesMax) {
    return std::nullopt;
  }
  ByteReader reader{bytes};
  AccessCommand command;
  command.kind = static_cast<AccessKind>(reader.integer<std::uint8_t>());
  const auto version = reader.integer<std::uint8_t>();
  command.expected = reader.integer<std::uint64_t>();
  command.number = reader.integer<std::uint64_t>();
  const auto proven = reader.integer<std::uint8_t>();
  command.proven = proven == 1;
  command.name = reader.text(kUserNameBytesMax);
  command.who = reader.text(kAccessWhoBytesMax);
  command.verifier = read_verifier(reader);
  command.roles = read_texts(reader, kRolesOfUserMax, kRoleNameBytesMax);
  command.grants = read_grants(reader, kCommandGrantsMax);
  command.marks = read_marks(reader);
  const bool sound = reader.complete() && version == kVersion && proven <= 1 && fits_kind(command);
  return sound ? std::optional(std::move(command)) : std::nullopt;
}

}  // namespace gcoord::security
