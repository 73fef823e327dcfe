// Cost of a command to the loop's thread of a resident node on its way out, where threads follow
// the lanes (docs/adr/0145): from the rings of the followers through the rows and the lock service
// to the frames of replies. Without sockets, a device, history, and the way in.
//
//   WayOut/0   commands of clients of other nodes: the loop hears of them
//   WayOut/1   commands of this node's clients: it answers them, too
//
// Acquires of names of 21 bytes and their releases, 256 sessions with one command each in a pass.
// Another thread does what followers do, so what the loop finds lies in caches of another
// processor where the machine has two that are free. Processor time of the loop's thread, per
// command.
#include "bench/loop/leading_log.h"
#include "common/name_hash.h"
#include "locks/commands/entry.h"
#include "locks/commands/entry_writer.h"
#include "protocol/lock_messages.h"
#include "server/client_io/reply_outbox.h"
#include "server/lock_service/lock_service.h"
#include "server/node/request_table.h"
#include "server/resident/engine/event_drain.h"
#include "server/resident/node/lock_ingress.h"
#include "server/resident/node/lock_turn_service.h"

#include <benchmark/benchmark.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

constexpr std::uint32_t kShards = 4096;
constexpr std::uint32_t kStripes = 64;
constexpr std::uint32_t kLanesEach = 16;  // Four followers.
constexpr std::uint32_t kSessions = 256;
constexpr std::uint32_t kConnections = 12;
constexpr std::uint32_t kRoom = 4096;
constexpr std::uint32_t kDecided = 4096;  // More than a pass brings to a lane.
constexpr protocol::RequestLimits kLimits{kShards, 100, 60'000};

void check(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "%s\n", what);
    std::abort();
  }
}

// Replies in frames, as connections make them.
class Outboxes final : public protocol::ReplySink {
 public:
  void reply(protocol::ConnectionId connection,
             const protocol::ReplySlot& slot,
             std::span<const std::byte> payload) override {
    check(slot.code == StatusCode::Ok, "a request was refused");
    ReplyOutbox& out = outboxes_[connection.value];
    if (!out.fits(payload.size())) {
      out.finish_frame();
    }
    out.add(slot, payload);
    ++replies;
  }

  void park(protocol::ConnectionId) override {}

  void unpark(protocol::ConnectionId) override {}

  void flush() {
    for (ReplyOutbox& out : outboxes_) {
      out.finish_frame();
      out.give_back(out.take_all());
    }
  }

  std::uint64_t replies = 0;

 private:
  ReplyOutbox outboxes_[kConnections];
};

template <typename Slot>
void publish(netcore::LaneSender& to, const Slot& slot) {
  static_assert(sizeof(Slot) == netcore::kSlotBytes);
  std::uint32_t words[netcore::kSlotWords];
  std::memcpy(words, &slot, sizeof words);
  const netcore::Reservation place = to.reserve(1);
  check(place.slot_count == 1, "a lane is full");
  to.publish(place, [&words](std::uint32_t, std::uint32_t word) { return words[word]; });
}

// What a device would do: it decides each request at once, and knows what the state is then.
class Device {
 public:
  explicit Device(ResidentNode& node) : client_(node.view().client) {
    for (std::uint32_t lane = 0; lane < kStripes; ++lane) {
      from_.push_back(netcore::open_receiver(client_, netcore::Band::Rpc, lane));
      to_.push_back(netcore::open_sender(client_, netcore::Band::Rpc, lane));
    }
    applied_.resize(kShards);
    tokens_.resize(kSessions);
  }

  // What lies in the lanes.
  void answer() {
    for (std::uint32_t lane = 0; lane < kStripes; ++lane) {
      for (;;) {
        const netcore::SlotTile tile = from_[lane].poll(1);
        if (tile.slot_count == 0) {
          break;
        }
        std::uint32_t words[netcore::kSlotWords];
        tile.for_each_word([&words](std::uint32_t, std::uint32_t word, std::uint32_t value) {
          words[word] = value;
        });
        TurnRequest request;
        std::memcpy(static_cast<void*>(&request), words, sizeof words);
        from_[lane].release(tile);
        if (request.tag != kPassTag) {
          decide(request.shard, entry_of_request(request), TurnVerdict::Committed);
        }
      }
    }
  }

  // A command of another node's client.
  void tell(ShardId shard, const locks::LockCommand& command) {
    locks::for_each_entry(
        command, [&](const locks::LockEntry& entry) { decide(shard, entry, TurnVerdict::Told); });
  }

  // What the session's command was granted last.
  FencingToken token(std::uint32_t session) const { return tokens_[session]; }

  std::uint64_t events = 0;

 private:
  void decide(ShardId shard, const locks::LockEntry& entry, TurnVerdict verdict) {
    const std::uint32_t lane = row_of_shard(shard) / (kShards / kStripes);
    TurnReply reply;
    reply.shard = shard;
    reply.verdict = verdict;
    reply.tag = verdict == TurnVerdict::Committed ? entry.request : 0;
    reply.index = LogIndex{++applied_[shard.value]};
    reply.term = Term{3};
    reply.result.word[1] = std::uint64_t{kRoom} << 32;
    if (commands_.take(shard, reply.index, entry) == ReassembledKind::Command) {
      const locks::LockCommand& command = *commands_.command();
      locks::LockEvents ended{room_.data(), locks::kLockEventsPerCommandMax, 0};
      const auto outcome = locks_.apply(shard, reply.index, command, Tick{1}, ended);
      tokens_[command.session.value % kSessions] = outcome.token;
      reply.result.word[1] |= static_cast<std::uint64_t>(LockTurnDone::Applied) |
                              static_cast<std::uint64_t>(outcome.code) << 8;
    }
    reply.result.word[0] = locks_.state_hash(shard);
    publish(to_[lane], reply);
    publish(to_[lane], entry);
    netcore::close_sender(client_, netcore::Band::Rpc, lane, to_[lane]);
    ++events;
  }

  const netcore::GpuChannelDevice& client_;
  std::vector<netcore::LaneReceiver> from_;
  std::vector<netcore::LaneSender> to_;
  locks::LockCpu locks_{{.shard_count = kShards, .index_seed = 5, .group_answers_apart = true}};
  CommandReassembler commands_;
  std::vector<std::uint64_t> applied_;
  std::vector<FencingToken> tokens_;
  std::vector<locks::LockEvent> room_ =
      std::vector<locks::LockEvent>(locks::kLockEventsPerCommandMax);
};

// Of this thread, where there are so many processors.
void pin(unsigned processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor % std::max(std::thread::hardware_concurrency(), 1u), &set);
  ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
}

// Does what the followers' threads do, call by call.
class FollowingThread {
 public:
  explicit FollowingThread(Followers& followers) : followers_(followers) {}

  ~FollowingThread() {
    say(told_, kEnd);
    thread_.join();
  }

  void follow() {
    const std::uint64_t round = told_.load(std::memory_order_relaxed) + 1;
    say(told_, round);
    done_.wait(round - 1, std::memory_order_acquire);
  }

 private:
  static constexpr std::uint64_t kEnd = ~std::uint64_t{0};

  static void say(std::atomic<std::uint64_t>& to, std::uint64_t what) {
    to.store(what, std::memory_order_release);
    to.notify_one();
  }

  void run() {
    pin(1);
    for (std::uint64_t round = 1;; ++round) {
      told_.wait(round - 1, std::memory_order_acquire);
      if (told_.load(std::memory_order_acquire) == kEnd) {
        return;
      }
      for (std::uint32_t lane = 0; lane < kStripes; ++lane) {
        followers_.of(lane).follow(lane, kDecided);
      }
      say(done_, round);
    }
  }

  Followers& followers_;
  std::atomic<std::uint64_t> told_{0};
  std::atomic<std::uint64_t> done_{0};
  std::thread thread_{[this] { run(); }};
};

class Node final : public LeadingLog {
 public:
  Node() {
    ResidentNodeOptions options;
    options.shape = {
        .shard_count = kShards, .stripe_count = kStripes, .log_slots = 32, .wide_count = 256};
    options.sizes = {
        .locks = kRoom, .sessions = kRoom, .requests = kRoom, .name_blocks = 4 * kRoom};
    auto made = ResidentNode::make(options, netcore::make_host_memory());
    check(made.ok(), "no node");
    node_ = std::move(made).value();
    requests.emplace(*node_);
    device.emplace(*node_);

    LockServiceOptions service_options;
    service_options.node = NodeId{1};
    service_options.nodes = {NodeId{1}};
    service_options.limits = kLimits;
    service_options.on_device = true;
    service_options.part_shards = kLanesEach * (kShards / kStripes);
    service.emplace(service_options, sink, metrics_);
    router.emplace(RequestOwners{.service = *service});
    service->set_time(1'000'000);
    service->start(*this, Incarnation{7}, reports_);
    rows_.emplace(*node_, *service, *requests);
    drain_.emplace(EventDrain::Environment{.node = *node_,
                                           .requests = *requests,
                                           .rows = *rows_,
                                           .now_ms = [] { return std::uint64_t{1000}; },
                                           .copy = {.tables = &service->locks(),
                                                    .part_shards = service_options.part_shards,
                                                    .now = [] { return Tick{100}; }}});
    rows_->follow_by(drain_->followers());
    thread_.emplace(*drain_->followers());
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      service->on_role(ShardId{shard}, consensus::Role::Leader, Term{3}, NodeId{1});
    }
    pass();  // What the service proposes by itself now.
  }

  // All that was proposed and told, through device and followers to the clients. The processor time
  // of the loop's part behind the followers.
  double pass();

  void propose(ShardId shard, const ProposedCommand& proposed, std::uint64_t cookie) override {
    check(requests->take(shard, proposed, cookie), "a proposal did not fit");
  }

  Abilities abilities() const override {
    return {.moves = false, .on_device = true, .keeps_bytes = false};
  }

  Outboxes sink;
  std::optional<ResidentRequests> requests;
  std::optional<Device> device;
  std::optional<LockService> service;
  std::optional<RequestRouter> router;

 private:
  MetricsRegistry metrics_;
  SilentReports reports_;
  std::unique_ptr<ResidentNode> node_;
  std::optional<ResidentRows> rows_;
  std::optional<EventDrain> drain_;
  std::optional<FollowingThread> thread_;
};

double Node::pass() {
  requests->push();
  device->answer();
  const std::uint64_t events = std::exchange(device->events, 0);
  thread_->follow();
  check(drain_->copy_counts().ahead == events, "a follower left something");
  const double begin = processor_s();
  for (std::uint64_t left = events; left != 0;) {
    const auto passed = drain_->drain();
    check(passed.ok() && passed.value() != 0, "the loop failed, or found nothing");
    left -= passed.value();
  }
  sink.flush();
  return processor_s() - begin;
}

// Acquires of all sessions, then their releases, and so on.
class Load {
 public:
  Load() {
    for (std::uint32_t k = 0; k < kSessions; ++k) {
      names_.push_back("jobs/train/" + std::to_string(1'000'000'000 + k));
    }
  }

  void ask(Node& node, bool own) {
    acquires_ = !acquires_;
    ++sequence_;
    for (std::uint32_t k = 0; k < kSessions; ++k) {
      own ? request(node, k) : tell(node, k);
    }
  }

 private:
  static SessionId session(std::uint32_t k) { return SessionId{kSessions * 4'000'000ull + k}; }

  void request(Node& node, std::uint32_t k) const {
    const protocol::Caller caller{
        session(k), RequestSequence{sequence_}, RequestSequence{sequence_}};
    protocol::RequestSlot slot;
    if (acquires_) {
      protocol::LockAcquire acquire;
      acquire.caller = caller;
      acquire.ttl_ms = 10'000;
      slot = protocol::to_slot(acquire);
    } else {
      slot = protocol::to_slot(
          protocol::LockRelease{.caller = caller, .token = node.device->token(k)});
    }
    node.router->on_request(
        {protocol::ConnectionId{k % kConnections}, slot, protocol::bytes_of(names_[k]), nullptr});
  }

  void tell(Node& node, std::uint32_t k) const {
    const NameHash hash = hash_name(names_[k]);
    const locks::LockCommand command =
        acquires_ ? locks::make_acquire({.session = session(k),
                                         .sequence = RequestSequence{sequence_},
                                         .acked_below = RequestSequence{sequence_},
                                         .name = names_[k],
                                         .ttl_ms = 10'000})
                  : locks::make_release({.session = session(k),
                                         .sequence = RequestSequence{sequence_},
                                         .acked_below = RequestSequence{sequence_},
                                         .name_hash = hash,
                                         .token = node.device->token(k)});
    node.device->tell(shard_of(hash, kShards), command);
  }

  std::vector<std::string> names_;
  std::uint64_t sequence_ = 0;
  bool acquires_ = false;
};

void way_out(benchmark::State& state) {
  const bool own = state.range(0) == 1;
  pin(0);
  Node node;
  Load load;
  for (auto each : state) {
    load.ask(node, own);
    state.SetIterationTime(node.pass() / kSessions);
  }
  const auto passes = static_cast<std::uint64_t>(state.iterations());
  check(node.sink.replies == (own ? kSessions * passes : 0), "replies are missing");
}

BENCHMARK(way_out)->Name("WayOut")->DenseRange(0, 1)->UseManualTime()->Iterations(500)->Repetitions(
    3);

}  // namespace
}  // namespace gcoord::server

BENCHMARK_MAIN();
