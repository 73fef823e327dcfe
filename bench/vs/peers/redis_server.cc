#include "bench/vs/peers/redis_server.h"

#include "bench/vs/peers/loopback_question.h"
#include "chaos/process/free_ports.h"

#include <chrono>
#include <sstream>
#include <utility>

namespace gcoord::bench {

namespace {

constexpr std::chrono::seconds kStart{20};

}  // namespace

std::vector<std::string> redis_settings(std::string_view sync) {
  return {"--appendonly yes",
          "--appendfsync " + std::string{sync},
          "--save \"\"",
          "--loglevel warning"};
}

Result<RedisServer> RedisServer::start(const std::filesystem::path& directory,
                                       std::string_view sync) {
  GCOORD_TRY(const auto ports, chaos::free_ports(1));
  ChildOptions child;
  child.arguments = {"redis-server", "--bind", "127.0.0.1", "--port", std::to_string(ports[0])};
  for (const std::string& setting : redis_settings(sync)) {
    std::istringstream words{setting};
    for (std::string word; words >> word;) {
      child.arguments.push_back(word == "\"\"" ? "" : word);
    }
  }
  child.arguments.insert(child.arguments.end(), {"--dir", directory.string()});
  child.output_file = (directory / "redis.log").string();
  child.error_file = child.output_file;
  child.group = true;
  GCOORD_TRY(auto server, ChildProcess::start(child));
  GCOORD_TRY_STATUS(await_answer(ports[0], {"PING\r\n", "+PONG"}, kStart));
  return RedisServer{std::move(server), ports[0]};
}

}  // namespace gcoord::bench
