// Choices that an operator makes by an option, and their names.
//
// Both the options and the parts that obey them need these, so they depend on nothing else.
// Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gcoord::server {

// --resident-peers auto|mapped|proxy. Travels: never renumber.
enum class ResidentPeers : std::uint8_t {
  Auto = 0,    // Mapped where it is possible, else by proxy.
  Mapped = 1,  // Nothing else.
  Proxy = 2,   // Nothing else.
};

std::string_view resident_peers_name(ResidentPeers wish);

// How the nodes of a cluster find their coordinator (--coordinator). Never renumber: it travels. A
// later release may know more of them, so one that is not named here is no error of form.
enum class CoordinatorMethod : std::uint8_t {
  Raft = 0,   // The leader of shard 0; no message of its own.
  Bully = 1,  // membership/coordinator/step.h, as the next.
  Ring = 2,
};

// "raft", "bully" or "ring"; "unknown" for a method of a later release.
std::string_view coordinator_method_name(CoordinatorMethod method);

// The method of that name; none for any other text.
std::optional<CoordinatorMethod> parse_coordinator_method(std::string_view text);

inline constexpr std::uint32_t kIoThreadsMax = 16;

// --io-backend auto|io_uring|epoll: how I/O threads ask the kernel. Never renumber.
enum class IoBackendWish : std::uint8_t {
  Auto = 0,     // io_uring where the kernel allows it, else epoll.
  IoUring = 1,  // Nothing else.
  Epoll = 2,
};

std::string_view io_backend_wish_name(IoBackendWish wish);

// The wish of that name; none for any other text.
std::optional<IoBackendWish> parse_io_backend_wish(std::string_view text);

// --session-keys auto|off|permissive|required: how strictly a node takes the keys of sessions.
enum class SessionKeyMode : std::uint8_t {
  Auto = 0,        // Required where rights are checked, else permissive.
  Off = 1,         // There are none, as before.
  Permissive = 2,  // Who has a key may show it; nobody has to.
  Required = 3,    // A connection speaks only for sessions that it opened or whose key it showed.
};

// The mode of that name; none for any other text.
std::optional<SessionKeyMode> parse_session_key_mode(std::string_view text);

// --session-notes identified|all|off: of which sessions and orders the ledger says who is behind.
enum class SessionNotes : std::uint8_t {
  Identified = 0,  // Of clients that have proven who they are.
  All = 1,         // Of the others, too: their words and their address.
  Off = 2,
};

// The choice of that name; none for any other text.
std::optional<SessionNotes> parse_session_notes(std::string_view text);

}  // namespace gcoord::server
