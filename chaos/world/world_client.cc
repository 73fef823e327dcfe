// What a client does: its session, its choices, and what it writes down.
#include "chaos/world/world_client.h"

#include "common/assert.h"
#include "common/name_hash.h"
#include "protocol/lock_messages.h"
#include "protocol/move_messages.h"
#include "protocol/read_messages.h"
#include "protocol/session_messages.h"

#include <algorithm>
#include <utility>

namespace gcoord::chaos {
namespace {

client::BackoffOptions backoff_options(const WorldOptions& options, std::uint32_t number) {
  return {.min = std::chrono::milliseconds{options.tick_ms},
          .max = std::chrono::milliseconds{options.election_ms() / 2},
          .budget = 10'000,
          .seed = random64(options.seed, 77, number)};
}

client::TimePoint margin_of(const WorldOptions& options) {
  client::ClientOptions client;
  client.drift_divisor = options.drift_divisor;
  // A pass of the world is as long as its quantum.
  client.drift_margin = std::chrono::milliseconds{10 + options.quantum_ms};
  return client::lease_margin(std::chrono::milliseconds{options.ttl_ms}, client);
}

}  // namespace

WorldClient::WorldClient(const WorldOptions& options,
                         std::uint32_t number,
                         WorldClientEnvironment doors)
    : options_(options),
      number_(number),
      environment_(std::move(doors)),
      random_(options.seed, 1000 + number),
      known_(options.shard_count),
      nodes_({.founders = options.node_count,
              .follows = options.changes_members(),
              .look_pause = std::chrono::milliseconds{options.ttl_ms},
              .patience = std::chrono::milliseconds{options.election_ms() / 2}}),
      lease_margin_(margin_of(options)),
      backoff_(backoff_options(options, number)) {}

void WorldClient::set_paused(bool paused) {
  plan_.resumed = plan_.paused && !paused;
  plan_.paused = paused;
}

void WorldClient::fall_silent(std::uint64_t until_world_us) {
  plan_.silent_until_world_us = std::max(plan_.silent_until_world_us, until_world_us);
}

void WorldClient::join_herd(const std::string& key, std::uint64_t until_world_us) {
  plan_.herd_key = key;
  plan_.herd_until_world_us = until_world_us;
}

void WorldClient::move_locks(std::uint64_t until_world_us) {
  plan_.move_until_world_us = until_world_us;
}

void WorldClient::take_reply(NodeId from,
                             const protocol::ReplySlot& slot,
                             std::span<const std::byte> payload) {
  replies_.push_back({from, slot, {payload.begin(), payload.end()}});
}

void WorldClient::pass(std::uint64_t now_us) {
  now_us_ = now_us;
  if (plan_.paused) {
    return;
  }
  if (std::exchange(plan_.resumed, false) && !held_.empty()) {
    // It was stopped between a look at its lease and this write.
    write_guarded(held_.front());
  }
  look_at_lease();
  for (const Reply& reply : std::exchange(replies_, {})) {
    on_reply(reply);
  }
  if (const auto asked =
          nodes_.question(random_, environment_.any_node(number_ + counts_.requests), local())) {
    environment_.send(asked->first, asked->second, client::ViewFetch::payload());
  }
  keep_alive();
  if (operation_ && local_us() >= operation_->deadline_us) {
    complete(Outcome::Unknown, Reason::None, {});
  } else if (operation_ && local_us() >= operation_->retry_us) {
    send();
  }
  if (!operation_ && local_us() >= next_us_) {
    begin();
  }
}

void WorldClient::look_at_lease() {
  if (session_.lease == nullptr || options_.mutant == Mutant::ClientOutlivesItsLease) {
    return;
  }
  const auto until =
      std::chrono::duration_cast<std::chrono::microseconds>(session_.lease->certain_until());
  const auto until_us = static_cast<std::uint64_t>(until.count());
  while (const auto event = session_.lease->advance(local())) {
    if (*event == client::SessionEvent::Expired) {
      // The history is told when its lease ran out, not when it found out.
      const std::uint64_t ended_us = until_us == 0 ? now_us_ : clock_.world_at(until_us);
      Operation lost{.process = number_, .op = Op::SessionLost, .session = session_.id};
      lost.call_ns = lost.return_ns = std::min(ended_us * 1000, environment_.moment_ns());
      environment_.record(lost);
      return end_session();
    }
  }
}

// What was under way stays open: its outcome is not known.
void WorldClient::end_session() {
  const std::uint64_t session = std::exchange(session_.id, 0);
  session_.lease.reset();
  held_.clear();
  session_.windows.clear();
  session_.keep_alives.clear();
  nodes_.forget();
  if (operation_ && operation_->slot.session == session && session != 0) {
    complete(Outcome::Unknown, Reason::None, {});
  }
}

void WorldClient::close_session() {
  Operation closed{.process = number_, .op = Op::Close, .session = session_.id};
  closed.call_ns = closed.return_ns = environment_.moment_ns();
  environment_.record(closed);
  protocol::RequestSlot slot;
  slot.kind = protocol::RequestKind::CloseSession;
  slot.session = session_.id;
  slot.shard = protocol::kAllShards;
  for (const NodeId node : nodes_.all()) {
    slot.request_id = ++counts_.requests;
    environment_.send(node, slot, {});
  }
  end_session();
}

void WorldClient::keep_alive() {
  if (session_.lease == nullptr || local_us() < session_.keep_alive_us ||
      now_us_ < plan_.silent_until_world_us) {
    return;
  }
  session_.keep_alive_us = local_us() + options_.ttl_ms * std::uint64_t{1000} / 3;
  const SessionId session{session_.id};
  const std::vector<std::byte> payload = protocol::encode_keep_alive({&session, 1});
  protocol::RequestSlot slot;
  slot.kind = protocol::RequestKind::KeepAlive;
  for (const NodeId node : nodes_.all()) {
    slot.request_id = ++counts_.requests;
    session_.keep_alives[slot.request_id] = {node, local_us()};
    environment_.send(node, slot, payload);
  }
}

void WorldClient::on_keep_alive(const KeepAlive& sent, const Reply& reply) {
  const auto entries = protocol::decode_keep_alive_reply(reply.payload);
  if (reply.slot.code != StatusCode::Ok || !entries.ok() || session_.lease == nullptr) {
    return;
  }
  for (const protocol::KeepAliveEntry& entry : entries.value()) {
    if (entry.session.value == session_.id && entry.state == protocol::KeepAliveState::Expired) {
      counts_.sessions.note_end(*session_.lease, local());
      session_.lease->on_lost();
    }
  }
  const bool from_receipt = options_.mutant == Mutant::ClientLeaseFromReceipt;
  nodes_.take({.node = sent.node,
               .epoch = reply.slot.extra,
               .sent_at = from_receipt
                              ? local()
                              : client::TimePoint{std::chrono::microseconds{sent.sent_us}}});
  count_acknowledged();
}

void WorldClient::count_acknowledged() {
  for (const ClientNodes::Acknowledged& each : nodes_.take_counting()) {
    look_at_lease();
    if (session_.lease != nullptr) {
      session_.lease->on_acknowledged(each.node, each.sent_at, nodes_.voters());
      look_at_lease();
    }
  }
}

void WorldClient::rest() {
  const bool hurried = now_us_ < plan_.herd_until_world_us || end_.begun;
  const std::uint32_t longest_ms = hurried ? options_.tick_ms : options_.tick_ms * 12;
  next_us_ = local_us() + std::uint64_t{random_.between(1, longest_ms)} * 1000;
}

void WorldClient::begin() {
  if (!held_.empty()) {
    const Held held = held_.front();
    if (end_.begun && !held.checked) {
      held_.front().checked = true;
      return begin_check(held.key, held.token, TokenState::Valid);
    }
    if (local_us() >= held.release_us || end_.begun) {
      return begin_release();
    }
    const bool writes = random_.below(2) == 0;
    if (writes) {
      write_guarded(held);
      return rest();
    }
    return begin_look(held.key, held.token, TokenState::Valid);
  }
  if (end_.begun) {
    if (!std::exchange(end_.planned, true)) {
      end_.checks_left.assign(released_.begin(), released_.end());
    }
    if (!end_.checks_left.empty()) {
      const auto [key, token] = end_.checks_left.back();
      return begin_check(key, token, TokenState::Past);
    }
    return;
  }
  if (session_.id == 0) {
    return open_session();
  }
  if (now_us_ < plan_.move_until_world_us && random_.below(3) == 0) {
    return begin_move();
  }
  const std::uint32_t drawn = random_.below(100);
  if (drawn < 2) {
    return close_session();
  }
  if (drawn < 12 && !released_.empty()) {
    auto chosen = released_.begin();
    std::advance(chosen, random_.below(static_cast<std::uint32_t>(released_.size())));
    return begin_look(chosen->first, chosen->second, TokenState::Past);
  }
  begin_acquire();
}

void WorldClient::open_session() {
  UnderWay opening;
  opening.slot.kind = protocol::RequestKind::OpenSession;
  opening.slot.ttl_ms = options_.ttl_ms;
  opening.told.call_ns = local_us();  // When the first TTL begins, on this clock.
  opening.deadline_us = local_us() + timeout_us() * 20;
  operation_ = std::move(opening);
  send();
}

void WorldClient::begin_acquire() {
  const bool herd = now_us_ < plan_.herd_until_world_us;
  Operation told{.process = number_, .op = Op::Acquire};
  told.kind = herd || random_.below(3) == 0 ? AcquireKind::Wait : AcquireKind::Try;
  told.key = herd ? plan_.herd_key : "key/" + std::to_string(random_.below(options_.key_count));
  const std::string key = told.key;
  begin_change(protocol::RequestKind::LockAcquire, key, std::move(told));
}

void WorldClient::begin_release() {
  const Held held = held_.front();
  held_.clear();
  Operation told{.process = number_, .op = Op::Release};
  told.key = held.key;
  told.token = held.token;
  begin_change(protocol::RequestKind::LockRelease, held.key, std::move(told));
}

void WorldClient::begin_change(protocol::RequestKind kind, const std::string& key, Operation told) {
  UnderWay change;
  change.slot.kind = kind;
  known_.find_place(change.slot, key);
  const ShardId shard{change.slot.shard};
  change.slot.session = session_.id;
  change.slot.token = told.token;
  change.slot.ttl_ms = kind == protocol::RequestKind::LockAcquire ? options_.ttl_ms : 0;
  change.slot.sequence = session_.windows[shard.value].begin();
  change.numbered = true;
  change.payload = key;
  change.slot.set(protocol::RequestFlag::WriteIndex);
  change.deadline_us = local_us() + timeout_us() * 16;
  if (told.kind == AcquireKind::Wait) {
    change.slot.set(protocol::RequestFlag::Wait);
    change.deadline_us += timeout_us() * 8;
  }
  change.told = std::move(told);
  change.told.session = session_.id;
  change.told.sequence = change.slot.sequence;
  change.told.shard = shard.value;
  change.told.call_ns = environment_.moment_ns();
  operation_ = std::move(change);
  send();
}

// A lock that is away is moved home, which is its only way on.
void WorldClient::begin_move() {
  UnderWay move;
  const std::string key = "key/" + std::to_string(random_.below(options_.key_count));
  move.slot.kind = protocol::RequestKind::LockMove;
  known_.find_place(move.slot, key);
  const ShardId home = shard_of(hash_name(key), options_.shard_count);
  const std::uint32_t further = 1 + random_.below(options_.shard_count - 1);
  const ShardId to = move.slot.has(protocol::RequestFlag::Moved)
                         ? home
                         : ShardId{(home.value + further) % options_.shard_count};
  move.payload = protocol::text_of(protocol::encode_move({to, key}));
  move.told.key = key;
  move.deadline_us = local_us() + timeout_us() * 16;
  operation_ = std::move(move);
  send();
}

void WorldClient::begin_check(const std::string& key, std::uint64_t token, TokenState expected) {
  UnderWay check;
  check.slot.kind = protocol::RequestKind::LockCheck;
  known_.find_place(check.slot, key);
  check.slot.token = token;
  check.payload = key;
  check.deadline_us = local_us() + timeout_us() * 16;
  check.told = {.process = number_, .op = Op::Check, .expected = expected};
  check.told.key = key;
  check.told.token = token;
  check.told.session = session_.id;
  check.told.call_ns = environment_.moment_ns();
  operation_ = std::move(check);
  send();
}

// One of the ways to ask about a token, in turn: what the leader's lease is good for, what only a
// quorum is, and reads with each of the five consistencies.
void WorldClient::begin_look(const std::string& key, std::uint64_t token, TokenState expected) {
  constexpr std::uint64_t kWays = 7;
  const std::uint64_t way = counts_.looks++ % kWays;
  if (way >= 2) {
    return begin_read(key, token, expected);
  }
  begin_check(key, token, expected);
  if (way == 1) {
    operation_->slot.set(protocol::RequestFlag::Quorum);
  }
}

void WorldClient::begin_read(const std::string& key, std::uint64_t token, TokenState expected) {
  const ShardId shard = shard_of(hash_name(key), options_.shard_count);
  WeakRead read{.process = number_, .key = key, .shard = shard, .token = FencingToken{token}};
  read.consistency = static_cast<protocol::ReadConsistency>(1 + counts_.looks % 5);
  read.staleness_ms = static_cast<std::uint32_t>(timeout_us() / 1000);
  read.needed = known_.seen(shard);
  protocol::LockRead asked{{read.consistency, 0, {}}, protocol::ReadQuestion::Verdict, {}};
  if (read.consistency == protocol::ReadConsistency::Bounded) {
    asked.terms.staleness_ms = read.staleness_ms;
  } else if (read.consistency == protocol::ReadConsistency::Monotonic) {
    asked.terms.after.push_back({shard, read.needed});
  }
  asked.names.push_back({key, read.token});
  UnderWay look;
  look.slot.kind = protocol::RequestKind::LockRead;
  look.slot.shard = shard.value;
  look.slot.deadline_ms = static_cast<std::uint32_t>(timeout_us() * 4 / 1000);
  look.payload = protocol::text_of(protocol::encode_lock_read(asked));
  look.deadline_us = local_us() + timeout_us() * 16;
  look.told = {.process = number_, .op = Op::Check, .expected = expected};
  look.told.key = key;
  look.told.token = token;
  look.told.session = session_.id;
  look.told.call_ns = read.call_ns = environment_.moment_ns();
  look.read = std::move(read);
  operation_ = std::move(look);
  send();
}

void WorldClient::write_guarded(const Held& held) {
  Operation written{.process = number_, .op = Op::Write};
  written.key = "guard/" + held.key;
  written.token = held.token;
  written.session = session_.id;
  written.value = std::to_string(held.token) + "/" + std::to_string(++counts_.requests);
  written.call_ns = environment_.moment_ns();
  const bool taken = environment_.guarded_write(held.key, held.token);
  written.return_ns = environment_.moment_ns();
  written.outcome = taken ? Outcome::Ok : Outcome::Fail;
  written.reason = taken ? Reason::None : Reason::Stale;
  environment_.record(written);
}

void WorldClient::on_granted(const Operation& told) {
  const std::uint64_t hold_ms = random_.between(1, options_.tick_ms * 20);
  held_.push_back({told.key, told.token, local_us() + hold_ms * 1000, false});
}

std::string WorldClient::describe() const {
  std::string text =
      "client " + std::to_string(number_) + ", session " + std::to_string(session_.id);
  if (operation_) {
    text += ", request of kind " + std::to_string(static_cast<int>(operation_->slot.kind)) +
            " in shard " + std::to_string(operation_->slot.shard) + ", attempt " +
            std::to_string(operation_->attempt) + ", key " + operation_->told.key;
  }
  return text;
}

}  // namespace gcoord::chaos
