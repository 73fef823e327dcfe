// A replica engine of one node that decides when the test says so, and a sink that keeps replies.
#pragma once

#include "locks/commands/entry_text.h"
#include "server/interfaces/replicated_log.h"
#include "server/lock_service/lock_service.h"
#include "server/node/request_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {

struct KeptReply {
  protocol::ConnectionId connection;
  protocol::ReplySlot slot;
  std::vector<std::byte> payload;
};

class KeepingSink final : public protocol::ReplySink {
 public:
  void reply(protocol::ConnectionId connection,
             const protocol::ReplySlot& slot,
             std::span<const std::byte> payload) override {
    replies.push_back({connection, slot, {payload.begin(), payload.end()}});
  }

  void park(protocol::ConnectionId) override { ++parked; }

  void unpark(protocol::ConnectionId) override { --parked; }

  // The reply to a request id, which is forgotten; fails the test when there is none.
  KeptReply take(std::uint64_t request_id) {
    for (auto each = replies.begin(); each != replies.end(); ++each) {
      if (each->slot.request_id == request_id) {
        const KeptReply found = *each;
        replies.erase(each);
        return found;
      }
    }
    ADD_FAILURE() << "no reply to request " << request_id;
    return {};
  }

  bool lists(protocol::ConnectionId, std::string_view name) const override {
    return name.starts_with(listed_prefix);
  }

  std::vector<KeptReply> replies;
  int parked = 0;
  std::string listed_prefix;  // Of the names that lists may show; empty: all.
};

class FakeEngine final : public ReplicatedLog {
 public:
  struct Proposal {
    ShardId shard;
    std::vector<std::byte> command;
    std::uint64_t cookie = 0;
  };

  void propose(ShardId shard, const ProposedCommand& proposed, std::uint64_t cookie) override {
    proposals.push_back({shard, {proposed.bytes.begin(), proposed.bytes.end()}, cookie});
  }

  void read(ShardId shard, std::uint64_t cookie) override { reads.push_back({shard, cookie}); }

  void read_by_round(ShardId shard, std::uint64_t cookie) override {
    rounds.push_back({shard, cookie});
  }

  ShardView view(ShardId shard) const override {
    ShardView result;
    result.shard = shard;
    result.role = led.contains(shard.value) ? consensus::Role::Leader : consensus::Role::Follower;
    const auto known = leaders.find(shard.value);
    const NodeId other = known == leaders.end() ? other_leader : known->second;
    result.leader = led.contains(shard.value) && known == leaders.end() ? NodeId{1} : other;
    result.term = term;
    result.lease = lease && led.contains(shard.value);
    const auto newest = told.find(shard.value);
    result.applied = LogIndex{newest == told.end() ? 0 : newest->second};
    return result;
  }

  NodeView view() const override { return node; }

  bool takes(const locks::LockCommand& command) const override {
    const bool of_group = command.kind == locks::LockCommandKind::GroupRequest;
    return of_group ? groups : holds || !locks::is_text_kind(command.kind, command.flags);
  }

  Abilities abilities() const override {
    return {.moves = holds,
            .ends_max = holds ? sessions::kEndsMax : ends_max,
            .on_device = on_device,
            .timed_leases = timed};
  }

  // What nodes say of their features is kept apart, so that tests see what they look for.
  bool send_peer_message(NodeId to, std::span<const std::byte> message) override {
    auto& kept = NodeFeatures::is_ours(message) ? features_said : messages;
    kept.push_back({to, {message.begin(), message.end()}});
    return true;
  }

  // Everything that was proposed is decided, in order.
  void decide(StateMachine& service) {
    std::deque<Proposal> taken;
    taken.swap(proposals);
    for (const Proposal& proposal : taken) {
      AppliedEntry entry;
      entry.shard = proposal.shard;
      entry.index = LogIndex{++index[proposal.shard.value]};
      entry.term = term;
      entry.payload = proposal.command;
      entry.cookie = proposal.cookie;
      entry.leader = led.contains(proposal.shard.value);
      told[entry.shard.value] = entry.index.value;
      service.apply(entry);
    }
  }

  void refuse(StateMachine& service, const Status& status, NodeId hint) {
    std::deque<Proposal> taken;
    taken.swap(proposals);
    for (const Proposal& proposal : taken) {
      service.on_proposal_failed(proposal.cookie, status, hint);
    }
  }

  void confirm_reads(StateMachine& service,
                     const Status& status = Status{},
                     NodeId hint = NodeId{}) {
    std::vector<std::pair<ShardId, std::uint64_t>> taken;
    taken.swap(reads);
    for (const auto& [shard, cookie] : taken) {
      service.on_read(cookie, status, hint);
    }
  }

  void confirm_rounds(StateMachine& service) {
    std::vector<std::pair<ShardId, std::uint64_t>> taken;
    taken.swap(rounds);
    for (const auto& [shard, cookie] : taken) {
      service.on_read(cookie, Status{}, NodeId{});
    }
  }

  void lead(StateMachine& service, ShardId shard) {
    led.insert(shard.value);
    term = term + 1;
    service.on_role(shard, consensus::Role::Leader, term, NodeId{1});
  }

  void follow(StateMachine& service, ShardId shard, NodeId leader) {
    led.erase(shard.value);
    other_leader = leader;
    term = term + 1;
    service.on_role(shard, consensus::Role::Follower, term, leader);
  }

  void on_observed(bool on) override { observed.push_back(on); }

  NodeView node;  // What it says of its node.
  std::vector<bool> observed;
  std::deque<Proposal> proposals;
  std::vector<std::pair<ShardId, std::uint64_t>> reads;
  std::vector<std::pair<ShardId, std::uint64_t>> rounds;  // Of read_by_round.
  std::vector<std::pair<NodeId, std::vector<std::byte>>> messages;
  std::vector<std::pair<NodeId, std::vector<std::byte>>> features_said;
  std::set<std::uint32_t> led;
  std::map<std::uint32_t, std::uint64_t> index;
  std::map<std::uint32_t, std::uint64_t> told;  // Of those, by shard, the newest that was.
  NodeId other_leader;
  std::map<std::uint32_t, NodeId> leaders;  // By shard, where a test says so.
  Term term{1};
  bool lease = true;
  bool holds = true;
  bool groups = true;
  std::uint32_t ends_max = 1;  // Without `holds`.
  bool on_device = false;
  bool timed = true;  // Whether its leases are judged by the clock.
};

class NoReports final : public NodeReports {
 public:
  std::string node_status() const override { return R"({"node":1})"; }

  std::string shard_list_begin(ShardId first) const override {
    return "{\"from\":" + std::to_string(first.value) + ",\"rows\":[";
  }

  std::string shard_rows(const protocol::ShardRange& range) const override {
    std::string rows = std::to_string(range.first.value);
    for (std::uint32_t offset = 1; offset < range.count; ++offset) {
      rows += "," + std::to_string(range.first.value + offset);
    }
    return rows;
  }

  std::string shard_show(ShardId shard) const override { return std::to_string(shard.value); }
};

// A lock service of one node over a fake engine, with a clock moved by hand.
struct LockBench {
  // From here on a request is slow.
  static constexpr std::uint32_t kSlowMs = 1000;

  explicit LockBench(std::vector<NodeId> nodes = {NodeId{1}},
                     NodeId node = NodeId{1},
                     std::uint32_t session_locks_max = 0,
                     CoordinatorMethod coordinator = CoordinatorMethod::Raft) {
    LockServiceOptions options;
    options.coordinator = coordinator;
    options.session_locks_max = session_locks_max;
    options.node = node;
    options.nodes = std::move(nodes);
    options.tick_ms = 10;
    options.election_ticks = 10;
    options.limits = {4, 100, 60'000};
    options.slow_request_ms = kSlowMs;
    options.disk_is_low = [this] { return disk_is_low; };
    service = std::make_unique<LockService>(options, sink, metrics);
    router = std::make_unique<RequestRouter>(RequestOwners{.service = *service});
    service->set_time(1'000'000);
    service->start(engine, Incarnation{7}, reports);
  }

  void lead_all() {
    for (std::uint32_t shard = 0; shard < 4; ++shard) {
      engine.lead(*service, ShardId{shard});
    }
  }

  void pass_ms(std::uint64_t ms) {
    now_us += ms * 1000;
    service->set_time(now_us);
    service->on_tick();
  }

  // Returns the request's id.
  std::uint64_t send(protocol::RequestSlot slot, std::string_view text) {
    return send(slot, protocol::bytes_of(text));
  }

  std::uint64_t send(protocol::RequestSlot slot, std::span<const std::byte> payload) {
    slot.request_id = ++request_last;
    slot.payload_bytes = static_cast<std::uint32_t>(payload.size());
    router->on_request({protocol::ConnectionId{connection}, slot, payload});
    return slot.request_id;
  }

  // An acquire that asks for more; waits without bound.
  std::uint64_t acquire_hold(std::uint64_t session,
                             std::uint64_t sequence,
                             const protocol::LockHold& hold) {
    protocol::LockAcquire acquire;
    acquire.caller = {SessionId{session}, RequestSequence{sequence}, RequestSequence{1}};
    acquire.wait_ms = protocol::kForeverMs;
    acquire.ttl_ms = 1000;
    protocol::RequestSlot slot = protocol::to_hold_slot(acquire);
    slot.shard = shard_of_name(hold.name).value;
    return send(slot, protocol::encode_hold(hold));
  }

  std::uint64_t acquire(std::uint64_t session,
                        std::uint64_t sequence,
                        std::string_view name,
                        std::uint32_t wait_ms = 0,
                        std::uint32_t ttl_ms = 1000) {
    protocol::LockAcquire acquire;
    acquire.caller = {SessionId{session}, RequestSequence{sequence}, RequestSequence{1}};
    acquire.wait_ms = wait_ms;
    acquire.ttl_ms = ttl_ms;
    protocol::RequestSlot slot = protocol::to_slot(acquire);
    slot.shard = shard_of_name(name).value;
    return send(slot, name);
  }

  std::uint64_t release(std::uint64_t session,
                        std::uint64_t sequence,
                        std::string_view name,
                        std::uint64_t token) {
    protocol::LockRelease release;
    release.caller = {SessionId{session}, RequestSequence{sequence}, RequestSequence{1}};
    release.token = FencingToken{token};
    protocol::RequestSlot slot = protocol::to_slot(release);
    slot.shard = shard_of_name(name).value;
    return send(slot, name);
  }

  protocol::RequestSlot slot(protocol::RequestKind kind) const {
    protocol::RequestSlot result;
    result.kind = kind;
    return result;
  }

  static ShardId shard_of_name(std::string_view name) { return shard_of(hash_name(name), 4); }

  void decide() { engine.decide(*service); }

  // Decides and returns the reply.
  KeptReply decided(std::uint64_t request_id) {
    decide();
    return sink.take(request_id);
  }

  MetricsRegistry metrics;
  KeepingSink sink;
  FakeEngine engine;
  NoReports reports;
  std::unique_ptr<LockService> service;
  std::unique_ptr<RequestRouter> router;
  std::uint64_t now_us = 1'000'000;
  std::uint64_t request_last = 0;
  std::uint64_t connection = 1;
  bool disk_is_low = false;
};

}  // namespace gcoord::server
