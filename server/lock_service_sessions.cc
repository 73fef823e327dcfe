// Sessions as leases: granted in their home shard, shown, listed, and ended when they run out.
#include "locks/lock_ends.h"
#include "rpc/lease_messages.h"
#include "server/lock_service.h"

namespace gcoord::server {

using rpc::ErrorCode;

// Registers the session in its home shard, through the log.
void LockService::on_session_grant(ConnectionId connection, const rpc::RequestSlot& request) {
  const SessionId session{request.session};
  const ShardId home = rpc::home_shard(session, options_.limits.shard_count);
  if (request.shard != home.value) {
    return send_error(connection, request, ErrorCode::SessionElsewhere);
  }
  submit(connection, request, home, locks::make_register_session(session, request.ttl_ms));
}

// The leader of the home answers: that a session is gone is its word, given once it is known to
// lead. What other shards know of the session is as fresh as this node's replicas of them.
void LockService::on_session_show(ConnectionId connection, const rpc::RequestSlot& request) {
  const ShardId home = rpc::home_shard(SessionId{request.session}, options_.limits.shard_count);
  if (request.shard != home.value) {
    return send_error(connection, request, ErrorCode::SessionElsewhere);
  }
  if (!leads(home)) {
    return send(connection, not_leader_reply(request, engine_->view(home).leader));
  }
  Pending pending;
  pending.kind = PendingKind::SessionLook;
  pending.connection = connection;
  pending.request = request;
  engine_->read(home, pending_.add(pending));
}

void LockService::finish_session_show(const Pending& pending,
                                      const Status& status,
                                      NodeId leader_hint) {
  if (!status.ok()) {
    return send(pending.connection, engine_refusal(pending.request, status, leader_hint));
  }
  const auto details = session_views_.describe(SessionId{pending.request.session}, now_);
  rpc::ReplySlot reply = rpc::reply_to(pending.request);
  reply.ttl_ms = details.row.remaining_ms;
  send(pending.connection, reply, rpc::encode_session(details));
}

SessionExpiry::Doors LockService::expiry_doors() {
  return {.leads = [this](ShardId shard) { return leads(shard); },
          .collect_due =
              [this](Tick now, std::span<sessions::ExpiryProposal> out) {
                return sweeps_.collect_due(locks_.clock(), now, out);
              },
          .log = {.propose = [this](ShardId shard,
                                    std::span<const sessions::ExpiryProposal> ends,
                                    std::uint64_t number) { propose_ends(shard, ends, number); },
                  .takes_lists =
                      [this] {
                        return engine_->takes_lists() &&
                               node_features_.all_have(rpc::Feature::SessionEnds);
                      }}};
}

void LockService::propose_ends(ShardId shard,
                               std::span<const sessions::ExpiryProposal> ends,
                               std::uint64_t number) {
  Pending pending;
  pending.kind = PendingKind::Expiry;
  pending.group = number;
  if (ends.size() == 1) {
    const auto alone = locks::make_expire_session(ends.front().session, ends.front().serial);
    return propose(shard, alone, pending);
  }
  std::vector<locks::SessionEnd> listed;
  for (const sessions::ExpiryProposal& end : ends) {
    listed.push_back({end.session, end.serial});
  }
  const std::vector<char> list = locks::encode_ends(listed);
  propose(shard, locks::make_expire_sessions(list), pending);
}

void LockService::on_session_list(ConnectionId connection,
                                  const rpc::RequestSlot& request,
                                  std::span<const std::byte> payload) {
  const auto query = rpc::decode_session_query(payload);
  if (!query.ok()) {
    return send_error(connection, request, rpc::refusal_of(query.status()));
  }
  rpc::SessionPage page;
  if (!session_views_.page(query.value(), now_, page)) {
    return send_error(connection, request, ErrorCode::Overloaded);
  }
  send(connection, rpc::reply_to(request), rpc::encode_session_page(page));
}

}  // namespace gcoord::server
