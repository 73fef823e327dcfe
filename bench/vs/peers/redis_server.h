// One Redis process on loopback, with its append-only file synced as asked.
//
// Child of the calling thread, killed with its object. One thread.
#pragma once

#include "common/host/child_process.h"
#include "common/status.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::bench {

// The flags that differ from Redis's defaults, in words; `sync` is always or everysec.
std::vector<std::string> redis_settings(std::string_view sync);

class RedisServer {
 public:
  // NotFound when there is no redis-server in PATH (Debian: redis-server); returns when it answers.
  static Result<RedisServer> start(const std::filesystem::path& directory, std::string_view sync);

  std::uint16_t port() const { return port_; }

 private:
  RedisServer(ChildProcess server, std::uint16_t port) : server_(std::move(server)), port_(port) {}

  ChildProcess server_;
  std::uint16_t port_ = 0;
};

}  // namespace gcoord::bench
