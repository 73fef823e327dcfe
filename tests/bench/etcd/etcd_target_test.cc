// A server that speaks etcd's interface leads, grants leases, and then answers nothing.
#include "bench/etcd/etcd_target.h"

#include "etcd.grpc.pb.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

namespace gcoord::bench {
namespace {

class Leader final : public etcdserverpb::Maintenance::Service {
  grpc::Status Status(grpc::ServerContext* /*context*/,
                      const etcdserverpb::StatusRequest* /*request*/,
                      etcdserverpb::StatusResponse* response) override {
    response->set_leader(1);
    response->mutable_header()->set_member_id(1);
    return grpc::Status::OK;
  }
};

class Leases final : public etcdserverpb::Lease::Service {
  grpc::Status LeaseGrant(grpc::ServerContext* /*context*/,
                          const etcdserverpb::LeaseGrantRequest* /*request*/,
                          etcdserverpb::LeaseGrantResponse* response) override {
    response->set_id(7);
    return grpc::Status::OK;
  }
};

class SilentKeys final : public etcdserverpb::KV::Service {
 public:
  std::atomic<int> asked{0};

 private:
  grpc::Status Txn(grpc::ServerContext* context,
                   const etcdserverpb::TxnRequest* /*request*/,
                   etcdserverpb::TxnResponse* /*response*/) override {
    ++asked;
    while (!context->IsCancelled()) {
      std::this_thread::yield();
    }
    return grpc::Status::CANCELLED;
  }
};

TEST(EtcdTarget, ALoadWhoseLastAnswersDoNotComeEndsWithADeadline) {
  Leader leader;
  Leases leases;
  SilentKeys keys;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&leader);
  builder.RegisterService(&leases);
  builder.RegisterService(&keys);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);

  EtcdOptions options;
  options.endpoints = {"127.0.0.1:" + std::to_string(port)};
  options.clients = 1;
  options.patience = std::chrono::milliseconds{500};
  const auto result = run_etcd(
      options, {.warm_up = std::chrono::milliseconds{0}, .measured = std::chrono::milliseconds{1}});
  EXPECT_EQ(result.status().code(), StatusCode::DeadlineExceeded) << result.status().to_string();
  server->Shutdown();
}

}  // namespace
}  // namespace gcoord::bench
