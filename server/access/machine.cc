#include "server/access/machine.h"

#include "server/access/recovery.h"

namespace gcoord::server {

void AccessMachine::on_peer_message(NodeId from, std::span<const std::byte> message) {
  if (message.empty() || message.front() != kRecoveryKind) {
    CommandMachine::on_peer_message(from, message);
  } else if (listener() != nullptr) {
    listener()->on_recovery_message(from, message);
  }
}

}  // namespace gcoord::server
