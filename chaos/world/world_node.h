// One machine of a simulated world, and the node that runs on it: the product's replica engine and
// lock service over a simulated disk, clock, peer network and front end.
//
// Only what node.cc does with sockets is done here instead: a pass of the loop, requests in,
// replies out. A process ends by stop(): nothing it had in memory survives, what its disk keeps is
// decided by whoever stops it. One thread.
#pragma once

#include "chaos/disks/world_disk.h"
#include "chaos/members/node_view.h"
#include "chaos/mutants/mutant_seams.h"
#include "chaos/promises/turn_watch.h"
#include "chaos/random/sim_random.h"
#include "chaos/world/world_clock.h"
#include "chaos/world/world_options.h"
#include "consensus/device/step_device.h"
#include "netcore/transport/simulated_network.h"
#include "server/history/history.h"
#include "server/host_turn/host_replicas.h"
#include "server/node/request_table.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gcoord::chaos {

// Whom a node tells; they outlive it.
struct WorldNodeEnvironment {
  netcore::SimulatedNetwork& network;
  std::function<void(const server::ShardTransition&, std::uint32_t life)> trace;
  // Its engine failed, and its process is about to end.
  std::function<void(NodeId)> on_failing;
  // Leaves a node.
  std::function<void(const consensus::Message&, std::uint32_t life)> on_message;
  std::function<void(const SeenStep&)> on_step;
  std::function<void(NodeId from,
                     protocol::ConnectionId,
                     const protocol::ReplySlot&,
                     std::span<const std::byte> payload)>
      reply;
  // The node has another view; only in worlds whose nodes have any.
  std::function<void(NodeId, const SeenView&)> on_view;
};

class WorldNode final : private protocol::ReplySink, private server::NodeReports {
 public:
  WorldNode(const WorldOptions& options, NodeId id, WorldNodeEnvironment doors);
  ~WorldNode() override;

  NodeId id() const { return id_; }

  // Starts the process. A failure is why it did not open; it may be tried again.
  Status start(std::uint64_t now_us);

  // The process ends here and now, by a kill.
  void stop();

  bool running() const { return life_ != nullptr; }

  // Why the process ended by itself, once.
  std::optional<Status> take_failure();

  // One pass of the loop if there is anything to do at this time. Not while paused.
  void pass(std::uint64_t now_us);

  // A frame of a client, already read from its socket.
  void take_request(protocol::ConnectionId connection,
                    const protocol::RequestSlot& request,
                    std::span<const std::byte> payload);

  // Of the running process.
  server::HostReplicas& engine() { return *life_->engine; }

  // Of the running process, if it would answer reads of the shard by itself at this time of the
  // world: what it knows as committed there.
  std::optional<LogIndex> lease_of(ShardId shard, std::uint64_t now_us);

  // What the process knows: a sentence about its node, then one for each shard.
  std::vector<std::string> recovered() const;

  const server::LockService& service() const { return life_->service; }

  // What of the node, and of its shards, is not as this view of so many nodes wants it; else empty.
  std::string why_differs(const protocol::Member& wanted,
                          const protocol::ClusterView& view,
                          std::size_t nodes);

  server::NodeHistory& history() { return *life_->history; }

  // Tables as this node's begin, for whoever replays what they were told.
  locks::LockOptions lock_options() const;

  // Of the machine.
  WorldClock& clock() { return clock_; }

  WorldDisk& disk() { return *disk_; }

  // The process must have ended.
  std::unique_ptr<WorldDisk> swap_disk(std::unique_ptr<WorldDisk> disk);

  void set_disk_delay_ms(std::uint64_t delay_ms) { disk_delay_us_ = delay_ms * 1000; }

  // A fault of the device of the running process, numbered from now on.
  void inject_device(DeviceFaultPlan plan);

  // Steps of devices that were done again and came out the same, over all lives.
  std::uint64_t steps_checked() const;

  void set_paused(bool paused);

  bool paused() const { return paused_; }

  // How many processes there have been; part of their random numbers.
  std::uint32_t life_count() const { return life_count_; }

 private:
  struct Life {
    Life(const server::LockServiceOptions& options, protocol::ReplySink& replies)
        : service(options, replies, metrics) {}

    MetricsRegistry metrics;
    server::LockService service;
    // Only where a mistake is planted.
    std::unique_ptr<MutantStateMachine> mutant_service;
    std::unique_ptr<server::NodeHistory> history;
    std::unique_ptr<MemberViews> views;  // Only where nodes come and go.
    std::optional<server::RequestRouter> router;
    std::unique_ptr<ledger::Disk> mutant_identity;
    std::unique_ptr<ledger::Disk> mutant_log;
    std::unique_ptr<server::HostReplicas> engine;
    std::unique_ptr<MutantLog> mutant_port;
  };

  struct Request {
    protocol::ConnectionId connection;
    protocol::RequestSlot slot;
    std::vector<std::byte> payload;
  };

  void park(protocol::ConnectionId) override {}

  void unpark(protocol::ConnectionId) override {}

  void reply(protocol::ConnectionId connection,
             const protocol::ReplySlot& slot,
             std::span<const std::byte> payload) override;

  std::string node_status() const override { return "{}"; }

  std::string shard_list_begin(ShardId) const override { return "{\"rows\":["; }

  std::string shard_rows(const protocol::ShardRange&) const override { return "{}"; }

  std::string shard_show(ShardId) const override { return "{}"; }

  void start_views(Life& life);
  server::LockServiceOptions service_options() const;
  std::uint32_t turn_threads() const;
  server::ReplicaOptions engine_options();
  Result<std::unique_ptr<consensus::Stepper>> make_stepper(std::uint32_t rows, std::uint32_t slots);
  Result<std::unique_ptr<consensus::Stepper>> make_device_stepper(std::uint32_t rows,
                                                                  std::uint32_t slots);
  Status turn(std::size_t& done);
  void plant_mistakes(Life& life, server::ReplicaOptions& engine);
  server::StateMachine& open_services(Life& life, server::ReplicaOptions& engine);
  void serve_requests();
  bool due(std::uint64_t now_us) const;
  void advance_disk();
  void plan_wake(std::size_t done);

  const WorldOptions& options_;
  NodeId id_;
  WorldNodeEnvironment environment_;
  std::unique_ptr<WorldDisk> disk_ = std::make_unique<WorldDisk>();
  WorldClock clock_;
  std::unique_ptr<Life> life_;
  consensus::StepDevice* device_ = nullptr;  // That life's, if it has one.
  std::uint64_t steps_checked_ = 0;          // In the lives before.
  std::optional<Status> failure_;
  std::vector<Request> requests_;
  std::uint64_t now_us_ = 0;  // Of the world.
  std::uint64_t wake_us_ = 0;
  std::uint64_t disk_due_us_ = 0;  // When the disk has done what it was asked; 0: nothing asked.
  std::uint64_t disk_delay_us_ = 0;
  bool paused_ = false;
  std::uint32_t life_count_ = 0;
  std::uint32_t lane_ = 0;  // Of this life whose stepper is made next.
};

}  // namespace gcoord::chaos
