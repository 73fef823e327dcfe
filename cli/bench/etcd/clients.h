// Clients of a run on etcd: connections, and a lease for each client of the bench.
//
// Made and closed by one thread; the accessors are for any.
#pragma once

#include "cli/bench/load/plan.h"
#include "common/http/grpc_channel.h"
#include "common/status.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::cli {

// "etcd://HOST:PORT[,HOST:PORT...]"; without a port 2379. OptionInvalid for anything else.
Result<std::vector<HttpOrigin>> parse_etcd_endpoints(const std::string& text);

class EtcdClients {
 public:
  // All connections lead to the leader when it is among the endpoints, which spares etcd a hop;
  // else they are dealt out. Leases outlive the run without keep-alives, which spares it those.
  static Result<std::unique_ptr<EtcdClients>> open(const BenchPlan& plan,
                                                   const std::vector<HttpOrigin>& endpoints);

  GrpcChannel& channel(std::uint32_t client) { return *channels_[channel_of(client)]; }

  GrpcChannel& channel_at(std::size_t index) { return *channels_[index]; }

  std::size_t channel_count() const { return channels_.size(); }

  std::size_t channel_of(std::uint32_t client) const { return client % channels_.size(); }

  std::int64_t lease(std::uint32_t client) const { return leases_[client]; }

  // "3.4.23".
  const std::string& version() const { return version_; }

  // Sends one message after the other to a method, and waits for the replies together. The first
  // failure.
  Result<std::vector<std::string>> call_all(const char* path, std::vector<std::string> messages);

  // Revokes the leases, with their keys, and closes the connections. Once.
  void close();

 private:
  Status connect(const BenchPlan& plan, const std::vector<HttpOrigin>& endpoints);
  Status take_leases(const BenchPlan& plan);

  std::chrono::milliseconds timeout_{};
  std::string version_;
  std::vector<std::unique_ptr<GrpcChannel>> channels_;
  std::vector<std::int64_t> leases_;
};

}  // namespace gcoord::cli
