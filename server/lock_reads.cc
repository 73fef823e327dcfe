#include "server/lock_reads.h"

#include "common/name_hash.h"
#include "server/lock_replies.h"

#include <cstring>
#include <utility>

namespace gcoord::server {

namespace {

// Waiters that one row names at most: a page of them, not 10,000.
constexpr std::size_t kWaitersShownMax = 1000;

// Room that a page of rows leaves for its own header and cursor.
constexpr std::size_t kPageBytesMax = rpc::kPayloadBytesMax - 2 * rpc::kCursorBytesMax;

rpc::CheckVerdict to_wire(locks::TokenVerdict verdict) {
  switch (verdict) {
    case locks::TokenVerdict::Valid:
      return rpc::CheckVerdict::Valid;
    case locks::TokenVerdict::Stale:
      return rpc::CheckVerdict::Stale;
    case locks::TokenVerdict::Free:
      return rpc::CheckVerdict::Free;
  }
  return rpc::CheckVerdict::Free;
}

}  // namespace

std::string encode_cursor(const ListCursor& cursor) {
  std::string text(sizeof(std::uint32_t), '\0');
  std::memcpy(text.data(), &cursor.shard.value, sizeof(std::uint32_t));
  return text + cursor.after;
}

bool decode_cursor(std::string_view text, std::uint32_t shard_count, ListCursor& cursor) {
  if (text.empty()) {
    cursor = ListCursor{};
    return true;
  }
  if (text.size() < sizeof(std::uint32_t)) {
    return false;
  }
  std::memcpy(&cursor.shard.value, text.data(), sizeof(std::uint32_t));
  cursor.after = text.substr(sizeof(std::uint32_t));
  return cursor.shard.value < shard_count;
}

LockReads::LockReads(const LockReadsOptions& options, const locks::LockCpu& locks, Doors doors)
    : options_(options), locks_(locks), doors_(std::move(doors)) {}

ShardId LockReads::shard_of_name(std::string_view name) const {
  return shard_of(hash_name(name), options_.shard_count);
}

void LockReads::refuse(const Group& group, rpc::ErrorCode error) {
  doors_.answer(group.connection, error_reply(group.request, error), {});
}

void LockReads::start(ConnectionId connection,
                      const rpc::RequestSlot& request,
                      std::span<const std::byte> payload) {
  if (request.kind == rpc::RequestKind::LockCheck || request.kind == rpc::RequestKind::LockGet) {
    start_single(connection, request, payload);
    return;
  }
  Group group;
  group.connection = connection;
  group.request = request;
  group.payload.assign(payload.begin(), payload.end());
  if (request.kind == rpc::RequestKind::LockCheckBatch) {
    const auto checks = rpc::decode_check_batch(group.payload);
    if (!checks.ok()) {
      refuse(group, rpc::ErrorCode::PayloadMalformed);
      return;
    }
    group.shards = shards_of_batch(checks.value());
  } else {
    const auto query = rpc::decode_list_query(group.payload);
    ListCursor cursor;
    if (!query.ok() || !decode_cursor(query.value().cursor, options_.shard_count, cursor)) {
      refuse(group, rpc::ErrorCode::PayloadMalformed);
      return;
    }
    choose_list_shards(query.value(), group);
  }
  start_many(std::move(group));
}

void LockReads::start_single(ConnectionId connection,
                             const rpc::RequestSlot& request,
                             std::span<const std::byte> payload) {
  const ShardId shard = shard_of_name(rpc::text_of(payload));
  if (!doors_.leads(shard)) {
    doors_.answer(connection, not_leader_reply(request, doors_.leader_hint(shard)), {});
    return;
  }
  ++group_last_;
  Group group;
  group.connection = connection;
  group.request = request;
  group.payload.assign(payload.begin(), payload.end());
  group.outstanding = 1;
  group.shards = {shard.value};
  groups_.emplace(group_last_, std::move(group));
  doors_.ask(shard, group_last_);
}

void LockReads::start_many(Group group) {
  if (group.shards.empty()) {
    finish(group, Tick{});
    return;
  }
  ++group_last_;
  const std::uint64_t id = group_last_;
  group.outstanding = group.shards.size();
  const std::set<std::uint32_t> shards = group.shards;
  groups_.emplace(id, std::move(group));
  for (const std::uint32_t shard : shards) {
    doors_.ask(ShardId{shard}, id);
  }
}

std::set<std::uint32_t> LockReads::shards_of_batch(
    const std::vector<rpc::TokenCheck>& checks) const {
  std::set<std::uint32_t> shards;
  for (const rpc::TokenCheck& check : checks) {
    const ShardId shard = shard_of_name(check.name);
    if (doors_.leads(shard)) {
      shards.insert(shard.value);
    }
  }
  return shards;
}

// Shards that give rows to the next page: led here, with a lock that matches, from the cursor on.
// Each gives at least one row, so there are at most `limit` of them.
void LockReads::choose_list_shards(const rpc::ListQuery& query, Group& group) const {
  ListCursor cursor;
  decode_cursor(query.cursor, options_.shard_count, cursor);
  std::uint32_t shard = cursor.shard.value;
  for (; shard < options_.shard_count && group.shards.size() < query.limit; ++shard) {
    if (locks_.shard(ShardId{shard}).lock_count == 0 || !doors_.leads(ShardId{shard})) {
      continue;
    }
    const bool resumed = shard == cursor.shard.value;
    const std::string_view after = resumed ? std::string_view{cursor.after} : std::string_view{};
    if (!locks_.list(ShardId{shard}, {query.prefix, after, 1}).empty()) {
      group.shards.insert(shard);
    }
  }
  group.resume_shard = shard;
}

void LockReads::on_confirmed(
    std::uint64_t group_id, ShardId shard, const Status& status, NodeId leader_hint, Tick now) {
  const auto found = groups_.find(group_id);
  GCOORD_ASSERT(found != groups_.end());
  Group& group = found->second;
  GCOORD_ASSERT(group.outstanding > 0);
  --group.outstanding;
  if (!status.ok()) {
    group.failure = status;
    group.leader_hint = leader_hint;
    group.shards.erase(shard.value);
  }
  if (group.outstanding == 0) {
    const Group done = std::move(group);
    groups_.erase(found);
    finish(done, now);
  }
}

void LockReads::finish(const Group& group, Tick now) {
  const rpc::RequestKind kind = group.request.kind;
  const bool single = kind == rpc::RequestKind::LockCheck || kind == rpc::RequestKind::LockGet;
  if (single && group.shards.empty()) {
    doors_.answer(
        group.connection, engine_refusal(group.request, group.failure, group.leader_hint), {});
  } else if (kind == rpc::RequestKind::LockCheck) {
    finish_check(group, ShardId{*group.shards.begin()});
  } else if (kind == rpc::RequestKind::LockGet) {
    finish_get(group, ShardId{*group.shards.begin()}, now);
  } else if (kind == rpc::RequestKind::LockCheckBatch) {
    finish_batch(group);
  } else {
    finish_list(group, now);
  }
}

void LockReads::finish_check(const Group& group, ShardId shard) {
  const NameHash name = hash_name(rpc::text_of(group.payload));
  const auto verdict = locks_.check({shard, name, FencingToken{group.request.token}});
  rpc::ReplySlot reply = rpc::reply_to(group.request);
  reply.extra = static_cast<std::uint64_t>(to_wire(verdict));
  reply.epoch = doors_.term(shard).value;
  doors_.answer(group.connection, reply, {});
}

void LockReads::finish_get(const Group& group, ShardId shard, Tick now) {
  const auto lock = locks_.get(shard, hash_name(rpc::text_of(group.payload)));
  if (!lock.has_value()) {
    refuse(group, rpc::ErrorCode::LockAbsent);
    return;
  }
  const bool waiters = group.request.has(rpc::RequestFlag::Waiters);
  rpc::ReplySlot reply = rpc::reply_to(group.request);
  reply.epoch = doors_.term(shard).value;
  doors_.answer(
      group.connection, reply, rpc::encode_lock_row(describe(shard, *lock, waiters, now)));
}

void LockReads::finish_batch(const Group& group) {
  const auto checks = rpc::decode_check_batch(group.payload);
  GCOORD_ASSERT(checks.ok());  // It was decoded once when the read began.
  std::vector<rpc::CheckVerdict> verdicts;
  verdicts.reserve(checks.value().size());
  for (const rpc::TokenCheck& check : checks.value()) {
    const NameHash name = hash_name(check.name);
    const ShardId shard = shard_of(name, options_.shard_count);
    verdicts.push_back(group.shards.contains(shard.value)
                           ? to_wire(locks_.check({shard, name, check.token}))
                           : rpc::CheckVerdict::NotLeader);
  }
  doors_.answer(group.connection, rpc::reply_to(group.request), rpc::encode_verdicts(verdicts));
}

void LockReads::finish_list(const Group& group, Tick now) {
  const auto query = rpc::decode_list_query(group.payload);
  GCOORD_ASSERT(query.ok());
  ListCursor cursor;
  decode_cursor(query.value().cursor, options_.shard_count, cursor);
  const bool waiters = group.request.has(rpc::RequestFlag::Waiters);
  rpc::ListPage page;
  std::size_t page_bytes = 0;
  bool full = false;
  for (const std::uint32_t shard : group.shards) {
    const bool resumed = shard == cursor.shard.value;
    const std::string after = resumed ? cursor.after : "";
    const std::size_t left = query.value().limit - page.rows.size();
    for (const auto& lock : locks_.list(ShardId{shard}, {query.value().prefix, after, left})) {
      rpc::LockRow row = describe(ShardId{shard}, lock, waiters, now);
      page_bytes += rpc::encoded_bytes(row);
      full = page_bytes > kPageBytesMax;
      if (full) {
        break;
      }
      page.next_cursor = encode_cursor({ShardId{shard}, row.name});
      page.rows.push_back(std::move(row));
    }
    full = full || page.rows.size() >= query.value().limit;
    if (full) {
      break;
    }
  }
  if (!full) {
    const bool more = group.resume_shard < options_.shard_count;
    page.next_cursor = more ? encode_cursor({ShardId{group.resume_shard}, ""}) : "";
  }
  doors_.answer(group.connection, rpc::reply_to(group.request), rpc::encode_list_page(page));
}

rpc::LockRow LockReads::describe(ShardId shard,
                                 const locks::HeldLock& lock,
                                 bool waiters,
                                 Tick now) const {
  rpc::LockRow row;
  row.name = lock.name;
  row.shard = shard;
  row.holder = lock.holder;
  row.token = lock.token;
  row.acquired_index = lock.granted_at;
  row.waiter_count = lock.waiter_count;
  const std::uint64_t left = locks_.clock().remaining_ticks(lock.holder_row, now);
  row.ttl_left_ms = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(left * options_.tick_ms, lock.holder_ttl_ms));
  if (waiters) {
    for (const auto& waiter : locks_.waiters(shard, lock.name_hash, 0, kWaitersShownMax)) {
      row.waiters.push_back({waiter.session,
                             waiter.sequence,
                             doors_.waited_ms(shard, waiter.session, waiter.sequence)});
    }
  }
  return row;
}

}  // namespace gcoord::server
