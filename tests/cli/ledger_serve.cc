// Serves a ledger in memory over HTTP until standard input ends, for tests in other languages.
//
// usage: ledger-serve SHARDS ENTRIES [PORT]
// Shard k has k * ENTRIES entries, so that shard 0 has none. Prints one JSON object: url and keys.
#include "server/endpoints/ledger_endpoint.h"
#include "tests/server/endpoints/fake_ledger.h"

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <iostream>
#include <string>

int main(int count, char** words) {
  using namespace gcoord;  // NOLINT: a program of its own.
  if (count < 3) {
    std::cerr << "usage: ledger-serve SHARDS ENTRIES [PORT]\n";
    return 2;
  }
  const auto shards = static_cast<std::uint32_t>(std::strtoul(words[1], nullptr, 10));
  const std::size_t entries = std::strtoull(words[2], nullptr, 10);
  server::FakeLedger ledger(shards);
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    ledger.append(shard, shard * entries);
  }
  ledger.publish();
  MetricsRegistry metrics;
  const std::string port = count > 3 ? words[3] : "0";
  const auto endpoint = server::LedgerEndpoint::open("127.0.0.1:" + port, ledger, {metrics});
  if (!endpoint.ok()) {
    std::cerr << endpoint.status().to_string() << "\n";
    return 1;
  }
  std::cout << nlohmann::json{{"url",
                               "http://127.0.0.1:" + std::to_string(endpoint.value()->port())},
                              {"keys", ledger.keys()}}
                   .dump()
            << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
  }
  return 0;
}
