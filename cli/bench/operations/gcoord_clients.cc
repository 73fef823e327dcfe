#include "cli/bench/operations/gcoord_clients.h"

#include <utility>

namespace gcoord::cli {

namespace {

// A session that nobody could close by then ends with its TTL.
constexpr std::chrono::milliseconds kClosing{2000};

}  // namespace

GcoordClients::GcoordClients(const BenchPlan& plan, std::vector<client::Client> connections)
    : client_count_(plan.clients), ttl_(plan.ttl), connections_(std::move(connections)) {}

client::Status GcoordClients::open_sessions() {
  for (std::uint32_t index = 0; index < client_count_; ++index) {
    auto session = client(index).open_session({.ttl = ttl_});
    if (!session.ok()) {
      return session.status();
    }
    sessions_.push_back(std::move(session).value());
  }
  return {};
}

void GcoordClients::close() {
  std::vector<client::Future<client::Status>> closing;
  for (client::Session& session : sessions_) {
    closing.push_back(session.close_async());
  }
  const auto until = std::chrono::steady_clock::now() + kClosing;
  for (auto& each : closing) {
    static_cast<void>(each.wait_for(until - std::chrono::steady_clock::now()));
  }
  for (client::Client& connection : connections_) {
    static_cast<void>(connection.close());
  }
}

std::string bench_name(const std::string& operation, std::uint32_t key) {
  return "bench/" + operation + "/" + std::to_string(key);
}

}  // namespace gcoord::cli
