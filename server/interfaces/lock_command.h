// The lock command of a decided entry: the one that the log has at hand, else what its payload
// decodes to.
//
// Nothing for an entry that holds no lock command, or one that no release here decodes. Texts point
// into the entry, and live as long. A plain function; thread-safe.
#pragma once

#include "locks/commands/command.h"
#include "server/interfaces/log_record.h"
#include "server/interfaces/state_machine.h"

#include <optional>

namespace gcoord::server {

inline std::optional<locks::LockCommand> lock_command_of(const AppliedEntry& entry) {
  if (entry.command != nullptr) {
    return *entry.command;
  }
  const auto header = decode_record_header(entry.payload);
  if (!header.has_value() || header->kind != RecordKind::LockCommand) {
    return std::nullopt;
  }
  const auto decoded = locks::decode(record_body(entry.payload));
  return decoded.ok() ? std::optional{decoded.value()} : std::nullopt;
}

}  // namespace gcoord::server
