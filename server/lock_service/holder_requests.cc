#include "server/lock_service/holder_requests.h"

#include "common/name_hash.h"
#include "locks/state/holder_commands.h"
#include "protocol/election_messages.h"
#include "protocol/lock_messages.h"
#include "server/interfaces/replies.h"

namespace gcoord::server {

using protocol::ErrorCode;

namespace {

locks::ReleaseFields holder_of(const protocol::RequestSlot& request, std::string_view name) {
  const protocol::LockRelease fields = protocol::release_from_slot(request);
  return {fields.caller.session,
          fields.caller.sequence,
          fields.caller.acked_below,
          hash_name(name),
          fields.token,
          fields.by_token};
}

}  // namespace

void HolderRequests::submit(const ClientRequest& request, const locks::LockCommand& command) {
  if (!env_.log.takes(command)) {
    return env_.replies.refuse(request, ErrorCode::ElectionsUnsupported);
  }
  env_.submitter.submit(request, env_.locator.shard_for(request.slot, command.name_hash), command);
}

void HolderRequests::proclaim(const ClientRequest& request) {
  const auto said = protocol::decode_proclamation(request.payload);
  GCOORD_ASSERT(said.ok());  // check_request() did the same.
  submit(request,
         locks::make_proclaim(holder_of(request.slot, said.value().name), said.value().value));
}

void HolderRequests::transfer(const ClientRequest& request) {
  const auto named = protocol::decode_nomination(request.payload);
  GCOORD_ASSERT(named.ok());
  submit(request,
         locks::make_transfer(holder_of(request.slot, named.value().name), named.value().target));
}

void HolderRequests::ask(const ClientRequest& request) {
  const auto named = protocol::decode_nomination(request.payload);
  GCOORD_ASSERT(named.ok());
  const NameHash name = hash_name(named.value().name);
  const ShardId shard = env_.locator.shard_for(request.slot, name);
  if (!env_.leaders.leads(shard)) {
    return env_.replies.redirect(request, env_.leaders.leader(shard));
  }
  if (env_.locator.is_arriving(request.slot, shard, name)) {
    return env_.replies.refuse(request, ErrorCode::LockMoving);
  }
  const auto residence = env_.locks.residence(shard, name);
  if (residence.has_value() && residence->residence == locks::Residence::Away) {
    return env_.replies.send(request.connection, moved_reply(request.slot, residence->away_to));
  }
  const locks::LockView view = env_.locks.view(shard);
  const locks::LockTables& tables = view.tables();
  const locks::LockRow row = locks::find_held(tables, shard, name);
  if (row.value == 0) {
    return env_.replies.refuse(request, ErrorCode::ElectionVacant);
  }
  const FencingToken epoch = tables.locks[row].token;
  if (request.slot.token != 0 && FencingToken{request.slot.token} != epoch) {
    return env_.replies.refuse(request, ErrorCode::OfficeLost);
  }
  if (locks::find_waiter(tables, shard, named.value().target, row).value == 0) {
    return env_.replies.refuse(request, ErrorCode::CandidateAbsent);
  }
  if (!env_.asks.ask(name, epoch, named.value().target, env_.clock.now)) {
    return env_.replies.refuse(request, ErrorCode::Overloaded);
  }
  protocol::ReplySlot reply = protocol::reply_to(request.slot);
  reply.token = epoch.value;
  env_.replies.send(request.connection, reply);
}

}  // namespace gcoord::server
