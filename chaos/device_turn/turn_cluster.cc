#include "chaos/device_turn/turn_cluster.h"

#include "server/device_turn/loop.h"
#include "server/device_turn/range_arena.h"

#include <algorithm>
#include <span>
#include <type_traits>
#include <utility>

namespace gcoord::chaos {
namespace {

using netcore::Band;
using netcore::GpuChannel;
using netcore::GpuChannelOptions;
using netcore::MemoryKind;

constexpr std::uint32_t kEpoch = 1;

// The place of a node among the peers of another.
constexpr std::uint32_t place_of(std::uint32_t node, std::uint32_t peer) {
  return peer < node ? peer : peer - 1;
}

std::size_t service_bytes(const server::TurnShape& shape) {
  return ColumnArena::bytes_for<CountedRow>(shape.shard_count) +
         ColumnArena::bytes_for<TimedFeed>(1) +
         ColumnArena::bytes_for<std::uint32_t>(kTimedSamples);
}

GpuChannelOptions channel_options(Band band, std::uint32_t lanes, std::uint32_t ring_slots) {
  GpuChannelOptions options;
  options.layout.band[static_cast<std::size_t>(band)] = {lanes, ring_slots, 0};
  options.epoch = kEpoch;
  return options;
}

// Carves nothing and adds up.
struct ByteCount {
  std::size_t bytes = 0;

  template <typename T>
  T* column(std::size_t count) {
    bytes += ColumnArena::bytes_for<T>(count);
    return nullptr;
  }
};

void add(server::StripeCounts& sum, const server::StripeCounts& one) {
  sum.turns += one.turns;
  sum.intake_ns += one.intake_ns;
  sum.step_ns += one.step_ns;
  sum.send_ns += one.send_ns;
  sum.steps += one.steps;
  sum.stalled += one.stalled;
  sum.dropped += one.dropped;
  sum.unsent += one.unsent;
  sum.lost += one.lost;
  sum.applied += one.applied;
  sum.requests += one.requests;
  sum.replies += one.replies;
  sum.held += one.held;
  sum.unreplied += one.unreplied;
  sum.led += one.led;
  sum.elected_ns = std::max(sum.elected_ns, one.elected_ns);
}

}  // namespace

TurnCluster::~TurnCluster() = default;

Result<std::unique_ptr<TurnCluster>> TurnCluster::make(
    const TurnClusterOptions& options,
    std::vector<std::unique_ptr<netcore::MemorySource>> memory,
    std::span<const int> devices) {
  std::unique_ptr<TurnCluster> cluster{new TurnCluster(options)};
  const std::uint32_t nodes = cluster->node_count();
  GCOORD_ASSERT(memory.size() == nodes && devices.size() == nodes);
  for (std::uint32_t n = 0; n < nodes; ++n) {
    cluster->nodes_.push_back(std::make_unique<Node>());
    cluster->nodes_[n]->registry = std::make_unique<netcore::MemoryRegistry>(std::move(memory[n]));
    GCOORD_TRY_STATUS(cluster->carve(n));
    if (options.hash_blocks != 0) {
      GCOORD_TRY_STATUS(cluster->carve_trees(n));
    }
    if (options.clients) {
      GCOORD_TRY_STATUS(cluster->open_clients(n));
    }
  }
  for (std::uint32_t n = 1; n < nodes; ++n) {
    for (std::uint32_t other = 0; other < n; ++other) {
      GCOORD_TRY_STATUS(cluster->join(n, other, devices[n] == devices[other]));
    }
  }
  return cluster;
}

Status TurnCluster::carve(std::uint32_t n) {
  Node& node = *nodes_[n];
  const server::TurnShape& shape = options_.shape;
  const std::size_t bytes = server::turn_node_bytes<CountingService>(shape) + service_bytes(shape);
  GCOORD_TRY(const netcore::MemoryRange range, node.registry->allocate(MemoryKind::Private, bytes));
  server::RangeArena arena(range);
  node.view = server::carve_turn_node<CountingService>(arena, shape);
  node.view.self = NodeId{n + 1};
  CountingService& service = node.view.service;
  service.rows = arena.column<CountedRow>(shape.shard_count);
  service.timed = arena.column<TimedFeed>(1);
  service.sample_ns = arena.column<std::uint32_t>(kTimedSamples);
  service.timed_row = options_.timed_row;
  service.seed = mix64(options_.seed + n);
  node.pages = std::make_unique<server::PagePool<CountingService>>(*node.registry);
  const std::uint32_t pages = options_.stripe_pages;
  return node.pages->open(node.view, pages != 0 ? pages : server::stripe_rows(shape));
}

Status TurnCluster::carve_trees(std::uint32_t n) {
  Node& node = *nodes_[n];
  const std::uint32_t shards = options_.shape.shard_count;
  const auto place = [&](auto& arena) {
    auto follower =
        ledger::carve_follower(arena, shards, options_.tree_levels, options_.hash_blocks);
    node.view.trees.decided = arena.template column<std::uint64_t>(shards);
    node.hash_end = arena.template column<std::uint64_t>(1);
    node.hash_taken = arena.template column<std::uint32_t>(1);
    return follower;
  };
  ByteCount sum;
  place(sum);
  GCOORD_TRY(const netcore::MemoryRange range,
             node.registry->allocate(MemoryKind::Private, sum.bytes));
  server::RangeArena arena(range);
  node.follower = place(arena);
  node.view.trees.hashed = node.follower.table.size;
  return {};
}

Status TurnCluster::join(std::uint32_t one, std::uint32_t other, bool same_device) {
  const auto options =
      channel_options(Band::Consensus, options_.shape.stripe_count, options_.ring_slots);
  const std::uint32_t ends[2] = {one, other};
  std::unique_ptr<GpuChannel>* channel[2];
  for (std::uint32_t k = 0; k < 2; ++k) {
    Node& node = *nodes_[ends[k]];
    channel[k] = &node.channel[place_of(ends[k], ends[1 - k])];
    GCOORD_TRY(*channel[k], GpuChannel::create(*node.registry, options));
  }
  for (std::uint32_t k = 0; k < 2; ++k) {
    Node& node = *nodes_[ends[k]];
    const netcore::MemoryRange& far = (*channel[1 - k])->region();
    if (same_device) {
      (*channel[k])->attach(far, false);
    } else {
      GCOORD_TRY(const auto mapped,
                 node.registry->import(far.fd, netcore::region_bytes(options.layout)));
      (*channel[k])->attach(mapped, true);
    }
  }
  for (std::uint32_t k = 0; k < 2; ++k) {
    const std::uint32_t place = place_of(ends[k], ends[1 - k]);
    CountingNode& view = nodes_[ends[k]]->view;
    view.peer[place] = NodeId{ends[1 - k] + 1};
    view.channel[place] = (*channel[k])->device();
  }
  return {};
}

Status TurnCluster::open_clients(std::uint32_t n) {
  Node& node = *nodes_[n];
  auto options = channel_options(Band::Rpc, options_.shape.stripe_count, options_.client_slots);
  options.region_kind = MemoryKind::Pinned;
  GCOORD_TRY(node.client_device, GpuChannel::create(*node.registry, options));
  options.private_kind = MemoryKind::Pinned;
  GCOORD_TRY(node.client_host, GpuChannel::create(*node.registry, options));
  node.client_device->attach(node.client_host->region(), false);
  node.client_host->attach(node.client_device->region(), false);
  node.view.client = node.client_device->device();
  return {};
}

server::TurnTiming TurnCluster::timing(std::uint32_t n) const {
  server::TurnTiming timing = options_.timing;
  timing.seed = mix64(options_.seed * node_count() + n);
  return timing;
}

CountedLog TurnCluster::counted_log(std::uint32_t n) const {
  const Node& node = *nodes_[n];
  return {node.view.pages, node.view.trees, node.hash_end};
}

netcore::GpuChannelDevice TurnCluster::client(std::uint32_t n) const {
  return nodes_[n]->client_host->device();
}

Status TurnCluster::resize_pages(std::uint32_t n, std::uint32_t stripe_pages) {
  return nodes_[n]->pages->resize(nodes_[n]->view, stripe_pages);
}

Result<server::PageCounts> TurnCluster::page_counts(std::uint32_t n) {
  return nodes_[n]->pages->counts(node(n));
}

Status TurnCluster::store(std::uint32_t n, std::uint64_t& word, std::uint64_t value) {
  return nodes_[n]->registry->source().store_word(&word, value);
}

Status TurnCluster::order(std::uint32_t n, std::uint64_t word) {
  GCOORD_TRY_STATUS(store(n, node(n).control->order, word));
  return wake(n);
}

Status TurnCluster::feed(std::uint32_t n, std::uint32_t batch) {
  return order(n, feed_order(batch, 0));
}

Status TurnCluster::time_commands(std::uint32_t n, std::uint32_t samples) {
  return order(n, feed_order(0, samples));
}

Status TurnCluster::wake(std::uint32_t n) {
  return store(n, node(n).control->wakes, ++nodes_[n]->wakes);
}

Status TurnCluster::abort(std::uint32_t n) {
  return store(n, node(n).control->abort, 1);
}

Status TurnCluster::end_hashing(std::uint32_t n) {
  return store(n, *nodes_[n]->hash_end, 1);
}

template <typename T>
Result<std::vector<T>> TurnCluster::copy(std::uint32_t n, const T* from, std::size_t count) {
  std::vector<T> values(count);
  GCOORD_TRY_STATUS(nodes_[n]->registry->source().read(std::as_writable_bytes(std::span<T>{values}),
                                                       reinterpret_cast<const std::byte*>(from)));
  return values;
}

Result<NodeCounts> TurnCluster::counts(std::uint32_t n) {
  NodeCounts counts;
  GCOORD_TRY(const auto stripes, copy(n, node(n).stripe, options_.shape.stripe_count));
  for (const server::StripeState& stripe : stripes) {
    add(counts.sum, stripe.counts);
  }
  GCOORD_TRY(const auto clock, copy(n, node(n).clock_state, 1));
  counts.readings = clock.front().readings;
  std::copy_n(clock.front().lost_ns, server::kTurnPeersMax, counts.lost_ns);
  return counts;
}

Result<std::vector<CountedRow>> TurnCluster::service_rows(std::uint32_t n) {
  return copy(n, node(n).service.rows, options_.shape.shard_count);
}

Result<std::vector<LogIndex>> TurnCluster::applied(std::uint32_t n) {
  return copy(n, node(n).applied, options_.shape.shard_count);
}

Result<std::vector<std::uint32_t>> TurnCluster::samples(std::uint32_t n) {
  GCOORD_TRY(const auto timed, copy(n, node(n).service.timed, 1));
  const auto count = std::min<std::uint64_t>(timed.front().sampled, kTimedSamples);
  return copy(n, node(n).service.sample_ns, count);
}

Result<std::uint32_t> TurnCluster::blocks_begun(std::uint32_t n) {
  GCOORD_TRY(const auto taken, copy<std::uint32_t>(n, nodes_[n]->hash_taken, 1));
  return taken.front();
}

Result<std::vector<std::uint64_t>> TurnCluster::decided(std::uint32_t n) {
  return copy(n, node(n).trees.decided, options_.shape.shard_count);
}

Result<std::vector<std::uint64_t>> TurnCluster::hashed(std::uint32_t n) {
  return copy(n, node(n).trees.hashed, options_.shape.shard_count);
}

Result<std::vector<Sha256Words>> TurnCluster::roots(std::uint32_t n) {
  return copy(n, follower(n).root, options_.shape.shard_count);
}

Result<ledger::FollowCounts> TurnCluster::follow_counts(std::uint32_t n) {
  GCOORD_TRY(const auto blocks, copy(n, follower(n).counts, options_.hash_blocks));
  ledger::FollowCounts sum;
  for (const ledger::FollowCounts& one : blocks) {
    sum.passes += one.passes;
    sum.chunks += one.chunks;
    sum.leaves += one.leaves;
    sum.nodes += one.nodes;
    sum.busy_ns += one.busy_ns;
    sum.life_ns += one.life_ns;
  }
  return sum;
}

std::size_t TurnCluster::memory_bytes(std::uint32_t n) const {
  return nodes_[n]->registry->bytes_of(MemoryKind::Private) +
         nodes_[n]->registry->bytes_of(MemoryKind::Shared);
}

namespace {

template <typename Service>
void start_rows(const server::TurnNode<Service>& node) {
  for (std::uint32_t stripe = 0; stripe < node.shape.stripe_count; ++stripe) {
    server::start_stripe(node, stripe);
  }
}

// A node by the code for so many voters.
using ServiceOfFive = server::ServiceOfVoters<CountingService, 5>;
using ServiceOfSeven = server::ServiceOfVoters<CountingService, 7>;

template <typename Service>
server::TurnNode<Service> node_for(const CountingNode& node) {
  if constexpr (std::is_same_v<Service, CountingService>) {
    return node;
  } else {
    return server::as_node_of<server::kVotersOf<Service>>(node);
  }
}

}  // namespace

Result<std::unique_ptr<TurnCluster>> make_host_turn_cluster(const TurnClusterOptions& options) {
  std::vector<std::unique_ptr<netcore::MemorySource>> memory;
  for (std::uint32_t n = 0; n < options.shape.voters; ++n) {
    memory.push_back(netcore::make_host_memory());
  }
  const std::vector<int> devices(options.shape.voters);
  GCOORD_TRY(auto cluster, TurnCluster::make(options, std::move(memory), devices));
  for (std::uint32_t n = 0; n < cluster->node_count(); ++n) {
    const CountingNode& node = cluster->node(n);
    switch (cluster->node_count()) {
      case 5:
        start_rows(node_for<ServiceOfFive>(node));
        break;
      case 7:
        start_rows(node_for<ServiceOfSeven>(node));
        break;
      default:
        start_rows(node);
    }
  }
  return cluster;
}

struct HostNode::Stripes {
  virtual ~Stripes() = default;
  virtual bool turn(std::uint64_t now_ns) = 0;
};

template <typename Service>
struct HostNode::StripesOf final : HostNode::Stripes {
  StripesOf(TurnCluster& cluster, std::uint32_t n)
      : node(node_for<Service>(cluster.node(n))), clock(node, cluster.timing(n)) {
    desks.resize(node.shape.stripe_count);
    stripes.reserve(node.shape.stripe_count);
    for (std::uint32_t stripe = 0; stripe < node.shape.stripe_count; ++stripe) {
      desks[stripe] = std::make_unique<server::WorkspaceFor<Service>>();
      stripes.emplace_back(node, stripe, *desks[stripe]);
    }
  }

  // What the stripes know rests in the cluster, for counts and for the next host node.
  ~StripesOf() override {
    for (auto& stripe : stripes) {
      stripe.close();
    }
  }

  bool turn(std::uint64_t now_ns) override {
    clock.read(now_ns);
    bool any = false;
    for (auto& stripe : stripes) {
      any = stripe.turn() || any;
    }
    return any;
  }

  const server::TurnNode<Service> node;
  server::NodeClock<Service> clock;
  std::vector<std::unique_ptr<server::WorkspaceFor<Service>>> desks;
  std::vector<server::TurnStripe<Service>> stripes;
};

HostNode::HostNode(TurnCluster& cluster, std::uint32_t n) {
  switch (cluster.node_count()) {
    case 5:
      stripes_ = std::make_unique<StripesOf<ServiceOfFive>>(cluster, n);
      break;
    case 7:
      stripes_ = std::make_unique<StripesOf<ServiceOfSeven>>(cluster, n);
      break;
    default:
      stripes_ = std::make_unique<StripesOf<CountingService>>(cluster, n);
  }
}

HostNode::~HostNode() = default;

bool HostNode::turn(std::uint64_t now_ns) {
  return stripes_->turn(now_ns);
}

std::uint64_t hash_on_host(TurnCluster& cluster, std::uint32_t n, bool all) {
  const ledger::MerkleFollower& follower = cluster.follower(n);
  const auto shared = std::make_unique<ledger::FollowBlock>();
  std::uint64_t added = 0;
  std::uint32_t visits = 0;
  for (std::uint32_t block = 0; block < follower.block_count; ++block) {
    shared->counts = follower.counts[block];
    shared->pressed = 0;
    added += ledger::follow_pass(follower, cluster.counted_log(n), block, all, visits, *shared);
    follower.counts[block] = shared->counts;
  }
  return added;
}

void fold_on_host(TurnCluster& cluster, std::uint32_t n) {
  const ledger::MerkleFollower& follower = cluster.follower(n);
  for (std::uint32_t shard = 0; shard < follower.table.shard_count; ++shard) {
    follower.root[shard] = ledger::root_words(follower.table, shard);
  }
}

}  // namespace gcoord::chaos
