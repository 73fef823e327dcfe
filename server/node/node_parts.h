// Mapping of the node's options to the options of its parts, and the node's description of itself.
//
// Pure but for seeds, which are drawn, and for the time of a header. Any thread.
#pragma once

#include "common/host/metrics.h"
#include "ledger/snapshot/format.h"
#include "ledger/space/guard.h"
#include "protocol/hello.h"
#include "server/endpoints/frontend.h"
#include "server/history/history.h"
#include "server/history/node_ledger.h"
#include "server/interfaces/replicated_log.h"
#include "server/lock_service/lock_service.h"
#include "server/peers/device_links.h"
#include "server/replicas/options.h"
#include "server/start/node_start.h"
#include "server/tls/node_tls.h"

#include <asio/io_context.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace gcoord::server {

// The timing of elections in ticks, as the options give it in milliseconds. Two of the values have
// no option: the distance between the campaigns of voters, and the pause before a refused pre-vote
// is sent again. They are such that elections take as long whatever the length of a tick is
// (docs/adr/0147). The options have passed check_times. Pure.
consensus::Timing timing_of(const NodeOptions& options);

NodeHistoryOptions history_options(const NodeOptions& options, MetricsRegistry& metrics);
NodeLedgerOptions ledger_options(const NodeOptions& options);
// `space` outlives the service.
// How many neighbouring shards a part of the lock tables has, which a thread of its own follows; 0:
// the node's loop has all of them.
std::uint32_t part_shards(const NodeOptions& options);

LockServiceOptions service_options(const NodeOptions& options,
                                   const ledger::SpaceGuard& space,
                                   std::function<bool()> drains);
ReplicaOptions engine_options(const NodeStart& start);
// Where clients get shared memory; empty: nowhere.
std::string shm_path(const NodeOptions& options);

FrontEndOptions frontend_options(const NodeOptions& options, const PortTls& tls);

// Whom the node's certificate may name.
OwnNode own_node(const NodeStart& start);

// Front end of a node, and the TLS of its ports, which the front end reads. The loop's thread.
struct ClientPort {
  // Context and registry outlive it.
  ClientPort(asio::io_context& context, const NodeStart& start, MetricsRegistry& metrics)
      : tls(metrics, own_node(start)),
        frontend(context, frontend_options(start.options(), tls.client()), metrics) {
    tls.set_on_change([this](const auto& revokes) { frontend.cut_revoked(revokes); });
  }

  ClientPort(const ClientPort&) = delete;
  ClientPort& operator=(const ClientPort&) = delete;

  NodeTls tls;
  FrontEnd frontend;
};

// Gives the service the device that the engine steps on, if there is one (device_sweeps.h). Beside
// a turn that stays on its device nothing else comes to run there (docs/adr/0030), so with that the
// service goes on without.
Status start_sweeps(const NodeOptions& options, const ReplicatedLog& engine, LockService& service);

// Gauges of settings that alerts compare with: the durability mode, and the number of shards.
void tell_settings(const NodeOptions& options, MetricsRegistry& metrics);

// To clients: `client_port` is where the node listens, unless it advertises another.
protocol::Welcome make_welcome(const NodeOptions& options, std::uint16_t client_port);

// Where clients reach this node by its own options, whatever a view says of it.
std::string own_address(const NodeOptions& options, std::uint16_t client_port);

// By what way shards' messages go from device to device, or that they do not.
std::string link_text(const ReplicatedLog& engine, const DeviceLinks& links, NodeId peer);

// What a snapshot begins with that is made now.
ledger::SnapshotHeader make_header(const NodeOptions& options, const ReplicatedLog& engine);

}  // namespace gcoord::server
