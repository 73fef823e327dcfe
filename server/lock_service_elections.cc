// Elections beyond campaigning and resigning: what the leader says, hands over, and is asked for.
#include "locks/lock_office.h"
#include "rpc/election_messages.h"
#include "rpc/lock_messages.h"
#include "server/lock_replies.h"
#include "server/lock_service.h"

namespace gcoord::server {

using rpc::ErrorCode;

namespace {

locks::ReleaseFields holder_of(const rpc::RequestSlot& request, std::string_view name) {
  const rpc::LockRelease fields = rpc::release_from_slot(request);
  return {fields.caller.session,
          fields.caller.sequence,
          fields.caller.acked_below,
          hash_name(name),
          fields.token,
          fields.by_token};
}

}  // namespace

void LockService::submit_office(ConnectionId connection,
                                const rpc::RequestSlot& request,
                                const locks::LockCommand& command) {
  if (!engine_->takes(command)) {
    return send_error(connection, request, ErrorCode::ElectionsUnsupported);
  }
  submit(connection, request, place_of(request, command.name_hash), command);
}

void LockService::on_proclaim(ConnectionId connection,
                              const rpc::RequestSlot& request,
                              std::span<const std::byte> payload) {
  const auto said = rpc::decode_proclamation(payload);
  GCOORD_ASSERT(said.ok());  // check_request() did the same.
  const locks::LockCommand command =
      locks::make_proclaim(holder_of(request, said.value().name), said.value().value);
  submit_office(connection, request, command);
}

void LockService::on_transfer(ConnectionId connection,
                              const rpc::RequestSlot& request,
                              std::span<const std::byte> payload) {
  const auto named = rpc::decode_nomination(payload);
  GCOORD_ASSERT(named.ok());
  const locks::LockCommand command =
      locks::make_transfer(holder_of(request, named.value().name), named.value().target);
  submit_office(connection, request, command);
}

// From the applied state, which may be of the past: the ask decides nothing, and names its term.
void LockService::on_election_ask(ConnectionId connection,
                                  const rpc::RequestSlot& request,
                                  std::span<const std::byte> payload) {
  const auto named = rpc::decode_nomination(payload);
  GCOORD_ASSERT(named.ok());
  const NameHash name = hash_name(named.value().name);
  const ShardId shard = place_of(request, name);
  if (!leads(shard)) {
    return send(connection, not_leader_reply(request, engine_->view(shard).leader));
  }
  if (not_come_yet(request, shard, name)) {
    return send_error(connection, request, ErrorCode::LockMoving);
  }
  const locks::LockTables& tables = locks_.tables();
  const auto residence = locks_.residence(shard, name);
  if (residence.has_value() && residence->residence == locks::Residence::Away) {
    return send(connection, moved_reply(request, residence->away_to));
  }
  const locks::LockRow row = locks::find_held(tables, shard, name);
  if (row.value == 0) {
    return send_error(connection, request, ErrorCode::ElectionVacant);
  }
  const FencingToken epoch = tables.locks[row].token;
  if (request.token != 0 && FencingToken{request.token} != epoch) {
    return send_error(connection, request, ErrorCode::OfficeLost);
  }
  if (locks::find_waiter(tables, shard, named.value().target, row).value == 0) {
    return send_error(connection, request, ErrorCode::CandidateAbsent);
  }
  if (!election_asks_.ask(name, epoch, named.value().target, now_)) {
    return send_error(connection, request, ErrorCode::Overloaded);
  }
  rpc::ReplySlot reply = rpc::reply_to(request);
  reply.token = epoch.value;
  send(connection, reply);
}

}  // namespace gcoord::server
