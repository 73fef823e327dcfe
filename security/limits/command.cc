#include "security/limits/command.h"

#include "common/bytes.h"

#include <utility>

namespace gcoord::security {

namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kSafeguardVersion = 2;

std::uint8_t version_of(const LimitCommand& command) {
  return command.is_safeguard() ? kSafeguardVersion : kVersion;
}

bool is_kind(LimitKind kind) {
  return kind >= LimitKind::Set && kind <= LimitKind::CancelPrune;
}

}  // namespace

void write_limit(ByteWriter& writer, const Limit& limit) {
  writer.integer(limit.rate);
  writer.integer(limit.burst);
  writer.integer(limit.connections);
  writer.integer(limit.sessions);
  writer.integer(limit.locks);
  writer.integer(limit.waiters);
  writer.integer(limit.watches);
  writer.integer(limit.bytes);
}

Limit read_limit(ByteReader& reader) {
  Limit limit;
  limit.rate = reader.integer<std::uint32_t>();
  limit.burst = reader.integer<std::uint32_t>();
  limit.connections = reader.integer<std::uint32_t>();
  limit.sessions = reader.integer<std::uint32_t>();
  limit.locks = reader.integer<std::uint32_t>();
  limit.waiters = reader.integer<std::uint32_t>();
  limit.watches = reader.integer<std::uint32_t>();
  limit.bytes = reader.integer<std::uint64_t>();
  return limit;
}

void write_denial(ByteWriter& writer, const Denial& denial) {
  writer.integer(denial.until_ms);
  writer.text(denial.reason);
}

Denial read_denial(ByteReader& reader) {
  Denial denial;
  denial.until_ms = reader.integer<std::uint64_t>();
  denial.reason = reader.text(kDenialReasonBytesMax);
  return denial;
}

void write_prune(ByteWriter& writer, const PruneBounds& bounds) {
  writer.integer(bounds.shard);
  writer.integer(bounds.below);
  writer.integer(bounds.entries);
  writer.integer(bounds.bytes);
  writer.integer(bounds.age_ms);
}

void read_prune(ByteReader& reader, PruneBounds& bounds) {
  bounds.shard = reader.integer<std::uint32_t>();
  bounds.below = reader.integer<std::uint64_t>();
  bounds.entries = reader.integer<std::uint64_t>();
  bounds.bytes = reader.integer<std::uint64_t>();
  bounds.age_ms = reader.integer<std::uint64_t>();
}

namespace {

std::uint8_t scope_of(const LimitCommand& command) {
  return command.prunes()   ? command.prune.log
         : command.denies() ? static_cast<std::uint8_t>(command.denial_scope)
                            : static_cast<std::uint8_t>(command.limit_scope);
}

void set_scope(LimitCommand& command, std::uint8_t scope) {
  if (command.prunes()) {
    command.prune.log = scope;
  } else if (command.denies()) {
    command.denial_scope = static_cast<DenialScope>(scope);
  } else {
    command.limit_scope = static_cast<LimitScope>(scope);
  }
}

}  // namespace

std::vector<std::byte> encode_limit_command(const LimitCommand& command) {
  std::vector<std::byte> bytes;
  ByteWriter writer{bytes};
  writer.integer(static_cast<std::uint8_t>(command.kind));
  writer.integer(version_of(command));
  writer.integer(command.expected);
  writer.integer(command.number);
  writer.integer(static_cast<std::uint8_t>(command.proven ? 1 : 0));
  writer.integer(command.now_ms);
  writer.text(command.who);
  writer.integer(scope_of(command));
  writer.text(command.name);
  if (command.kind == LimitKind::Set) {
    write_limit(writer, command.limit);
    if (command.is_safeguard()) {
      writer.integer(command.limit.session_ttl_ms);
    }
  } else if (command.kind == LimitKind::Deny) {
    write_denial(writer, command.denial);
  } else if (command.prunes()) {
    write_prune(writer, command.prune);
  }
  return bytes;
}

std::optional<LimitCommand> decode_limit_command(std::span<const std::byte> bytes) {
  if (bytes.size() > kLimitCommandBytesMax) {
    return std::nullopt;
  }
  ByteReader reader{bytes};
  LimitCommand command;
  command.kind = static_cast<LimitKind>(reader.integer<std::uint8_t>());
  const auto version = reader.integer<std::uint8_t>();
  command.expected = reader.integer<std::uint64_t>();
  command.number = reader.integer<std::uint64_t>();
  const auto proven = reader.integer<std::uint8_t>();
  command.proven = proven == 1;
  command.now_ms = reader.integer<std::uint64_t>();
  command.who = reader.text(kLimitWhoBytesMax);
  set_scope(command, reader.integer<std::uint8_t>());
  command.name = reader.text(kLimitNameBytesMax);
  if (command.kind == LimitKind::Set) {
    command.limit = read_limit(reader);
    if (version == kSafeguardVersion) {
      command.limit.session_ttl_ms = reader.integer<std::uint32_t>();
    }
  } else if (command.kind == LimitKind::Deny) {
    command.denial = read_denial(reader);
  } else if (command.prunes()) {
    read_prune(reader, command.prune);
  }
  const bool sound = reader.complete() && version == version_of(command) && proven <= 1 &&
                     is_kind(command.kind) && (!command.prunes() || command.name.empty());
  return sound ? std::optional(std::move(command)) : std::nullopt;
}

}  // namespace gcoord::security
