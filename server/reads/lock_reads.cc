#include "server/reads/lock_reads.h"

#include "common/name_hash.h"
#include "protocol/election_messages.h"
#include "protocol/lease_messages.h"
#include "server/interfaces/replies.h"
#include "server/sessions/views.h"

#include <cstring>
#include <utility>

namespace gcoord::server {

namespace {

// Waiters that one row names at most: a page of them, not 10,000.
constexpr std::size_t kWaitersShownMax = 1000;

// Room that a page of rows leaves for its own header and cursor.
constexpr std::size_t kPageBytesMax = protocol::kPayloadBytesMax - 2 * protocol::kCursorBytesMax;

// Whether a request asks about one name, which is its payload.
bool names_one(protocol::RequestKind kind) {
  return kind == protocol::RequestKind::LockCheck || kind == protocol::RequestKind::LockGet ||
         kind == protocol::RequestKind::ElectCandidates;
}

}  // namespace

std::string encode_cursor(locks::LockRow next) {
  std::string text;
  if (next.value != 0) {
    text.resize(sizeof(next.value));
    std::memcpy(text.data(), &next.value, sizeof(next.value));
  }
  return text;
}

bool decode_cursor(std::string_view text, locks::LockRow& next) {
  next = locks::LockRow{1};
  if (text.empty()) {
    return true;
  }
  if (text.size() != sizeof(next.value)) {
    return false;
  }
  std::memcpy(&next.value, text.data(), sizeof(next.value));
  return next.value != 0;
}

// For a client who may not see who stands there.
void hide_details(protocol::CandidateList& list) {
  const auto hide = [](SessionId& session) {
    session = session.value == 0 ? session : protocol::kHiddenSession;
  };
  hide(list.leader);
  hide(list.wanted);
  list.epoch = {};
  list.value.clear();
  for (protocol::CandidateRow& candidate : list.candidates) {
    hide(candidate.session);
    candidate.value.clear();
  }
}

// What the groups' maps cost beside the payload: some pointers and a tree node per shard.
std::size_t LockReads::Group::held_bytes() const {
  constexpr std::size_t kShardBytes = 48;
  return sizeof(Group) + payload.size() + shards.size() * kShardBytes;
}

LockReads::LockReads(const LockReadsOptions& options,
                     const locks::LockCpu& locks,
                     Environment doors)
    : options_(options), locks_(locks), environment_(std::move(doors)) {}

ShardId LockReads::shard_of_name(std::string_view name) const {
  return shard_of(hash_name(name), options_.shard_count);
}

void LockReads::refuse(const Group& group, protocol::ErrorCode error) {
  environment_.answer(group.connection, error_reply(group.request, error), {});
}

void LockReads::start(protocol::ConnectionId connection,
                      const protocol::RequestSlot& request,
                      std::span<const std::byte> payload) {
  if (names_one(request.kind)) {
    start_single(connection, request, payload);
    return;
  }
  Group group;
  group.connection = connection;
  group.request = request;
  group.payload.assign(payload.begin(), payload.end());
  if (request.kind == protocol::RequestKind::LockList) {
    start_list(std::move(group));
    return;
  }
  const auto checks = protocol::decode_check_batch(group.payload);
  if (!checks.ok()) {
    refuse(group, protocol::refusal_of(checks.status()));
    return;
  }
  group.shards = shards_of_batch(checks.value());
  start_group(std::move(group));
}

void LockReads::start_list(Group group) {
  const auto query = protocol::decode_list_query(group.payload);
  if (!query.ok()) {
    refuse(group, protocol::refusal_of(query.status()));
    return;
  }
  if (!decode_cursor(query.value().cursor, group.row_first)) {
    refuse(group, protocol::ErrorCode::PayloadMalformed);
    return;
  }
  if (listed_at_ != options_.clock.now) {
    listed_at_ = options_.clock.now;
    rows_listed_ = 0;
  }
  if (rows_listed_ >= kListRowsPerTick) {
    refuse(group, protocol::ErrorCode::Overloaded);
    return;
  }
  choose_list_shards(query.value(), group);
  rows_listed_ += group.row_end - group.row_first;
  start_group(std::move(group));
}

void LockReads::start_single(protocol::ConnectionId connection,
                             const protocol::RequestSlot& request,
                             std::span<const std::byte> payload) {
  const bool moved = request.has(protocol::RequestFlag::Moved);
  const ShardId shard = moved ? ShardId{request.shard} : shard_of_name(protocol::text_of(payload));
  if (!environment_.leads(shard)) {
    environment_.answer(connection, not_leader_reply(request, environment_.leader_hint(shard)), {});
    return;
  }
  Group group;
  group.connection = connection;
  group.request = request;
  group.payload.assign(payload.begin(), payload.end());
  group.shards = {shard.value};
  start_group(std::move(group));
}

void LockReads::start_group(Group group) {
  if (group.shards.empty()) {
    finish(group);
    return;
  }
  if (held_bytes_ + group.held_bytes() > kReadBytesMax) {
    refuse(group, protocol::ErrorCode::Overloaded);
    return;
  }
  ++group_last_;
  const std::uint64_t id = group_last_;
  group.started_us = options_.clock.now_us;
  group.outstanding = group.shards.size();
  held_bytes_ += group.held_bytes();
  const std::set<std::uint32_t> shards = group.shards;
  const ReadMode way =
      group.request.has(protocol::RequestFlag::Quorum) ? ReadMode::Round : ReadMode::Lease;
  groups_.emplace(id, std::move(group));
  for (const std::uint32_t shard : shards) {
    environment_.ask(ShardId{shard}, id, way);
  }
}

std::set<std::uint32_t> LockReads::shards_of_batch(
    const std::vector<protocol::TokenCheck>& checks) const {
  std::set<std::uint32_t> shards;
  for (const protocol::TokenCheck& check : checks) {
    const ShardId shard = shard_of_name(check.name);
    if (environment_.leads(shard)) {
      shards.insert(shard.value);
    }
  }
  return shards;
}

// The shards of the next page's rows: led here, with a lock that matches, from the cursor on. The
// walk ends after `limit` locks or kListRowsLookedAt rows.
void LockReads::choose_list_shards(const protocol::ListQuery& query, Group& group) const {
  const locks::LockRow last = locks_.row_last();
  const locks::LockRow stop =
      min_id(last + 1, max_id(group.row_first, group.row_first + kListRowsLookedAt));
  std::uint32_t found = 0;
  locks::LockRow row = group.row_first;
  for (; row < stop && found < query.limit; ++row) {
    const auto lock = locks_.held(row, [&](ShardId shard) {
      const bool led = environment_.leads(shard);
      group.partial = group.partial || (!led && environment_.leader_hint(shard) == NodeId{});
      return led;
    });
    if (lock.has_value() && lock->name.starts_with(query.prefix) &&
        options_.lists(group.connection, lock->name)) {
      group.shards.insert(lock->shard.value);
      ++found;
    }
  }
  group.row_end = row;
}

void LockReads::on_confirmed(std::uint64_t group_id,
                             ShardId shard,
                             const Status& status,
                             NodeId leader_hint) {
  const auto found = groups_.find(group_id);
  GCOORD_ASSERT(found != groups_.end());
  Group& group = found->second;
  GCOORD_ASSERT(group.outstanding > 0);
  --group.outstanding;
  if (!status.ok()) {
    group.failure = status;
    group.leader_hint = leader_hint;
    held_bytes_ -= group.held_bytes();
    group.shards.erase(shard.value);
    held_bytes_ += group.held_bytes();
    group.partial = true;
  }
  if (group.outstanding == 0) {
    held_bytes_ -= group.held_bytes();
    const Group done = std::move(group);
    groups_.erase(found);
    look_at_time(done);
    finish(done);
  }
}

void LockReads::look_at_time(const Group& group) {
  const std::uint64_t now_us = options_.clock.now_us;
  if (environment_.slow.is_slow(group.started_us, now_us)) {
    environment_.slow.add(
        {.connection = group.connection,
         .request = group.request,
         .started_us = group.started_us,
         .spent = "until this node was confirmed as leader",
         .name = names_one(group.request.kind) ? protocol::text_of(group.payload) : ""},
        now_us);
  }
}

void LockReads::finish(const Group& group) {
  const protocol::RequestKind kind = group.request.kind;
  if (names_one(kind) && group.shards.empty()) {
    environment_.answer(
        group.connection, engine_refusal(group.request, group.failure, group.leader_hint), {});
  } else if (names_one(kind) && answer_moved(group, ShardId{*group.shards.begin()})) {
    return;
  } else if (kind == protocol::RequestKind::LockCheck) {
    finish_check(group, ShardId{*group.shards.begin()});
  } else if (kind == protocol::RequestKind::LockGet) {
    finish_get(group, ShardId{*group.shards.begin()});
  } else if (kind == protocol::RequestKind::ElectCandidates) {
    finish_candidates(group, ShardId{*group.shards.begin()});
  } else if (kind == protocol::RequestKind::LockCheckBatch) {
    finish_batch(group);
  } else {
    finish_list(group);
  }
}

// If the lock is not here, or has not come here yet.
bool LockReads::answer_moved(const Group& group, ShardId shard) {
  const auto residence = locks_.residence(shard, hash_name(protocol::text_of(group.payload)));
  if (residence.has_value() && residence->residence == locks::Residence::Away) {
    environment_.answer(group.connection, moved_reply(group.request, residence->away_to), {});
    return true;
  }
  if (!residence.has_value() && group.request.has(protocol::RequestFlag::Moved)) {
    refuse(group, protocol::ErrorCode::LockMoving);
    return true;
  }
  return false;
}

void LockReads::finish_check(const Group& group, ShardId shard) {
  const NameHash name = hash_name(protocol::text_of(group.payload));
  const auto verdict = locks_.check({shard, name, FencingToken{group.request.token}});
  const bool broken = verdict == locks::TokenVerdict::Broken;
  if (broken && group.request.has(protocol::RequestFlag::TellBroken)) {
    refuse(group, protocol::ErrorCode::HoldBroken);
    return;
  }
  protocol::ReplySlot reply = protocol::reply_to(group.request);
  const locks::TokenCheck asked{shard, name, FencingToken{group.request.token}};
  reply.extra = static_cast<std::uint64_t>(plain_verdict(locks_, asked));
  reply.epoch = environment_.term(shard).value;
  environment_.answer(group.connection, reply, {});
}

void LockReads::finish_get(const Group& group, ShardId shard) {
  const auto lock = locks_.get(shard, hash_name(protocol::text_of(group.payload)));
  if (!lock.has_value()) {
    refuse(group, protocol::ErrorCode::LockAbsent);
    return;
  }
  const bool waiters = group.request.has(protocol::RequestFlag::Waiters);
  protocol::ReplySlot reply = protocol::reply_to(group.request);
  reply.epoch = environment_.term(shard).value;
  const protocol::LockRow row = describe(*lock, waiters);
  const bool details = group.request.has(protocol::RequestFlag::Details);
  environment_.answer(
      group.connection,
      reply,
      details ? protocol::encode_lock_details(row) : protocol::encode_lock_row(row));
}

void LockReads::finish_candidates(const Group& group, ShardId shard) {
  const NameHash name = hash_name(protocol::text_of(group.payload));
  const auto lock = locks_.get(shard, name);
  if (!lock.has_value()) {
    refuse(group, protocol::ErrorCode::ElectionVacant);
    return;
  }
  const protocol::LockRow row = describe(*lock, false);
  protocol::CandidateList list{.leader = row.holder,
                               .epoch = row.token,
                               .ttl_left_ms = row.ttl_left_ms,
                               .wanted = environment_.wanted(name, row.token),
                               .waiter_count = row.waiter_count,
                               .value = row.note};
  for (const auto& waiter : locks_.waiters(shard, name, 0, protocol::kCandidatesMax)) {
    const bool ranked = (waiter.ask.flags & locks::kHoldRanked) != 0;
    list.candidates.push_back({waiter.session,
                               waiter.sequence,
                               environment_.waited_ms(shard, waiter.session, waiter.sequence),
                               ranked ? waiter.ask.permits : std::uint8_t{0},
                               waiter.note});
  }
  protocol::ReplySlot reply = protocol::reply_to(group.request);
  reply.epoch = environment_.term(shard).value;
  if (group.request.has(protocol::RequestFlag::Discreet)) {
    hide_details(list);
  }
  environment_.answer(group.connection, reply, protocol::encode_candidates(list));
}

void LockReads::finish_batch(const Group& group) {
  const auto checks = protocol::decode_check_batch(group.payload);
  GCOORD_ASSERT(checks.ok());  // It was decoded once when the read began.
  std::vector<protocol::CheckVerdict> verdicts;
  verdicts.reserve(checks.value().size());
  for (const protocol::TokenCheck& check : checks.value()) {
    const NameHash name = hash_name(check.name);
    const ShardId shard = shard_of(name, options_.shard_count);
    const auto residence = locks_.residence(shard, name);
    const bool away = residence.has_value() && residence->residence == locks::Residence::Away;
    verdicts.push_back(group.shards.contains(shard.value) && !away
                           ? plain_verdict(locks_, {shard, name, check.token})
                           : protocol::CheckVerdict::NotLeader);
  }
  environment_.answer(
      group.connection, protocol::reply_to(group.request), protocol::encode_verdicts(verdicts));
}

// The lock of a row if it belongs to the page: of a shard that was confirmed, with the prefix.
std::optional<locks::HeldLock> LockReads::listed(const Group& group,
                                                 const protocol::ListQuery& query,
                                                 locks::LockRow row) const {
  auto lock =
      locks_.held(row, [&group](ShardId shard) { return group.shards.contains(shard.value); });
  const bool listed = lock.has_value() && lock->name.starts_with(query.prefix) &&
                      options_.lists(group.connection, lock->name);
  return listed ? std::move(lock) : std::nullopt;
}

void LockReads::finish_list(const Group& group) {
  const auto query = protocol::decode_list_query(group.payload);
  GCOORD_ASSERT(query.ok());
  const bool waiters = group.request.has(protocol::RequestFlag::Waiters);
  protocol::ListPage page;
  std::size_t page_bytes = 0;
  locks::LockRow row = group.row_first;
  for (; row < group.row_end && page.rows.size() < query.value().limit; ++row) {
    const auto lock = listed(group, query.value(), row);
    if (!lock.has_value()) {
      continue;
    }
    protocol::LockRow shown = describe(*lock, waiters);
    page_bytes += protocol::encoded_bytes(shown);
    if (page_bytes > kPageBytesMax) {
      break;
    }
    page.rows.push_back(std::move(shown));
  }
  page.next_cursor = encode_cursor(row <= locks_.row_last() ? row : locks::LockRow{});
  protocol::ReplySlot reply = protocol::reply_to(group.request);
  if (group.partial) {
    reply.set(protocol::ReplyFlag::Partial);
  }
  environment_.answer(group.connection, reply, protocol::encode_list_page(page));
}

protocol::LockRow LockReads::describe(const locks::HeldLock& lock, bool waiters) const {
  protocol::LockRow row = row_of(lock);
  row.ttl_left_ms = session_left_ms(
      locks_.clock(),
      {.row = lock.holder_row, .ttl_ms = lock.holder_ttl_ms, .led = environment_.leads(lock.shard)},
      options_.clock.tick_ms,
      options_.clock.now);
  if (waiters) {
    for (const auto& waiter : locks_.waiters(lock.shard, lock.name_hash, 0, kWaitersShownMax)) {
      row.waiters.push_back({waiter.session,
                             waiter.sequence,
                             environment_.waited_ms(lock.shard, waiter.session, waiter.sequence)});
    }
  }
  return row;
}

}  // namespace gcoord::server
