#include "server/lock_service/messages.h"

#include "server/peers/client_address.h"
#include "server/peers/device_links.h"

namespace gcoord::server {

void ServiceMessages::on_message(NodeId from, std::span<const std::byte> message) {
  if (tap_ != nullptr && tap_->on_peer_message(from, message)) {
    return;
  }
  if (!message.empty() && message.front() == kReplicaAgesKind) {
    env_.reads.on_peer_message(from, message);
  } else if (!message.empty() && message.front() == kDeviceFactsKind) {
    if (device_facts_sink_) {
      device_facts_sink_(from, message);
    }
  } else if (NodeFeatures::is_ours(message)) {
    env_.metrics.peer_messages_bad->add(env_.tasks.features.on_message(from, message) ? 0 : 1);
  } else if (CoordinatorDriver::is_ours(message)) {
    env_.tasks.office.on_message(from, message, env_.clock.now);
  } else if (DeadlockWatch::is_ours(message)) {
    env_.tasks.deadlocks.on_peer_message(from, message);
  } else if (LockMoves::is_ours(message)) {
    env_.tasks.moves.on_peer_message(from, message);
  } else if (message.empty() || message.front() != kClientAddressKind) {
    env_.tasks.expiry.on_peer_message(from, message, env_.clock.now);
  } else if (const auto address = decode_client_address(message); address && address_sink_) {
    address_sink_(from, *address);
  }
}

}  // namespace gcoord::server
