// Notes of the ledger: who is behind a session, or behind an order that has no session.
//
// An entry of a lock names its session and sequence alone, so that it stays small. A note says once
// who the session's client is: its principal as the node has proven it, its address as the node saw
// it, and the name that it gave itself. An order is a request without a session that changes
// something: a move, a prune, a change of members or of roles. The note of an order says what was
// ordered and by whom; it stands beside what came of the order.
//
// Bytes behind the record's header (server/interfaces/log_record.h, kind SessionNote), which has
// the time; little-endian:
//
//   version 1 (1), kind 1, kind of principal 1, class of address 1, request kind 2 (of an order),
//   bytes of principal 1, of client 1, of object 2, number 8 (a session's id, else any), address
//   16, principal, client, object
//
// Texts are UTF-8. Decoding is bounded and refuses what encode_note() does not make. Pure;
// thread-safe.
#pragma once

#include "security/credentials/principal.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gcoord::security {

// Bytes of the name that a client gives itself; the rest is left out.
inline constexpr std::size_t kNoteClientBytesMax = 64;
inline constexpr std::size_t kNoteObjectBytesMax = 1200;
inline constexpr std::size_t kNoteBytesMax =
    34 + kPrincipalNameBytesMax + kNoteClientBytesMax + kNoteObjectBytesMax;

// Never renumber.
enum class NoteKind : std::uint8_t { Session = 1, Order = 2 };

// Never renumber. Private: RFC 1918, unique local (RFC 4193) and link-local addresses.
enum class AddressClass : std::uint8_t {
  Unknown = 0,
  Loopback = 1,
  Private = 2,
  Public = 3,
  Local = 4,  // A socket of the host's own, without an address.
};

// "loopback" and the like.
std::string_view address_class_name(AddressClass type);

// An IPv6 address, or an IPv4 address mapped into one (RFC 4291, 2.5.5.2).
using AddressBytes = std::array<unsigned char, 16>;

AddressClass address_class(const AddressBytes& address);

// "192.0.2.7" or "2001:db8::7"; "-" without an address.
std::string address_text(AddressClass type, const AddressBytes& address);

struct ClientOrigin {
  Principal principal;
  AddressClass type = AddressClass::Unknown;
  AddressBytes address{};
  std::string client;  // The client's own word. At most kNoteClientBytesMax.

  friend bool operator==(const ClientOrigin&, const ClientOrigin&) = default;
};

struct AuditNote {
  NoteKind kind = NoteKind::Session;
  std::uint64_t number = 0;  // The session's id, not 0; of an order a number that tells it apart.
  std::uint16_t order = 0;   // Of an order: its protocol::RequestKind.
  std::string object;        // Of an order: what it is about.
  ClientOrigin origin;

  friend bool operator==(const AuditNote&, const AuditNote&) = default;
};

// What a client says of itself, as a note may hold it: printable, and cut to `bytes_max`.
std::string note_text(std::string_view said, std::size_t bytes_max);

// Appends the bytes. Asserts what decode_note() would refuse.
void encode_note(const AuditNote& note, std::vector<std::byte>& out);

std::optional<AuditNote> decode_note(std::span<const std::byte> bytes);

// The same of who it is alone: kind of principal, class, lengths of principal and client, address,
// texts. read_origin() moves `bytes` on behind it.
void encode_origin(const ClientOrigin& origin, std::vector<std::byte>& out);
std::optional<ClientOrigin> read_origin(std::span<const std::byte>& bytes);

// For readers of the ledger: "kind" first, integers decimal. An order is named by its number.
std::vector<std::pair<std::string, std::string>> note_facts(const AuditNote& note);

}  // namespace gcoord::security
