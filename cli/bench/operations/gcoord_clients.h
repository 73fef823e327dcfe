// Clients of a run: connections to the cluster, and a session for each client of the bench.
//
// A connection is a Client of the library: a thread of its own, and a socket to every node. Made
// and closed by one thread; the accessors are for any.
#pragma once

#include "cli/bench/load/plan.h"
#include "gcoord/client.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::cli {

class GcoordClients {
 public:
  // Takes over the connections, one or more.
  GcoordClients(const BenchPlan& plan, std::vector<client::Client> connections);

  // Opens a session for each client of the plan. No node hears of it before its first operation.
  client::Status open_sessions();

  client::Client& connection(std::size_t index) { return connections_[index]; }

  std::size_t connection_count() const { return connections_.size(); }

  std::size_t connection_of(std::uint32_t client) const { return client % connections_.size(); }

  client::Client& client(std::uint32_t client) { return connections_[connection_of(client)]; }

  client::Session& session(std::uint32_t client) { return sessions_[client]; }

  std::uint32_t client_count() const { return client_count_; }

  // Closes sessions and connections; takes two seconds at most. No callback runs afterwards. Once.
  void close();

 private:
  std::uint32_t client_count_;
  std::chrono::milliseconds ttl_;
  std::vector<client::Client> connections_;
  std::vector<client::Session> sessions_;
};

// "bench/lock/17".
std::string bench_name(const std::string& operation, std::uint32_t key);

}  // namespace gcoord::cli
