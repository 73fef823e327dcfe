// A request to an HTTP port of a node, and the answer to it. Values; thread-safe as those are.
#pragma once

#include "security/tls/peer.h"

#include <algorithm>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::server {

// One of the query: {"seconds", "5"} of "?seconds=5", {"verbose", ""} of "?verbose".
struct HttpArgument {
  std::string name;
  std::string value;
};

// GET or HEAD; the server removes the body of an answer to HEAD.
struct HttpRequest {
  std::string path;  // As it was sent: begins with '/', nothing is decoded.
  std::vector<HttpArgument> arguments;
  bool head = false;  // HEAD: nobody reads the body.

  // How its client says who it is: the certificate of its TLS connection, if it showed a good one,
  // and the token of "Authorization: Bearer". Neither is logged.
  std::shared_ptr<const security::TlsPeer> peer = {};
  std::string bearer = {};

  bool loopback = false;  // Its client is on the node's own host.

  // A stop is requested within about a second of the client's end, for pages that take their time.
  // A client that closes only its sending side counts as one that is gone.
  std::stop_token gone = {};

  // The value of the first argument of this name; nullptr when there is none.
  const std::string* find(std::string_view name) const {
    const auto found = std::ranges::find(arguments, name, &HttpArgument::name);
    return found == arguments.end() ? nullptr : &found->value;
  }

  bool has(std::string_view name) const { return find(name) != nullptr; }
};

struct HttpAnswer {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string cache_control = "no-cache";
  std::string body;
};

// What a port answers to a path that it does not have.
inline HttpAnswer not_found() {
  return {.status = 404, .body = "no such page\n"};
}

}  // namespace gcoord::server
