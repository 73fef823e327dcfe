#include "server/tls/connection_tls.h"

#include "common/assert.h"

#include <utility>

namespace gcoord::server {

ConnectionTls::ConnectionTls(PortTls::Rule rule)
    : mode_(rule.mode), session_(std::move(rule.context)) {
  GCOORD_ASSERT(mode_ != TlsMode::Off);
}

void ConnectionTls::receive(std::span<const std::byte> wire, std::vector<std::byte>& plain) {
  if (wire.empty() || state_ == TlsState::Failed || state_ == TlsState::Forbidden) {
    return;
  }
  if (!std::exchange(begun_, true) && wire.front() != security::kTlsFirstByte) {
    state_ = mode_ == TlsMode::Permissive ? TlsState::Plain : TlsState::Forbidden;
  }
  if (state_ == TlsState::Plain) {
    plain.insert(plain.end(), wire.begin(), wire.end());
  }
  if (plain_text()) {
    return;
  }
  if (!session_.receive(wire, plain).ok() && !session_.failure().ok()) {
    state_ = TlsState::Failed;
  } else if (session_.open()) {
    state_ = TlsState::Open;
  }
}

bool ConnectionTls::send(std::span<const std::byte> bytes) {
  return state_ == TlsState::Open && session_.send(bytes).ok();
}

TlsNews ConnectionTls::news() const {
  TlsNews news{.state = state_,
               .resumed = state_ == TlsState::Open && session_.resumed(),
               .failure = session_.failure()};
  if (const security::TlsPeer* peer = session_.peer(); peer != nullptr) {
    news.peer = *peer;
  }
  return news;
}

}  // namespace gcoord::server
