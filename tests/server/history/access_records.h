// Changes of users as they stand in the log of shard 0.
#pragma once

#include "security/roles/command.h"
#include "server/interfaces/log_record.h"

#include <span>
#include <string_view>
#include <vector>

namespace gcoord::server {

inline constexpr const char* kSomeVerifier =
    "$scrypt$ln=15,r=8,p=1$c29tZXNhbHRzb21lc2FsdA$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNoaGFzaGhhc2g";

// By root-ann, of bob; an empty verifier: there is none.
inline std::vector<std::byte> access_entry(security::AccessKind kind, std::string_view verifier) {
  security::AccessCommand command;
  command.kind = kind;
  command.expected = 4;
  command.proven = true;
  command.name = "bob";
  command.who = "root-ann";
  if (!verifier.empty()) {
    const auto bytes = std::as_bytes(std::span(verifier));
    command.verifier = {.algorithm = 1, .bytes = {bytes.begin(), bytes.end()}};
  }
  std::vector<std::byte> record;
  put_record_header(record,
                    {.kind = RecordKind::Access,
                     .origin = protocol::RecordOrigin::Remote,
                     .time_ms = 1'700'000'000'123});
  const auto body = encode_access_command(command);
  record.insert(record.end(), body.begin(), body.end());
  return record;
}

}  // namespace gcoord::server
