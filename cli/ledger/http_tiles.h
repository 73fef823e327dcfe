// The files of a log as a node serves them over HTTP (server/endpoints/ledger_endpoint.h).
//
// Connections are kept and used again for the next file (common/http/client.h); the bytes are not
// trusted but checked (ledger/tiles/tile_reader.h). Thread-safe.
#pragma once

#include "common/http/client.h"
#include "ledger/tiles/tile_source.h"

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace gcoord::cli {

// "http://HOST:PORT" or "http://HOST:PORT/PREFIX", and the same with https.
struct HttpAddress {
  std::string host;
  std::string port;
  std::string prefix;  // "" or "/PREFIX", without a '/' at its end.
  HttpTls tls{};       // Enabled: https.
};

// OptionInvalid for anything else. Of TLS it says whether, not with which files.
Result<HttpAddress> parse_http_place(const std::string& url);

// The address's own scheme with the files that the user gave.
inline HttpTls with_files(const HttpTls& of_address, HttpTls files) {
  files.enabled = of_address.enabled;
  return files;
}

// Connections to one server that nobody uses now: as many as threads had one at once. Thread-safe.
class HttpConnections {
 public:
  // A connection of the caller's own; opened by its first request.
  std::unique_ptr<HttpClient> take(const HttpAddress& place);
  void give(std::unique_ptr<HttpClient> client);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<HttpClient>> idle_;
};

class HttpTiles final : public ledger::TileSource {
 public:
  // `connections` are to the place's server.
  HttpTiles(HttpAddress place,
            std::chrono::milliseconds timeout,
            std::shared_ptr<HttpConnections> connections = std::make_shared<HttpConnections>())
      : place_(std::move(place)), timeout_(timeout), connections_(std::move(connections)) {}

  // An answer that is cut, or no answer of HTTP, is kLedgerUnreachable.
  Result<std::vector<std::byte>> read(const std::string& path,
                                      std::size_t bytes_max) const override;

 private:
  HttpAddress place_;
  std::chrono::milliseconds timeout_;
  std::shared_ptr<HttpConnections> connections_;
};

}  // namespace gcoord::cli
