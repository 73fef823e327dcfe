// Commands of access control, as they stand in shard 0's log behind a record header
// (RecordKind::Access).
//
// Each one names the epoch that it changes, so that of two at once one is refused. Bytes are never
// renumbered: kind 1, version 1, expected 8, number 8, proven 1, name, who, verifier (algorithm 1
// and text), roles, grants, marks; a list is a count of 1 byte and its elements, a text a length
// of 2 and its bytes. No password is ever in them. Pure functions; thread-safe.
#pragma once

#include "common/ids.h"
#include "security/roles/role_table.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gcoord {
class ByteReader;
class ByteWriter;
}  // namespace gcoord

namespace gcoord::security {

// Never renumber: they are in logs.
enum class AccessKind : std::uint8_t {
  UserAdd = 1,       // name; verifier or none; roles.
  UserDelete = 2,    // name.
  UserPassword = 3,  // name, verifier; none: no password is right any more.
  UserGrant = 4,     // name, roles.
  UserRevoke = 5,    // name, roles.
  UserEnable = 6,    // name.
  UserDisable = 7,   // name.
  RoleAdd = 8,       // name; includes (in `roles`) and grants.
  RoleDelete = 9,    // name. Users and roles that have it lose it.
  RoleGrant = 10,    // name; includes and grants.
  RoleRevoke = 11,   // name; includes and grants.
  Enable = 12,       // Rights are checked from now on.
  Disable = 13,
  // Switches rights off whatever they are, by the markers of gcoordd --auth-recover in `marks`.
  Recover = 14,
};

struct AccessCommand {
  AccessKind kind = AccessKind::UserAdd;
  std::uint64_t expected = 0;  // The epoch that it changes.
  std::uint64_t number = 0;    // Drawn by who asks: the same change twice is one. 0: none.
  bool proven = false;         // `who` is a principal that was proven.
  std::string name;            // Of the user or role.
  std::string who;             // For the ledger.
  Verifier verifier;
  std::vector<std::string> roles;
  std::vector<Grant> grants;
  std::vector<RecoveryMark> marks;

  friend bool operator==(const AccessCommand& a, const AccessCommand& b) = default;
};

inline constexpr std::size_t kAccessWhoBytesMax = 255;
inline constexpr std::size_t kCommandGrantsMax = 16;
// The longest encoding, with a record header (server/interfaces/log_limits.h). A command that is
// longer is for several of them.
inline constexpr std::size_t kAccessCommandBytesMax = 2040;

std::vector<std::byte> encode_access_command(const AccessCommand& command);

// Nothing for bytes that no node writes: those of other kinds or versions, with lists that are too
// long, or with a field that the kind has not. Whether names are right is judged when it is
// applied.
std::optional<AccessCommand> decode_access_command(std::span<const std::byte> bytes);

// Parts of the above that requests have, too.
void write_verifier(ByteWriter& writer, const Verifier& verifier);
Verifier read_verifier(ByteReader& reader);
void write_texts(ByteWriter& writer, const std::vector<std::string>& texts);
std::vector<std::string> read_texts(ByteReader& reader,
                                    std::size_t count_max,
                                    std::size_t bytes_max);
void write_marks(ByteWriter& writer, const std::vector<RecoveryMark>& marks);
std::vector<RecoveryMark> read_marks(ByteReader& reader);
void write_grants(ByteWriter& writer, const std::vector<Grant>& grants);
std::vector<Grant> read_grants(ByteReader& reader, std::size_t count_max);

}  // namespace gcoord::security
