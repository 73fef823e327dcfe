// TLS of one link: plain bytes in, bytes of the wire out, and back (security/tls/session.h).
//
// The side that calls has TLS from the start. The side that is called goes by the first byte, where
// its rules permit both. Whoever has the socket gives what came and sends what take_output() gives.
// One thread.
#pragma once

#include "common/status.h"
#include "netcore/tls/rules.h"
#include "security/secret/bytes.h"
#include "security/tls/peer.h"
#include "security/tls/session.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace gcoord::netcore {

class LinkTls {
 public:
  static LinkTls for_caller(const LinkTlsRules& rules) {
    return LinkTls{rules.caller(), State::Tls};
  }

  // The rules are not Off.
  static LinkTls for_called(const LinkTlsRules& rules) {
    return LinkTls{rules.called(),
                   rules.mode() == LinkTlsMode::Required ? State::Tls : State::Undecided};
  }

  // What the other side sends is plain, and so is what is sent to it.
  bool is_plain() const { return state_ == State::Plain; }

  // The handshake is done and the other side's certificate is good.
  bool is_open() const { return state_ == State::Tls && session_.open(); }

  // Takes bytes of the wire and appends the plain ones. A failure ends the link; the output may
  // have an alert for the other side.
  Status receive(std::span<const std::byte> wire, std::vector<std::byte>& plain);

  // Before the handshake is done the bytes wait for it, bounded. Not where the link is plain.
  Status send(std::span<const std::byte> plain) { return session_.send(plain); }

  void take_output(std::vector<std::byte>& wire) { session_.take_output(wire); }

  // As TlsSession::exported_key; empty where the link is plain, too.
  security::SecretBytes exported_key(std::string_view label, std::size_t count) const {
    return is_open() ? session_.exported_key(label, count) : security::SecretBytes{};
  }

  // Who the other side is by its certificate; nullptr: it has none, or the link is plain.
  const security::TlsPeer* peer() const { return is_open() ? session_.peer() : nullptr; }

 private:
  enum class State : std::uint8_t { Undecided, Plain, Tls };

  LinkTls(std::shared_ptr<const security::TlsContext> context, State state)
      : state_(state), session_(std::move(context)) {}

  State state_;
  security::TlsSession session_;
};

}  // namespace gcoord::netcore
