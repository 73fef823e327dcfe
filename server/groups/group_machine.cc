#include "server/groups/group_machine.h"

#include "common/random.h"
#include "locks/commands/ends.h"
#include "locks/commands/group_command.h"

#include <algorithm>

namespace gcoord::server {

using locks::LockCode;
using locks::LockCommandKind;
using membership::GroupCode;

static_assert(locks::kGroupNameBytesMax == membership::kGroupNameBytesMax);
static_assert(locks::kGroupBodyBytesMax ==
              2 + membership::kMemberIdBytesMax + membership::kMemberPayloadBytesMax);

namespace {

constexpr unsigned kCodeShift = 32;

locks::GroupAnswer kept(ShardId shard,
                        const locks::LockCommand& command,
                        const locks::LockReply& reply) {
  return {.shard = shard,
          .session = command.session,
          .sequence = command.sequence,
          .token = reply.token,
          .holder = reply.holder};
}

std::vector<SessionId> sessions_of(const locks::LockCommand& command) {
  if (command.kind != LockCommandKind::ExpireSessions) {
    return {command.session};
  }
  std::vector<SessionId> sessions;
  for (std::uint32_t i = 0; i < locks::ends_count(command); ++i) {
    sessions.push_back(locks::session_end(command, i).session);
  }
  return sessions;
}

}  // namespace

locks::LockReply with_answer(locks::LockReply reply, const membership::GroupReply& answer) {
  reply.token = FencingToken{answer.epoch};
  reply.holder = SessionId{std::uint64_t{static_cast<std::uint8_t>(answer.code)} << kCodeShift |
                           answer.number};
  return reply;
}

membership::GroupReply answer_of(const locks::LockReply& reply) {
  return {.code = static_cast<GroupCode>(reply.holder.value >> kCodeShift),
          .epoch = reply.token.value,
          .number = static_cast<std::uint32_t>(reply.holder.value)};
}

void GroupMachine::apply(ShardId shard,
                         const locks::LockCommand& command,
                         locks::LockReply& reply) {
  effects_.any = false;
  switch (command.kind) {
    case LockCommandKind::GroupRequest:
      return apply_request(shard, command, reply);
    case LockCommandKind::GroupWithdraw:
      return apply_withdrawal(shard, command, reply);
    case LockCommandKind::ExpireSession:
    case LockCommandKind::ExpireSessions:
    case LockCommandKind::CloseSession:
      return apply_ends(shard, command);
    default:
      return;
  }
}

void GroupMachine::apply_request(ShardId shard,
                                 const locks::LockCommand& command,
                                 locks::LockReply& reply) {
  if (reply.code != LockCode::GroupTaken || reply.replayed) {
    return;
  }
  membership::GroupCommand asked = membership::decode_group_command(locks::group_body(command));
  asked.session = command.session;
  asked.name = command.name;
  asked.name_bytes = command.name_bytes;
  asked.name_hash = command.name_hash;
  const membership::GroupReply answer = groups_.apply(shard, asked);
  reply = with_answer(reply, answer);
  locks_.keep_group_reply(kept(shard, command, reply));
  take_changes(shard);
  if (answer.code == GroupCode::Released) {
    effects_.released = command.name_hash;
    effects_.released_generation = answer.epoch;
  }
}

void GroupMachine::apply_withdrawal(ShardId shard,
                                    const locks::LockCommand& command,
                                    locks::LockReply& reply) {
  if (reply.code != LockCode::GroupTaken) {
    return;
  }
  const membership::GroupReply answer =
      groups_.withdraw(shard,
                       {.group = command.name_hash,
                        .session = command.session,
                        .generation = locks::group_generation(command)});
  reply = with_answer(reply, answer);
  if (answer.code == GroupCode::TimedOut) {
    locks_.keep_group_reply(kept(shard, command, reply));  // A retry must not wait again.
  }
  take_changes(shard);
}

void GroupMachine::apply_ends(ShardId shard, const locks::LockCommand& command) {
  if (groups_.tables().shard(shard).group_count == 0) {
    return;  // The rule, in storms too.
  }
  std::vector<SessionId> ended = sessions_of(command);
  std::erase_if(ended, [&](SessionId session) {
    return !groups_.has_session(shard, session) || locks_.lives(shard, session);
  });
  if (ended.empty()) {
    return;
  }
  groups_.end_sessions(shard, ended);
  take_changes(shard);
  effects_.sessions_ended = true;
}

void GroupMachine::take_changes(ShardId shard) {
  effects_ = {.any = true, .shard = shard, .changed = {}, .released = {}};
  for (const membership::GroupChange& change : groups_.changes()) {
    log_.add(change);
    if (std::ranges::find(effects_.changed, change.group) == effects_.changed.end()) {
      effects_.changed.push_back(change.group);
    }
  }
}

Status GroupMachine::install(ShardId shard, std::span<const std::byte> bytes) {
  log_.forget(shard);
  return groups_.deserialize(shard, bytes);
}

std::uint64_t GroupMachine::state_hash(ShardId shard) const {
  const std::uint64_t groups = groups_.state_hash(shard);
  return locks_.state_hash(shard) ^ (groups == 0 ? 0 : mix64(groups));
}

}  // namespace gcoord::server
