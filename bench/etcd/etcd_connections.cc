#include "bench/etcd/etcd_connections.h"

#include "etcd.grpc.pb.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <thread>

namespace gcoord::bench {

namespace {

constexpr std::int64_t kLeaseSeconds = 3600;
constexpr std::chrono::seconds kLeasePatience{20};

// The endpoint's answer to "who leads?", or nothing.
bool leads(const std::string& endpoint) {
  const auto stub = etcdserverpb::Maintenance::NewStub(open_channel(endpoint));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds{1});
  context.set_wait_for_ready(true);
  etcdserverpb::StatusResponse status;
  return stub->Status(&context, {}, &status).ok() && status.leader() != 0 &&
         status.leader() == status.header().member_id();
}

}  // namespace

std::shared_ptr<grpc::Channel> open_channel(const std::string& endpoint) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(endpoint, grpc::InsecureChannelCredentials(), arguments);
}

Result<std::string> find_etcd_leader(const std::vector<std::string>& endpoints,
                                     std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (std::chrono::steady_clock::now() < deadline) {
    for (const std::string& endpoint : endpoints) {
      if (leads(endpoint)) {
        return endpoint;
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
  }
  return Status{StatusCode::Unavailable, "etcd has no leader"};
}

Result<std::vector<std::int64_t>> take_leases(const std::string& endpoint, std::uint32_t count) {
  const auto stub = etcdserverpb::Lease::NewStub(open_channel(endpoint));
  std::vector<std::int64_t> leases;
  for (std::uint32_t taken = 0; taken < count; ++taken) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kLeasePatience);
    etcdserverpb::LeaseGrantRequest request;
    request.set_ttl(kLeaseSeconds);
    etcdserverpb::LeaseGrantResponse response;
    if (const auto status = stub->LeaseGrant(&context, request, &response); !status.ok()) {
      return Status{StatusCode::Unavailable, "etcd gave no lease: " + status.error_message()};
    }
    leases.push_back(response.id());
  }
  return leases;
}

}  // namespace gcoord::bench
