// Locks that are in another shard than their names say: where requests go, and how locks get there.
#include "rpc/lock_messages.h"
#include "rpc/move_messages.h"
#include "server/lock_service.h"

namespace gcoord::server {

using rpc::ErrorCode;

ShardId LockService::place_of(const rpc::RequestSlot& request, NameHash name) const {
  return request.has(rpc::RequestFlag::Moved) ? ShardId{request.shard}
                                              : shard_of(name, options_.limits.shard_count);
}

// Whether the lock is not known in the shard where the client was sent to ask for it. What a shard
// knows of a name that was moved it never forgets, so a leader that knows of it is right whatever
// it has yet to apply; and one that does not is asked again.
bool LockService::not_come_yet(const rpc::RequestSlot& request,
                               ShardId shard,
                               NameHash name) const {
  return request.has(rpc::RequestFlag::Moved) &&
         shard != shard_of(name, options_.limits.shard_count) &&
         !locks_.residence(shard, name).has_value();
}

void LockService::on_move(ConnectionId connection,
                          const rpc::RequestSlot& request,
                          std::span<const std::byte> payload) {
  if (!engine_->takes_lists()) {
    return send_error(connection, request, ErrorCode::MoveUnsupported);
  }
  const auto move = rpc::decode_move(payload);
  GCOORD_ASSERT(move.ok());  // check_request() did the same.
  const ShardId shard = place_of(request, hash_name(move.value().name));
  if (!leads(shard)) {
    return send(connection, not_leader_reply(request, engine_->view(shard).leader));
  }
  moves_.on_request(connection, request, shard, move.value().to, move.value().name);
}

LockMoves::Doors LockService::move_doors() {
  return {.leads = [this](ShardId shard) { return leads(shard); },
          .leader = [this](ShardId shard) { return engine_->view(shard).leader; },
          .send = [this](NodeId to, auto message) { engine_->send_peer_message(to, message); },
          .propose =
              [this](ShardId shard,
                     const locks::LockCommand& command,
                     std::uint64_t step,
                     ConnectionId connection) {
                Pending pending;
                pending.kind = PendingKind::Move;
                pending.group = step;
                pending.connection = connection;
                propose(shard, command, pending);
              },
          .answer = [this](ConnectionId connection,
                           const rpc::ReplySlot& reply) { send(connection, reply); },
          .takes_moves = [this] { return engine_->takes_lists(); },
          .all_have = [this](rpc::Feature feature) { return node_features_.all_have(feature); }};
}

}  // namespace gcoord::server
