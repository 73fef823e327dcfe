// The files of a log as a node serves them over HTTP (server/endpoints/ledger_endpoint.h).
//
// One connection a file (common/http/client.h); the bytes are not trusted but checked
// (ledger/tiles/tile_reader.h). Thread-safe.
#pragma once

#include "common/http/client.h"
#include "ledger/tiles/tile_source.h"

#include <chrono>
#include <cstddef>
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

class HttpTiles final : public ledger::TileSource {
 public:
  HttpTiles(HttpAddress place, std::chrono::milliseconds timeout)
      : place_(std::move(place)), timeout_(timeout) {}

  // An answer that is cut, or no answer of HTTP, is kLedgerUnreachable.
  Result<std::vector<std::byte>> read(const std::string& path,
                                      std::size_t bytes_max) const override;

 private:
  HttpAddress place_;
  std::chrono::milliseconds timeout_;
};

}  // namespace gcoord::cli
