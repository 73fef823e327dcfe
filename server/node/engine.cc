#include "server/node/engine.h"

#include "server/host_turn/host_replicas.h"
#include "server/node/node_parts.h"
#include "server/platform/boot_time.h"
#include "server/platform/listen_probe.h"
#include "server/platform/system_random.h"
#include "server/resident/engine/resident_replicas.h"

#include <utility>

namespace gcoord::server {

namespace {

// What a device judges commands by are bits of the rights that the gate grants.
static_assert(kNeedsAcquire == security::bit_of(security::Right::LockAcquire));
static_assert(kNeedsBreak == security::bit_of(security::Right::LockBreak));
static_assert(kNeedsAdmin == security::bit_of(security::Right::LockAdmin));
static_assert(kNeedsLead == security::bit_of(security::Right::ElectLead));
static_assert(kNeedsGroup == security::bit_of(security::Right::GroupJoin));

Status probe_ports(const NodeOptions& options) {
  GCOORD_TRY_STATUS(probe_listen("listen-client", options.listen_client));
  GCOORD_TRY_STATUS(probe_listen("listen-peer", options.listen_peer));
  GCOORD_TRY_STATUS(probe_listen("listen-metrics", options.listen_metrics));
  return probe_listen("listen-ledger", options.listen_ledger);
}

CopyOptions copy_options(const NodeOptions& options, LockService& service) {
  const std::uint64_t tick_us = options.tick_ms * std::uint64_t{1000};
  const auto now = [&service, tick_us] {
    return Tick{service.now_us() / tick_us + 1};  // As ServiceClock's.
  };
  return {.tables = &service.locks(), .part_shards = part_shards(options), .now = now};
}

std::function<bool()> has(const EngineParts& parts, protocol::Feature feature) {
  return [nodes_have = parts.nodes_have, feature] { return nodes_have(feature); };
}

}  // namespace

Result<std::unique_ptr<ReplicatedLog>> open_engine(const NodeOptions& options, EngineParts parts) {
  parts.options.before_start = [&options] { return probe_ports(options); };
  std::unique_ptr<ReplicatedLog> engine;
  if (options.turn == TurnOption::Resident) {
    GCOORD_TRY(
        engine,
        ResidentReplicas::open({.engine = std::move(parts.options),
                                .locks_max = options.locks_max,
                                .index_seed = draw_random(),
                                .nodes_take_records = has(parts, protocol::Feature::SystemRecords),
                                .nodes_keep_ledgers = has(parts, protocol::Feature::DeviceLedger),
                                .sight = std::move(parts.sight),
                                .copy = copy_options(options, parts.service)},
                               parts.machine,
                               parts.metrics));
  } else {
    GCOORD_TRY(engine, HostReplicas::open(std::move(parts.options), parts.machine, parts.metrics));
  }
  return engine;
}

std::unique_ptr<VoteWatch> make_votes(const NodeOptions& options, MetricsRegistry& metrics) {
  return std::make_unique<VoteWatch>(VoteWatch::Options{.cluster = options.cluster,
                                                        .node = options.node,
                                                        .shard_count = options.shards,
                                                        .data_directory = options.data_dir},
                                     metrics);
}

void start_votes(VoteWatch& votes, const VoteSources& sources) {
  const auto key_of = [&ledger = sources.ledger](NodeId node) {
    const auto& keys = ledger.publication().keys();
    const auto found = keys.find(node);
    return found == keys.end() ? std::nullopt : std::optional<ledger::NotePublicKey>(found->second);
  };
  const auto takes = [&service = sources.service](NodeId node) {
    return service.has(node, protocol::Feature::VoteSignatures);
  };
  votes.start({.signer = sources.ledger.ledger().signer(),
               .key_of = key_of,
               .takes_statements = takes,
               .send =
                   [&engine = sources.engine](NodeId to, std::span<const std::byte> message) {
                     return engine.send_peer_message(to, message);
                   },
               .now_ms = [] { return boot_time_us() / 1000; },
               .life = sources.engine.incarnation()});
}

}  // namespace gcoord::server
