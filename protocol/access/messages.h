// Payloads of requests about users and roles: AccessGet and AccessChange.
//
// Decoding is bounded, and refuses what no client writes; whether names and grants are right is
// judged where a change is applied (security/roles/role_apply.h). A password is in an order only:
// never in a log, an answer or a message. Pure functions; thread-safe.
#pragma once

#include "common/status.h"
#include "security/credentials/principal.h"
#include "security/roles/command.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::protocol {

inline constexpr std::size_t kPasswordBytesMax = 1024;
// Rows of one answer, which also ends before kAccessAnswerBytes.
inline constexpr std::uint32_t kAccessRowsMax = 1'000;
inline constexpr std::size_t kAccessAnswerBytes = std::size_t{256} << 10;

// Of which rows are wanted. Never renumber.
enum class AccessSubject : std::uint8_t {
  Status = 0,
  Users = 1,
  Roles = 2,
  // The client itself, as the node that is asked knows it: any node answers, to everybody, whether
  // rights are checked or not. The rows are its user and all roles that it has by it.
  Self = 3,
};

// By what a connection has proven its principal. Never renumber.
enum class ProofKind : std::uint8_t {
  None = 0,  // Anonymous.
  Certificate = 1,
  Password = 2,
  Token = 3,
  UnixSocket = 4,  // The kernel's word about the user at the other end.
};

// A client as a node knows it. Payload, behind the rows of an answer: u8 kind of principal, u8
// proof, u64 until_ms, name, address (texts).
struct AccessSelf {
  security::Principal principal;
  ProofKind proof = ProofKind::None;
  // Unix time in milliseconds at which the certificate or the token ends, so that another
  // connection needs a new one; 0: it has no end.
  std::uint64_t until_ms = 0;
  std::string address;  // "192.0.2.7:41234", "[2001:db8::1]:41234" or "unix".

  friend bool operator==(const AccessSelf& a, const AccessSelf& b) = default;
};

// Payload: subject 1, replica 1, limit 4, name, after (texts).
struct AccessQuery {
  AccessSubject subject = AccessSubject::Status;
  // Any node may answer, from what it has applied; else the leader of shard 0 does.
  bool replica = false;
  std::uint32_t limit = kAccessRowsMax;
  std::string name;   // That one only; empty: all.
  std::string after;  // Those with greater names.

  friend bool operator==(const AccessQuery& a, const AccessQuery& b) = default;
};

std::vector<std::byte> encode_access_query(const AccessQuery& query);
Result<AccessQuery> decode_access_query(std::span<const std::byte> payload);

struct UserRow {
  std::string name;
  bool has_password = false;
  bool disabled = false;
  std::uint64_t changed = 0;  // As security::User::changed.
  std::vector<std::string> roles;

  friend bool operator==(const UserRow& a, const UserRow& b) = default;
};

using RoleRow = std::pair<std::string, security::Role>;

// The state of an epoch, and the rows that were wanted.
struct AccessAnswer {
  std::uint64_t epoch = 0;
  bool enabled = false;
  bool more = false;  // Rows were left out behind the last one.
  std::uint64_t recoveries = 0;
  std::uint32_t user_count = 0;
  std::uint32_t role_count = 0;  // Without `root`.
  std::vector<UserRow> users;
  std::vector<RoleRow> roles;
  std::optional<AccessSelf> self;  // Of AccessSubject::Self alone.

  friend bool operator==(const AccessAnswer& a, const AccessAnswer& b) = default;
};

std::vector<std::byte> encode_access_answer(const AccessAnswer& answer);
// A later release may say more behind it.
Result<AccessAnswer> decode_access_answer(std::span<const std::byte> payload);

// A change by an operator. Payload: dry run 1, kind 1, expected 8, number 8, name, who, password
// (texts), roles, grants as in a command.
struct AccessOrder {
  bool dry_run = false;                                       // Judge it, and change nothing.
  security::AccessKind kind = security::AccessKind::UserAdd;  // Not Recover.
  std::uint64_t expected = 0;  // The epoch that it is for; 0: whichever is the newest.
  std::uint64_t number = 0;    // As security::AccessCommand::number.
  std::string name;
  std::string who;  // For the ledger, where no principal is proven.
  // UserAdd, UserPassword; empty: no password is right. The node makes the verifier.
  std::string password;
  std::vector<std::string> roles;
  std::vector<security::Grant> grants;

  friend bool operator==(const AccessOrder& a, const AccessOrder& b) = default;
};

std::vector<std::byte> encode_access_order(const AccessOrder& order);
Result<AccessOrder> decode_access_order(std::span<const std::byte> payload);

}  // namespace gcoord::protocol
