// TLS of one accepted connection: its first byte says whether it speaks TLS, then a session turns
// bytes of the wire into plain ones and back (security/tls/session.h).
//
// Whoever has the socket gives it what came and sends what it gives. One thread at a time; it may
// be made by one thread and used by another.
#pragma once

#include "common/status.h"
#include "security/tls/peer.h"
#include "security/tls/session.h"
#include "server/tls/port_tls.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::server {

enum class TlsState : std::uint8_t {
  Begins,     // Nothing has come, or a part of a handshake.
  Open,       // TLS.
  Plain,      // Plain text, which the port permits.
  Forbidden,  // Plain text, which it does not: nothing is read of it; an answer may be sent.
  Failed,     // The handshake or a record: the alert is in the output, and nothing more comes.
};

// A connection's TLS once it has begun, for other threads than the one that has the connection.
struct TlsNews {
  TlsState state = TlsState::Begins;
  bool resumed = false;
  std::optional<security::TlsPeer> peer;  // Who showed a certificate that is good.
  Status failure;
};

class ConnectionTls {
 public:
  // The rule is not Off.
  explicit ConnectionTls(PortTls::Rule rule);

  TlsState state() const { return state_; }

  // Whether bytes of the connection are what they are on the wire.
  bool plain_text() const { return state_ == TlsState::Plain || state_ == TlsState::Forbidden; }

  // Takes what came and appends its plain bytes. The output may have something after it.
  void receive(std::span<const std::byte> wire, std::vector<std::byte>& plain);

  // In state Open: encrypts. False: it cannot, and the bytes are lost.
  bool send(std::span<const std::byte> bytes);

  // Appends what must go out.
  void take_output(std::vector<std::byte>& wire) { session_.take_output(wire); }

  // The client has said that it sends nothing more.
  bool ended() const { return session_.ended(); }

  // Says the same to the client, if there is a session.
  void shut() { session_.shut(); }

  // Gives back memory that an idle connection does not need.
  void release() { session_.release(); }

  TlsNews news() const;

 private:
  TlsMode mode_;
  TlsState state_ = TlsState::Begins;
  bool begun_ = false;  // The first byte has come.
  security::TlsSession session_;
};

}  // namespace gcoord::server
