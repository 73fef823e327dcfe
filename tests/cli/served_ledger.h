// A ledger in memory behind a real HTTP port, for tests of what reads ledgers.
#pragma once

#include "cli/ledger/source.h"
#include "common/host/metrics.h"
#include "server/endpoints/ledger_endpoint.h"
#include "tests/server/endpoints/fake_ledger.h"

#include <chrono>
#include <memory>
#include <string>

namespace gcoord::cli {

struct ServedLedger {
  server::FakeLedger ledger;
  MetricsRegistry metrics;
  std::unique_ptr<server::LedgerEndpoint> endpoint;

  explicit ServedLedger(std::uint32_t shards)
      : ledger(shards),
        endpoint(server::LedgerEndpoint::open("127.0.0.1:0", ledger, {metrics}).value()) {}

  std::string url() const { return "http://127.0.0.1:" + std::to_string(endpoint->port()); }

  // The timeout only bounds a failure.
  LedgerAddress place() const { return {.ledger = url(), .timeout = std::chrono::seconds{30}}; }

  ProofTrust trust(std::size_t quorum = 2) const {
    ProofTrust trust{.keys = {}, .quorum = quorum, .origin = "gcoord/77"};
    for (const ledger::NoteSigner& signer : ledger.signers()) {
      trust.keys.push_back(signer.key());
    }
    return trust;
  }
};

}  // namespace gcoord::cli
