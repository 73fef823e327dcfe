#include "server/groups/group_machine.h"

#include "common/random.h"
#include "locks/commands/ends.h"
#include "locks/commands/group_command.h"
#include "membership/groups/snapshot.h"
#include "membership/rendezvous/limits.h"
#include "membership/rendezvous/snapshot.h"

#include <algorithm>

namespace gcoord::server {

using locks::LockCode;
using locks::LockCommandKind;
using membership::GroupCode;

static_assert(locks::kGroupNameBytesMax == membership::kGroupNameBytesMax);
static_assert(locks::kGroupBodyBytesMax ==
              2 + membership::kMemberIdBytesMax + membership::kMemberPayloadBytesMax);

static_assert(membership::kRendezvousNameBytesMax == membership::kGroupNameBytesMax);
static_assert(1 + 12 + membership::kRendezvousPayloadBytesMax <= locks::kGroupBodyBytesMax);

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

locks::LockReply with_rendezvous(locks::LockReply reply,
                                 const membership::RendezvousReply& answer) {
  reply.token = FencingToken{answer.number};
  reply.holder = SessionId{std::uint64_t{static_cast<std::uint8_t>(answer.code)} << kCodeShift};
  return reply;
}

membership::RendezvousReply rendezvous_of(const locks::LockReply& reply) {
  return {.code = static_cast<membership::RendezvousCode>(reply.holder.value >> kCodeShift),
          .number = reply.token.value};
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
  if (membership::is_rendezvous(locks::group_body(command))) {
    return apply_rendezvous(shard, command, reply);
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

void GroupMachine::apply_rendezvous(ShardId shard,
                                    const locks::LockCommand& command,
                                    locks::LockReply& reply) {
  membership::RendezvousCommand asked =
      membership::decode_rendezvous_command(locks::group_body(command));
  asked.session = command.session;
  asked.sequence = command.sequence.value;
  asked.name = {command.name, command.name_bytes};
  reply = with_rendezvous(reply, rendezvous_.apply(shard, asked));
  locks_.keep_group_reply(kept(shard, command, reply));
  take_rendezvous(shard);
}

void GroupMachine::apply_withdrawal(ShardId shard,
                                    const locks::LockCommand& command,
                                    locks::LockReply& reply) {
  if (reply.code != LockCode::GroupTaken) {
    return;
  }
  if (command.flags == locks::kWithdrawLastCall) {
    reply = with_rendezvous(
        reply, rendezvous_.end_call(shard, command.name_hash, locks::group_generation(command)));
    return take_rendezvous(shard);
  }
  if (command.flags == locks::kWithdrawRendezvous) {
    const membership::RendezvousReply answer = rendezvous_.withdraw(
        shard,
        command.name_hash,
        {.session = command.session, .sequence = command.sequence.value, .payload = {}});
    reply = with_rendezvous(reply, answer);
    if (answer.code == membership::RendezvousCode::TimedOut) {
      locks_.keep_group_reply(kept(shard, command, reply));  // A retry must not wait again.
    }
    return take_rendezvous(shard);
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
  if (groups_.tables().shard(shard).group_count == 0 && rendezvous_.of_shard(shard) == nullptr) {
    return;  // The rule, in storms too.
  }
  std::vector<SessionId> ended = sessions_of(command);
  std::erase_if(ended, [&](SessionId session) { return locks_.lives(shard, session); });
  std::vector<SessionId> gathered = ended;
  std::erase_if(ended, [&](SessionId session) { return !groups_.has_session(shard, session); });
  std::erase_if(gathered,
                [&](SessionId session) { return !rendezvous_.has_session(shard, session); });
  if (!ended.empty()) {
    groups_.end_sessions(shard, ended);
    take_changes(shard);
    effects_.sessions_ended = true;
  }
  if (!gathered.empty()) {
    const GroupEffects groups = effects_;
    rendezvous_.end_sessions(shard, gathered);
    take_rendezvous(shard);
    if (!ended.empty()) {
      effects_.changed = groups.changed;
      effects_.sessions_ended = true;
    }
  }
}

void GroupMachine::take_rendezvous(ShardId shard) {
  effects_ = {.any = true, .shard = shard, .changed = {}, .released = {}};
  effects_.rendezvous = rendezvous_.changed();
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

Status GroupMachine::install(ShardId shard,
                             std::span<const std::byte> state,
                             std::span<const std::byte>& locks) {
  log_.forget(shard);
  const membership::StateParts parts = membership::split_state(state);
  const membership::RendezvousParts rest = membership::split_rendezvous(parts.locks);
  locks = rest.rest;
  GCOORD_TRY_STATUS(groups_.deserialize(shard, parts.groups));
  return rendezvous_.deserialize(shard, rest.rendezvous);
}

bool GroupMachine::plausible(std::span<const std::byte> state, std::span<const std::byte>& locks) {
  const membership::StateParts parts = membership::split_state(state);
  const membership::RendezvousParts rest = membership::split_rendezvous(parts.locks);
  locks = rest.rest;
  return (parts.groups.empty() || membership::parse_snapshot(parts.groups).ok()) &&
         (rest.rendezvous.empty() || membership::parse_rendezvous(rest.rendezvous).ok());
}

std::uint64_t GroupMachine::state_hash(ShardId shard) const {
  const std::uint64_t groups = groups_.state_hash(shard);
  const std::uint64_t rendezvous = rendezvous_.state_hash(shard);
  return locks_.state_hash(shard) ^ (groups == 0 ? 0 : mix64(groups)) ^
         (rendezvous == 0 ? 0 : mix64(mix64(rendezvous)));
}

}  // namespace gcoord::server
