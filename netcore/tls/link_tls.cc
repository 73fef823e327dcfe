#include "netcore/tls/link_tls.h"

namespace gcoord::netcore {

Status LinkTls::receive(std::span<const std::byte> wire, std::vector<std::byte>& plain) {
  if (state_ == State::Undecided && !wire.empty()) {
    state_ = wire.front() == security::kTlsFirstByte ? State::Tls : State::Plain;
  }
  if (state_ == State::Plain) {
    plain.insert(plain.end(), wire.begin(), wire.end());
    return {};
  }
  return session_.receive(wire, plain);
}

}  // namespace gcoord::netcore
