// A request to an HTTP port of a node, and the answer to it. Values; thread-safe as those are.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::server {

// GET or HEAD; the server removes the body of an answer to HEAD.
struct HttpRequest {
  std::string path;                    // As it was sent: begins with '/', nothing is decoded.
  std::vector<std::string> arguments;  // Names in the query, decoded: {"verbose"} of "?verbose".

  bool has(std::string_view argument) const {
    return std::ranges::find(arguments, argument) != arguments.end();
  }
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
