// Users and roles of a cluster: who may do what.
//
// A user has roles; a role grants rights on all names, on those that begin with a prefix, or on
// one name, and may include other roles. The role `root` has every right and cannot be changed.
// All of it is replicated state: Client::access reads it, Client::change_access changes it in one
// entry of the ledger, each change raising the epoch by one. Rights are checked only once they are
// switched on (AccessAction::Enable). docs/reference/rights.md says which right each request needs.
// Plain values; no thread rules.
//
//  AccessChange change{.action = AccessAction::UserAdd, .name = "ann", .password = secret};
//  change.roles = {"operators"};
//  auto report = client.change_access(change);
//  if (report.status().detail() == 6512) { ... }  // Others changed something since change.epoch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::client {

// Kinds of changes, each with the fields of AccessChange that it goes by; the others stay empty.
// Never renumber: they are in requests.
enum class AccessAction : std::uint8_t {
  UserAdd = 1,       // name; password, or none for a user that shows a certificate; roles.
  UserDelete = 2,    // name.
  UserPassword = 3,  // name, password; none: no password is right any more.
  UserGrant = 4,     // name, roles.
  UserRevoke = 5,    // name, roles.
  UserEnable = 6,    // name.
  UserDisable = 7,   // name.
  RoleAdd = 8,       // name; roles that it includes, and grants.
  RoleDelete = 9,    // name. Users and roles that have it lose it.
  RoleGrant = 10,    // name; roles to include, and grants.
  RoleRevoke = 11,   // name; roles and grants to take away.
  Enable = 12,       // Check rights from now on; only by a connection that proves an administrator.
  Disable = 13,
};

// Rights on names. In a report the names of rights are those of docs/reference/rights.md.
// "write" below the prefix "jobs/" is for programs that take such locks: what of a word is not over
// names, as the right to open sessions, is granted for the cluster. "admin" below a prefix is all
// that can be done to its names, and nothing to the cluster.
struct AccessGrant {
  // Names of rights as "lock.acquire", or in a change words for several: "read", "details",
  // "write", "admin".
  std::vector<std::string> rights;
  std::string prefix;  // Empty: all names, and what has no name.
  bool exact = false;  // That name alone.
};

// Argument of Client::change_access: one change, which happens as a whole or not at all.
struct AccessChange {
  AccessAction action = AccessAction::UserAdd;
  std::string name;  // Of the user or the role.
  // 1 to 1024 bytes (GC6519). It travels to the node as it is, so over TLS or a Unix socket; the
  // node that takes the change keeps a hash of it, and neither its log nor the ledger has it.
  std::string password;
  std::vector<std::string> roles;
  std::vector<AccessGrant> grants;
  // Change this epoch only, or fail with GC6512; 0: whichever is the newest.
  std::uint64_t epoch = 0;
  bool dry_run = false;  // Judge it, and change nothing.
  std::string who;       // For the ledger, where the connection proves nobody.
};

// Subjects of queries: they decide which rows AccessReport has.
enum class AccessSubject : std::uint8_t {
  Status = 0,  // No rows.
  Users = 1,
  Roles = 2,
  Self = 3,  // AccessReport::self; its user, and all roles that it has by it, are the rows.
};

// Argument of Client::access. One answer has at most `limit` rows; AccessReport::more says that
// there are others, which a query with the last row's name as `after` reads.
struct AccessQuery {
  AccessSubject subject = AccessSubject::Status;
  std::string name;            // That one only; empty: all,
  std::string after;           // with greater names than this,
  std::uint32_t limit = 1000;  // at most so many, 1 to 1000.
  // Read what this node has applied, which may be older; 0: what the leader has. Of Self: the node
  // whose knowledge of this client is wanted; 0: of the leader's.
  std::uint32_t node_id = 0;
};

// A user. A client that shows a certificate of this name is the user, too, without a password.
struct AccessUser {
  std::string name;
  bool has_password = false;
  bool disabled = false;  // It keeps its roles, and proves nothing until it is enabled again.
  std::vector<std::string> roles;
  std::uint64_t changed = 0;  // Epoch of its last password, or of being enabled or disabled.
};

// A role. It brings the grants of the roles that it includes, and of those in turn.
struct AccessRole {
  std::string name;
  std::vector<AccessGrant> grants;
  std::vector<std::string> includes;
};

// This client as a node knows it, which decides by it what the client may do. Another node may know
// an older state of its user.
struct AccessSelf {
  std::string kind;   // "anonymous", "certificate", "user", "node" or "local".
  std::string name;   // By which users are looked up; empty for anonymous.
  std::string proof;  // "none", "certificate", "password", "token" or "unix-socket".
  // When the certificate or the token ends, in milliseconds since 1970; 0: the proof has no end.
  // A connection that stands is not closed then; the next one needs another proof.
  std::uint64_t until_ms = 0;
  std::string address;  // Where the node sees the client: "192.0.2.7:41234" or "unix".
};

// The state of users and roles, as of `epoch`, with the rows that were wanted.
struct AccessReport {
  std::uint64_t epoch = 0;  // 0: there are neither users nor roles, and never were.
  bool enabled = false;     // Rights are checked.
  // How often gcoordd --auth-recover switched rights off. A number that rises says that a majority
  // of the machines was started so.
  std::uint64_t recoveries = 0;
  std::uint32_t user_count = 0;
  std::uint32_t role_count = 0;  // Without root.
  std::vector<AccessUser> users;
  std::vector<AccessRole> roles;
  // Rows behind the last one were left out. Rows come by rising name.
  bool more = false;
  std::optional<AccessSelf> self;  // Of AccessSubject::Self alone.
};

}  // namespace gcoord::client
