#include "server/requests/reply_writer.h"

#include "server/interfaces/replies.h"

namespace gcoord::server {

void ReplyWriter::send(protocol::ConnectionId connection,
                       const protocol::ReplySlot& reply,
                       std::span<const std::byte> payload) {
  if (reply.code != StatusCode::Ok) {
    metrics_.requests_failed->add();
  }
  sink_.reply(connection, reply, payload);
}

void ReplyWriter::answer(const ClientRequest& request, std::span<const std::byte> payload) {
  send(request.connection, protocol::reply_to(request.slot), payload);
}

void ReplyWriter::refuse(const ClientRequest& request, protocol::ErrorCode error) {
  metrics_.requests_refused->add();
  send(request.connection, error_reply(request.slot, error));
}

void ReplyWriter::redirect(const ClientRequest& request, NodeId leader, Term term) {
  protocol::ReplySlot reply = not_leader_reply(request.slot, leader);
  reply.epoch = leader == NodeId{} ? 0 : term.value;
  send(request.connection, reply);
}

void ReplyWriter::refuse_term(const ClientRequest& request, Term term) {
  metrics_.terms_stale->add();
  protocol::ReplySlot reply = error_reply(request.slot, protocol::ErrorCode::TermStale);
  reply.epoch = term.value;
  send(request.connection, reply);
}

}  // namespace gcoord::server
