#include "server/reply_writer.h"

#include "server/lock_replies.h"

namespace gcoord::server {

void ReplyWriter::send(ConnectionId connection,
                       const rpc::ReplySlot& reply,
                       std::span<const std::byte> payload) {
  if (reply.code != StatusCode::Ok) {
    metrics_.requests_failed->add();
  }
  sink_.reply(connection, reply, payload);
}

void ReplyWriter::answer(const ClientRequest& request, std::span<const std::byte> payload) {
  send(request.connection, rpc::reply_to(request.slot), payload);
}

void ReplyWriter::refuse(const ClientRequest& request, rpc::ErrorCode error) {
  metrics_.requests_refused->add();
  send(request.connection, error_reply(request.slot, error));
}

void ReplyWriter::redirect(const ClientRequest& request, NodeId leader) {
  send(request.connection, not_leader_reply(request.slot, leader));
}

}  // namespace gcoord::server
