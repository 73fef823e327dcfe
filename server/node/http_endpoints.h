// The HTTP ports of a node, each only if its option names an address: metrics with health, and the
// ledger.
//
//   --listen-metrics  /metrics, /livez, /readyz, /debug/...
//   --listen-ledger   the ledger (ledger_pages.h)
//
// Both have threads of their own and read what outlives this: the registry, the health, the ledger
// and the texts of the process. One thread opens, asks and ends it.
#pragma once

#include "common/host/metrics.h"
#include "common/ids.h"
#include "common/status.h"
#include "server/debug/pages.h"
#include "server/endpoints/ledger_endpoint.h"
#include "server/gate/http_gate.h"
#include "server/gpu/sampler.h"
#include "server/http/server.h"
#include "server/interfaces/ledger_view.h"
#include "server/node/health.h"
#include "server/options/options.h"
#include "server/platform/endpoint_name.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace gcoord::server {

class HttpEndpoints {
 public:
  // What is referred to outlives the endpoints.
  struct Pages {
    const NodeHealth& health;
    const LedgerView& ledger;
    MetricsRegistry& metrics;
    GpuSampler* gpus = nullptr;  // nullptr: the node has no GPU to show.
    Incarnation incarnation = {};
    const PortTls* tls = nullptr;  // As HttpServerOptions::tls.
  };

  // The registry outlives it.
  HttpEndpoints(ProcessTexts texts, MetricsRegistry& metrics)
      : texts_(std::move(texts)), gate_(metrics, unix_seconds) {}

  ~HttpEndpoints();  // Waits for no page that takes its time.
  HttpEndpoints(const HttpEndpoints&) = delete;
  HttpEndpoints& operator=(const HttpEndpoints&) = delete;

  // Once. ListenFailed: an address cannot be bound.
  Status open(const NodeOptions& options, const Pages& pages);

  // Who may have which page; to be kept up to date by the node's loop.
  HttpGate& gate() { return gate_; }

  // The port that is listened on; 0 if it is off, and before open().
  std::uint16_t metrics_port() const;
  std::uint16_t ledger_port() const;

  // "HOST:PORT" of the metrics, with the host as the option has it; empty if they are off.
  std::string metrics_address() const;

 private:
  static std::uint64_t unix_seconds();

  const ProcessTexts texts_;
  HttpGate gate_;  // The servers' handlers call it.
  Endpoint metrics_listen_;
  std::unique_ptr<DebugPages> debug_;  // The server's handlers call it.
  std::unique_ptr<HttpServer> metrics_;
  std::unique_ptr<LedgerEndpoint> ledger_;
};

}  // namespace gcoord::server
