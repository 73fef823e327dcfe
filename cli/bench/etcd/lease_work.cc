// lease on etcd: LeaseGrant and LeaseRevoke.
#include "cli/bench/etcd/messages.h"
#include "cli/bench/etcd/operations.h"

#include <utility>

namespace gcoord::cli {

namespace {

class EtcdLeaseWork final : public Work {
 public:
  EtcdLeaseWork(const BenchPlan& plan, std::unique_ptr<EtcdClients> clients)
      : grant_(etcd_lease_grant(std::chrono::ceil<std::chrono::seconds>(plan.ttl).count())),
        clients_(std::move(clients)) {}

  void begin(std::uint32_t client, std::uint32_t) override {
    clients_->channel(client).call(
        kEtcdLeaseGrant, grant_, [this, client](const Result<std::string>& reply) {
          if (!reply.ok()) {
            return end(client, reply.status());
          }
          clients_->channel(client).call(
              kEtcdLeaseRevoke,
              etcd_lease_revoke(etcd_lease_of(reply.value())),
              [this, client](const Result<std::string>& done) { end(client, done.status()); });
        });
  }

  void close() override { clients_->close(); }

 private:
  std::string grant_;
  std::unique_ptr<EtcdClients> clients_;
};

}  // namespace

Result<std::unique_ptr<Work>> open_etcd_lease_work(const BenchPlan& plan,
                                                   std::unique_ptr<EtcdClients> clients) {
  return std::unique_ptr<Work>{std::make_unique<EtcdLeaseWork>(plan, std::move(clients))};
}

}  // namespace gcoord::cli
