// One node, or an endpoint that may be one: where it is, how it is reached, why it is not.
//
// Plain value but for what it does with its addresses. The client's thread only.
#pragma once

#include "client/credentials/connection_login.h"
#include "client/credentials/session_keyring.h"
#include "client/net/circuit_breaker.h"
#include "client/net/connection.h"
#include "client/net/time_never.h"
#include "common/ids.h"
#include "protocol/error_codes.h"
#include "protocol/hello.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::client {

// Behind the reason why a Hello had no answer.
inline constexpr std::string_view kWhichPort = "; is this a node's port for clients?";

struct NodeEntry {
  enum class Phase : std::uint8_t {
    Waiting,     // For its breaker.
    Connecting,  // Until the Welcome.
    Ready,
    Alias,  // Another entry is the same node: never used again.
    Left,   // The node has left the cluster: never used again.
  };

  NodeEntry(std::string where, NodeId who, const BreakerOptions& options)
      : address(std::move(where)), node(who), breaker_options(options), breaker(options) {}

  // The node may be at another address than the one that is known. If that one does not work, the
  // other is tried at once. One that was given as a path of this host stays there: by it the node
  // knows who this is.
  void add_address(const std::string& other);

  // The one in use does not work. A new one is tried at once, known ones in turn after a pause.
  void change_address();

  // The node has left the cluster. One that is ready stays so until then, because what is under way
  // there may be answered yet; any other is not used any more.
  void let_go(TimePoint until);

  // The evidence alone.
  std::string why_not_ready() const;

  // Whether a Hello has had no answer yet: it may be another program, or another port of a node,
  // which waits for its own protocol or ends what it does not understand.
  bool is_unanswered() const { return phase == Phase::Connecting && greeted; }

  bool is_used() const { return phase != Phase::Alias && phase != Phase::Left; }

  std::string address;
  NodeId node;  // 0 until it is known.
  // Where Welcomes say the node is besides: it may have moved, and some nodes may not have heard
  // of it. The newest is last.
  std::vector<std::string> others{};
  bool newest_untried = false;
  BreakerOptions breaker_options;
  CircuitBreaker breaker;
  Phase phase = Phase::Waiting;
  std::shared_ptr<Connection> connection;
  // While it connects, and of one that has left: when nothing of it is under way any more.
  TimePoint give_up_at{};
  bool greeted = false;  // The present connection is there; the Hello has no answer yet.

  ConnectionLogin login;       // Of the present connection.
  bool login_waits = false;    // For what another node says to the password.
  std::uint64_t features = 0;  // While it is ready.
  bool failed = false;
  // Logins without an answer in time, one after the other: a busy node may be slow once.
  std::uint32_t logins_unanswered = 0;

  // Why it is not ready, or does not work. The words are evidence: how to mend it follows from the
  // number, and is said once behind the evidence of all nodes.
  struct Failure {
    std::string evidence;
    protocol::ErrorCode code = protocol::ErrorCode::None;  // Of what trying again does not mend.
  };

  Failure failure;
  TimePoint rests_until{};  // It refused the login and is not tried again before.
  // Its welcome, until it has answered the login.
  std::unique_ptr<protocol::Welcome> welcome;
  SessionKeyring::Attached attached;  // By the present connection.
  TimePoint attached_until{};         // Then it attaches them anew.
};

using NodeEntries = std::vector<std::unique_ptr<NodeEntry>>;

}  // namespace gcoord::client
