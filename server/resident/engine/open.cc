// How a resident engine comes to life: options, directory, memory, network, and then its peers.
#include "protocol/hello.h"
#include "server/interfaces/errors.h"
#include "server/platform/boot_time.h"
#include "server/platform/operator_log.h"
#include "server/platform/system_random.h"
#include "server/resident/engine/resident_replicas.h"
#include "server/resident/engine/shape.h"
#include "server/resident/node/device.h"
#include "server/resident/node/image.h"
#include "server/resident/stored/turn_mark.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

constexpr std::uint64_t kHeartbeatMs = 200;

static_assert([] {
  bool same = true;
  for (std::size_t nodes = 0; nodes <= kTurnNodesMax + 1; ++nodes) {
    same &= has_resident_turn(nodes) == has_turn_of(nodes);
  }
  return same;
}());

// What entries use that nodes of before would read as something else.
constexpr auto kRecords = static_cast<std::uint64_t>(protocol::Feature::SystemRecords);
constexpr auto kStamps = static_cast<std::uint64_t>(protocol::Feature::DeviceLedger);

Status not_served(const std::string& what) {
  return protocol::make_error(protocol::ErrorCode::OptionInvalid, "--turn resident " + what);
}

Status check(const ReplicaOptions& options) {
  const std::size_t nodes = options.peers.size() + 1;
  if (!has_turn_of(nodes)) {
    return not_served("serves clusters of 3, 5 or 7 nodes, and this one has " +
                      std::to_string(nodes));
  }
  GCOORD_TRY_STATUS(initial_configuration(options).status());
  const bool fixed = options.listen_port != 0 &&
                     std::all_of(options.peers.begin(), options.peers.end(), [](const auto& peer) {
                       return peer.port != 0;
                     });
  if (!fixed) {
    return not_served("needs fixed peer ports, because nodes find each other by them");
  }
  return {};
}

ResidentNames names_of(const ReplicaOptions& options) {
  std::vector<NodeId> ids{options.node};
  std::ranges::transform(options.peers, std::back_inserter(ids), &netcore::PeerAddress::id);
  return ResidentNames(std::span<const NodeId>(ids));
}

LockTurnSizes sizes_of(std::uint32_t locks_max, const TurnShape& shape) {
  // Twice an even share: names spread over stripes as their hashes do.
  constexpr std::uint32_t kLeast = 1u << 12;
  const std::uint32_t locks = std::min(locks_max, kResidentLocksMax);
  const std::uint32_t share = locks / shape.stripe_count;
  const std::uint32_t kept = room_kept(shape.voters, true);
  const std::uint32_t each = std::bit_ceil(std::max({kLeast, 2 * share, share + kept}));
  return {.locks = each, .sessions = each, .requests = 2 * each, .name_blocks = 4 * each};
}

LinkHello hello_of(const ResidentNodeOptions& node) {
  return own_link_hello(node.shape, node.ring_slots, protocol::kFeatures);
}

bool keeps_log(const ReplicaOptions& options) {
  return options.durability == consensus::Durability::Durable;
}

TurnTiming timing_of(const ReplicaOptions& options, Incarnation incarnation, bool has_promised) {
  TurnTiming timing;
  timing.stored_at_once = keeps_log(options) ? 0 : 1;
  // Promises from before the restart bind for one election timeout more; ticks begin with 1.
  timing.vote_after = has_promised ? Tick{1 + options.timing.election_ticks} : Tick{};
  timing.tick_ns = std::uint64_t{options.tick_ms} * 1'000'000;
  timing.heartbeat_ticks = options.timing.resend_ticks;
  timing.timing = options.timing;
  timing.limits = {.window_entries = 64, .uncommitted_entries = 64, .message_entries = 16};
  timing.incarnation = incarnation;
  timing.seed = options.seed;
  timing.durability = options.durability;
  timing.host_patience_ns = host_patience_ms(options) * 1'000'000;
  return timing;
}

// None: no trace.
std::shared_ptr<TurnSightings> sightings_of(const ResidentReplicasOptions& options,
                                            const StateMachine& service) {
  if (!options.sight) {
    return nullptr;
  }
  const std::uint64_t tick_us = std::uint64_t{options.engine.tick_ms} * 1000;
  return std::make_shared<TurnSightings>(TurnSightings::Options{
      .node = options.engine.node,
      .shard_count = options.engine.shard_count,
      .now = [clock_us = options.engine.clock_us, tick_us] { return Tick{clock_us() / tick_us}; },
      .hash_of = [&service](ShardId shard) { return service.device_hash(shard); },
      .write = options.sight});
}

}  // namespace

Result<std::unique_ptr<ResidentReplicas>> ResidentReplicas::open(ResidentReplicasOptions options,
                                                                 StateMachine& service,
                                                                 MetricsRegistry& metrics) {
  GCOORD_TRY_STATUS(check(options.engine));
  if (!options.engine.clock_us) {
    options.engine.clock_us = [] { return boot_time_us(); };
  }
  options.engine.seed = options.engine.seed != 0 ? options.engine.seed : draw_random();
  options.engine.resident_entries = true;
  std::unique_ptr<ResidentReplicas> engine(
      new ResidentReplicas(std::move(options), service, metrics));
  const bool durable = keeps_log(engine->options_.engine);
  if (!durable) {
    GCOORD_TRY_STATUS(engine->open_directory());
  }
  GCOORD_TRY_STATUS(engine->open_node());
  GCOORD_TRY_STATUS(
      explain_device(durable ? engine->open_storage(metrics) : engine->open_memory_rows()));
  if (engine->has_promised_) {
    GCOORD_TRY_STATUS(
        explain_device(stand_in_for(*engine->device_.node, engine->options_.engine.peers)));
  }
  log_info(LogComponent::Gpu,
           "a shard at rest takes {} bytes of the turn's memory; log pages are taken on demand",
           engine->device_.node->pools().idle_shard_bytes());
  engine->device_.node->set_timing(
      timing_of(engine->options_.engine, engine->incarnation(), engine->has_promised_));
  GCOORD_TRY_STATUS(engine->open_network(metrics));
  return engine;
}

Status ResidentReplicas::open_directory() {
  const ReplicaOptions& options = options_.engine;
  const ledger::NodeIdentity identity{options.cluster, options.node, options.shard_count, false};
  GCOORD_TRY(
      directory_,
      ledger::DataDirectory::open(
          {options.data_directory, identity, options.seed, options.before_start, options.space}));
  identity_ = &directory_->identity();
  has_promised_ = identity_->in_use() || identity_->rejoining();
  return options.on_directory ? options.on_directory() : Status{};
}

// What the rows of an earlier life promised ended with it.
Status ResidentReplicas::open_memory_rows() {
  if (!has_promised_) {
    return {};
  }
  rows_->begin_forgotten();
  return device_.node->restore(
      [](const ResidentView& view) { start_rows(view, RowMemory::Forgotten); });
}

// Rows, log pages and lock tables as storage has them.
Status ResidentReplicas::open_storage(MetricsRegistry& metrics) {
  GCOORD_TRY(storage_,
             ResidentStorage::open(options_.engine, *rows_, *requests_, service_, metrics));
  identity_ = &storage_->identity();
  set_checkpoint_source(*storage_);
  Status filled;
  GCOORD_TRY_STATUS(device_.node->restore(
      [this, &filled](const ResidentView& view) { filled = storage_->fill(view); }));
  has_promised_ = storage_->has_promised();
  return filled;
}

Status ResidentReplicas::open_node() {
  ResidentDeviceOptions options;
  options.device = options_.engine.device;
  options.fault = options_.engine.device_fault;
  options.make_memory = options_.engine.make_memory;
  options.node.self = options_.engine.node;
  options.node.names = names_of(options_.engine);
  options.node.shape = resident_shape(options_.engine);
  options.node.sizes = sizes_of(options_.locks_max, options.node.shape);
  options.node.index_seed = options_.index_seed;
  GCOORD_TRY(device_, open_resident_device(options));
  requests_ = std::make_unique<ResidentRequests>(*device_.node);
  rows_ = std::make_unique<ResidentRows>(*device_.node, service_, *requests_);
  return {};
}

Status ResidentReplicas::open_network(MetricsRegistry& metrics) {
  ReplicaOptions& options = options_.engine;
  // As HostReplicas's, but that no node with another turn is accepted (engine_admission.cc).
  const netcore::AgreedSettings settings{options.shard_count,
                                         options.tick_ms,
                                         options.timing.election_ticks * options.tick_ms,
                                         static_cast<std::uint32_t>(options.peers.size() + 1),
                                         resident_setting(is_durable(), options.turn_stripes)};
  admission_ = std::make_unique<PeerAdmission>(
      *identity_, options.peers, settings, [this](const Status& status) { fail(status); });
  members_ = std::make_unique<ResidentMembers>(*identity_, options);
  netcore::PeerNetworkOptions network;
  network.cluster = options.cluster;
  network.node = options.node;
  network.incarnation = incarnation();
  network.directory = netcore::DirectoryId{identity_->directory_id()};
  network.durable = durable_word();
  network.life = draw_random();
  network.settings = settings;
  network.listen_host = options.listen_host;
  network.listen_port = options.listen_port;
  network.peers = options.peers;
  network.transport_kind = options.transport_kind;
  network.transport = std::move(options.transport);
  network.proof = std::move(options.proof);
  network.tls = options.peer_tls;
  network.admit = [this](const netcore::PeerIdentity& peer) {
    netcore::Admission judged = members_->judge(peer, now_ms());
    netcore::PeerIdentity known = peer;
    known.is_proven = peer.is_proven || members_->vouches_for(peer);
    return judged.admitted() ? admission_->admit(known) : judged;
  };
  network.metrics = &metrics;
  GCOORD_TRY(network_, netcore::PeerNetwork::create(std::move(network)));
  heartbeats_ = std::make_unique<Heartbeats>(incarnation(), options.peers, kHeartbeatMs);
  return open_links(metrics);
}

Status ResidentReplicas::open_links(MetricsRegistry& metrics) {
  const ReplicaOptions& options = options_.engine;
  const ResidentDeviceFacts& facts = device_.facts;
  std::vector<NodeId> ids;
  for (const netcore::PeerAddress& peer : options.peers) {
    ids.push_back(peer.id);
  }
  LinkKeeper::Options links{.cluster = options.cluster,
                            .self = options.node,
                            .wish = options.resident_peers,
                            .hello = hello_of(device_.node->options()),
                            .peers = options.peers,
                            .proxy_silence_ms = proxy_silence_ms(options),
                            .tick_ms = options.tick_ms,
                            .on_gpu = facts.on_gpu()};
  auto folder = find_socket_folder(options.data_directory);
  if (folder.ok()) {
    links.place.folder = std::move(folder).value();
  } else {
    log_warning("no peer can map this node's memory: {}", folder.status().to_string());
  }
  GCOORD_TRY(
      links.place.facts,
      netcore::own_gpu_node_facts(facts.on_gpu() ? std::optional{facts.index} : std::nullopt));
  states_ = std::make_unique<ResidentStates>(
      ids, *rows_, service_, [this](NodeId to, std::span<const std::byte> message) {
        send_peer_message(to, message);
      });
  events_ = std::make_unique<EventDrain>(
      EventDrain::Environment{.node = *device_.node,
                              .requests = *requests_,
                              .rows = *rows_,
                              .storage = storage_.get(),
                              .now_ms = [this] { return now_ms(); },
                              .copy = options_.copy,
                              .sightings = sightings_of(options_, service_)});
  links_ = std::make_unique<LinkKeeper>(
      std::move(links),
      LinkKeeper::Environment{
          .node = *device_.node,
          .network = *network_,
          .registry = metrics,
          .now_ms = [this] { return now_ms(); },
          .disk_stands_still = [this] { return disk_stands_still(now_ms()); },
          .features_used =
              [this] {
                const ResidentRowCounts& counts = rows_->counts();
                return (counts.recorded != 0 ? kRecords : 0) | (counts.stamped != 0 ? kStamps : 0);
              },
          .while_quiesced =
              [this](const std::function<Status()>& work) { return while_quiesced(work); },
          .fail = [this](const Status& status) { fail(status); }});
  return {};
}

}  // namespace gcoord::server
