// Replicated state of access control: users, roles, and whether rights are checked at all.
//
// It is part of shard 0's state on every node, so everything in it is bounded: kTableBytesMax is
// what a snapshot of shard 0 grows by at most, and 10,000 users with a password and two roles each
// take about 1.3 MB of it. Maps are ordered, so equal tables have equal bytes. Plain values; no
// thread rules.
#pragma once

#include "common/ids.h"
#include "security/roles/rights.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::security {

inline constexpr std::size_t kUsersMax = 10'000;
inline constexpr std::size_t kRolesMax = 1'024;
inline constexpr std::size_t kRolesOfUserMax = 16;
inline constexpr std::size_t kIncludesMax = 16;  // Of one role.
inline constexpr std::size_t kGrantsMax = 64;    // Of one role.
// Roles one within the other, the outermost counted.
inline constexpr std::size_t kIncludeDepthMax = 8;
// A principal's name may be as long, and a SPIFFE id of a certificate needs it.
inline constexpr std::size_t kUserNameBytesMax = 255;
inline constexpr std::size_t kRoleNameBytesMax = 128;
// As long as a lock's name (protocol/limits.h); server/access compares them.
inline constexpr std::size_t kGrantPrefixBytesMax = 1'024;
// The text of a scrypt verifier with its parameters takes less than half of it.
inline constexpr std::size_t kVerifierBytesMax = 256;
inline constexpr std::size_t kTableBytesMax = std::size_t{4} << 20;
// Nodes of one recovery; more than vote in a cluster.
inline constexpr std::size_t kRecoveryMarksMax = 16;
// Changes whose numbers are kept, so that one that comes twice is made once.
inline constexpr std::size_t kChangesKept = 64;

// Has every right, is always there, and cannot be changed.
inline constexpr std::string_view kRootRole = "root";

// Rights on all names that begin with `prefix`, or on the one name that it is.
struct Grant {
  std::string prefix;  // Empty: all names, and what has no name.
  bool exact = false;
  RightMask rights = 0;

  friend bool operator==(const Grant& a, const Grant& b) = default;
};

struct Role {
  std::vector<Grant> grants;          // By rising prefix, prefixes before exact names.
  std::vector<std::string> includes;  // Names of other roles, rising.

  friend bool operator==(const Role& a, const Role& b) = default;
};

// A node that has the marker of gcoordd --auth-recover, and the marker's number.
struct RecoveryMark {
  NodeId node;
  std::uint64_t number = 0;

  friend bool operator==(const RecoveryMark& a, const RecoveryMark& b) = default;
};

// What a password is checked against. Opaque here: security/credentials writes and reads it.
struct Verifier {
  std::uint8_t algorithm = 0;  // 0: none, so no password is right.
  std::vector<std::byte> bytes;

  bool is_none() const { return algorithm == 0; }

  friend bool operator==(const Verifier& a, const Verifier& b) = default;
};

struct User {
  Verifier verifier;
  std::vector<std::string> roles;  // Rising.
  bool disabled = false;
  // Epoch of the last change of its verifier, or of its being enabled, or that made it: what was
  // issued to the user at an earlier one counts no more.
  std::uint64_t changed = 0;

  friend bool operator==(const User& a, const User& b) = default;
};

using Users = std::map<std::string, User, std::less<>>;
using Roles = std::map<std::string, Role, std::less<>>;

struct AccessTable {
  std::uint64_t epoch = 0;  // Rises by one with every change; 0: there was none yet.
  bool enabled = false;     // Rights are checked.
  // How often rights were switched off by the files of a majority (gcoordd --auth-recover).
  std::uint64_t recoveries = 0;
  std::vector<RecoveryMark> recovered;  // The markers by which it happened last; they are spent.
  Users users;
  Roles roles;
  // Numbers of the last changes; the one at the end made `epoch`.
  std::deque<std::uint64_t> numbers;
  std::size_t row_bytes = 0;  // What users and roles take; always the sum of bytes_of() of them.

  friend bool operator==(const AccessTable& a, const AccessTable& b) = default;
};

// Roles that grant session.read.all everywhere and not session.choose, by themselves or by what
// they include, as those of releases that let the former choose the ids of sessions; in rising
// order.
std::vector<std::string_view> roles_that_chose_sessions(const AccessTable& table);

std::size_t bytes_of(std::string_view name, const User& user);
std::size_t bytes_of(std::string_view name, const Role& role);

// Whether there is such a role; `root` is one.
bool has_role(const AccessTable& table, std::string_view role);

// The roles and all that they include, each once, rising; names of none are left out. Whether
// `root` is among them is for the caller to see.
std::vector<std::string_view> closure_of(const AccessTable& table,
                                         const std::vector<std::string>& roles);

// Whether an enabled user may change users and roles: somebody has to while rights are checked.
bool has_admin(const AccessTable& table);

}  // namespace gcoord::security
