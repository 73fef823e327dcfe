#include "server/groups/submission.h"

#include "common/name_hash.h"
#include "locks/commands/group_command.h"
#include "protocol/lock_messages.h"

namespace gcoord::server {

using protocol::ErrorCode;

void submit_group_request(const GroupEnvironment& environment,
                          const ClientRequest& request,
                          const GroupSubmission& submission) {
  const std::string text = std::string{submission.name} + submission.body;
  const protocol::Caller caller = protocol::caller_of(request.slot);
  const locks::LockCommand command =
      locks::make_group_request({.session = caller.session,
                                 .sequence = caller.sequence,
                                 .acked_below = caller.acked_below,
                                 .ttl_ms = submission.ttl_ms,
                                 .name_bytes = static_cast<std::uint16_t>(submission.name.size()),
                                 .text = text});
  const ShardId shard = shard_of(command.name_hash, environment.limits.shard_count);
  const ShardLeaders& leaders = environment.leaders;
  if (!leaders.leads(shard)) {
    return environment.replies.redirect(request, leaders.leader(shard), leaders.term(shard));
  }
  if (!environment.log.takes(command)) {
    return environment.replies.refuse(request, ErrorCode::GroupsUnsupported);
  }
  if (const ErrorCode unready = environment.unready(); unready != ErrorCode::None) {
    return environment.replies.refuse(request, unready);
  }
  if (submission.full &&
      !environment.machine.locks().knows_request(shard, command.session, command.sequence)) {
    return environment.replies.refuse(request, ErrorCode::GroupsExhausted);
  }
  environment.submit(request, shard, command);
}

}  // namespace gcoord::server
