// Cost of a command to the loop's thread of a resident node on its way in: from the checked frame
// to the lane of its stripe, without sockets, I/O threads, a device or the way out.
//
//   WayIn/0   the thread judges, hashes, encodes and makes the entries, as before docs/adr/0144
//   WayIn/1   the same, but it encodes no bytes, which a log on a device does not keep
//   WayIn/2   an I/O thread has prepared the request
//   Prepare   what that costs the I/O thread
//
// Acquires of names of 21 bytes, 64 in a frame; processor time of the thread, per request.
#include "bench/loop/leading_log.h"
#include "locks/commands/entry.h"
#include "protocol/frame.h"
#include "protocol/lock_messages.h"
#include "server/ingress/prepared_requests.h"
#include "server/lock_service/lock_service.h"
#include "server/node/request_table.h"
#include "server/resident/engine/requests.h"

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::server {
namespace {

constexpr std::uint32_t kShards = 4096;
constexpr std::uint32_t kStripes = 64;
constexpr std::size_t kFrameRequests = 64;
constexpr protocol::RequestLimits kLimits{kShards, 100, 60'000};

class NoSink final : public protocol::ReplySink {
 public:
  void reply(protocol::ConnectionId,
             const protocol::ReplySlot&,
             std::span<const std::byte>) override {}

  void park(protocol::ConnectionId) override {}

  void unpark(protocol::ConnectionId) override {}
};

// The lanes of a node that nothing runs on, whose device's ends this host reads.
class Lanes final : public LeadingLog {
 public:
  explicit Lanes(bool keeps_bytes) : keeps_bytes_(keeps_bytes) {
    ResidentNodeOptions options;
    options.shape = {
        .shard_count = kShards, .stripe_count = kStripes, .log_slots = 32, .wide_count = 256};
    options.sizes = {.locks = 4096, .sessions = 4096, .requests = 4096, .name_blocks = 16384};
    auto made = ResidentNode::make(options, netcore::make_host_memory());
    if (!made.ok()) {
      std::fprintf(stderr, "%s\n", made.status().to_string().c_str());
      std::abort();
    }
    node_ = std::move(made).value();
    requests_.emplace(*node_);
    for (std::uint32_t lane = 0; lane < kStripes; ++lane) {
      ends_.push_back(netcore::open_receiver(node_->view().client, netcore::Band::Rpc, lane));
    }
  }

  void propose(ShardId shard, const ProposedCommand& proposed, std::uint64_t cookie) override {
    if (!requests_->take(shard, proposed, cookie)) {
      std::abort();
    }
  }

  void push() { requests_->push(); }

  // Takes what lies in the lanes, and ends all requests.
  void consume(StateMachine& service) {
    for (netcore::LaneReceiver& end : ends_) {
      for (;;) {
        const netcore::SlotTile tile = end.poll(1);
        if (tile.slot_count == 0) {
          break;
        }
        end.release(tile);
      }
    }
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      while (const auto asked = requests_->take_first(ShardId{shard}, requests_->order_last())) {
        service.on_proposal_failed(
            asked->cookie, {StatusCode::ResourceExhausted, "the benchmark ends it"}, NodeId{});
      }
    }
  }

  Abilities abilities() const override {
    return {.moves = false, .on_device = true, .keeps_bytes = keeps_bytes_};
  }

 private:
  bool keeps_bytes_;
  std::unique_ptr<ResidentNode> node_;
  std::optional<ResidentRequests> requests_;
  std::vector<netcore::LaneReceiver> ends_;
};

struct Loop {
  explicit Loop(bool keeps_bytes) : lanes(keeps_bytes) {
    LockServiceOptions options;
    options.node = NodeId{1};
    options.nodes = {NodeId{1}};
    options.limits = kLimits;
    options.on_device = true;
    service.emplace(options, sink, metrics);
    router.emplace(RequestOwners{.service = *service});
    service->set_time(1'000'000);
    service->start(lanes, Incarnation{7}, reports);
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      service->on_role(ShardId{shard}, consensus::Role::Leader, Term{3}, NodeId{1});
    }
    lanes.consume(*service);
  }

  MetricsRegistry metrics;
  NoSink sink;
  SilentReports reports;
  Lanes lanes;
  std::optional<LockService> service;
  std::optional<RequestRouter> router;
};

// Frames of acquires, each with names and numbers of its own.
class Client {
 public:
  protocol::FrameView frame() {
    protocol::FrameBuilder builder{protocol::FrameDirection::Requests};
    for (std::size_t k = 0; k < kFrameRequests; ++k) {
      protocol::LockAcquire acquire;
      acquire.caller = {SessionId{1'000'000'009}, RequestSequence{++sequence_}, RequestSequence{1}};
      acquire.caller.acked_below = acquire.caller.sequence;
      acquire.ttl_ms = 10'000;
      const std::string name = "jobs/train/" + std::to_string(1'000'000'000 + sequence_ % 8192);
      builder.add(protocol::to_slot(acquire), protocol::bytes_of(name));
    }
    std::vector<std::byte> bytes;
    builder.finish(bytes);
    decoder_.emplace(protocol::FrameDirection::Requests);
    decoder_->append(bytes);
    protocol::FrameView frame;
    if (decoder_->next(frame) != protocol::DecodeStep::Frame) {
      std::abort();
    }
    return frame;
  }

 private:
  std::uint64_t sequence_ = 0;
  std::optional<protocol::FrameDecoder> decoder_;
};

void way_in(benchmark::State& state) {
  const bool prepares = state.range(0) == 2;
  Loop loop(state.range(0) == 0);
  Client client;
  PreparedRequests prepared{prepares ? std::optional{IngressRules{kLimits, true}} : std::nullopt};
  protocol::RequestSlot copy;
  for (auto each : state) {
    const protocol::FrameView frame = client.frame();
    prepared.clear();
    prepared.add(frame);
    prepared.seal();
    const double begin = processor_s();
    prepared.next_frame();
    for (std::size_t k = 0; k < frame.slot_count(); ++k) {
      const protocol::RequestSlot& slot = frame.request(k, copy);
      loop.router->on_request(
          {protocol::ConnectionId{1}, slot, frame.payload(slot), prepared.at(k)});
    }
    loop.lanes.push();
    state.SetIterationTime((processor_s() - begin) / static_cast<double>(kFrameRequests));
    loop.lanes.consume(*loop.service);
  }
}

BENCHMARK(way_in)->Name("WayIn")->DenseRange(0, 2)->UseManualTime()->Iterations(20'000);

void prepare(benchmark::State& state) {
  Client client;
  PreparedRequests prepared{IngressRules{kLimits, true}};
  for (auto each : state) {
    const protocol::FrameView frame = client.frame();
    const double begin = processor_s();
    prepared.clear();
    prepared.add(frame);
    prepared.seal();
    state.SetIterationTime((processor_s() - begin) / static_cast<double>(kFrameRequests));
  }
}

BENCHMARK(prepare)->Name("Prepare")->UseManualTime()->Iterations(20'000);

}  // namespace
}  // namespace gcoord::server

BENCHMARK_MAIN();
