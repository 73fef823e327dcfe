// lock and elect on etcd: one transaction takes what is free; what is not is waited for by a call.
#include "cli/bench/etcd/messages.h"
#include "cli/bench/etcd/operations.h"

#include <utility>

namespace gcoord::cli {

namespace {

class EtcdHoldWork final : public Work {
 public:
  EtcdHoldWork(const BenchPlan& plan, std::unique_ptr<EtcdClients> clients)
      : elects_(plan.operation == "elect"),
        prefix_("bench/" + plan.operation + "/"),
        clients_(std::move(clients)) {}

  void begin(std::uint32_t client, std::uint32_t key) override {
    const std::string name = prefix_ + std::to_string(key);
    clients_->channel(client).call(
        kEtcdTxn,
        etcd_hold(name, clients_->lease(client)),
        [this, client, name](const Result<std::string>& reply) {
          if (!reply.ok()) {
            return end(client, reply.status());
          }
          const std::string own = etcd_hold_key(name, clients_->lease(client));
          etcd_held_of(reply.value(), own).held ? give_back(client, own, {}) : await(client, name);
        });
  }

  void close() override { clients_->close(); }

 private:
  void await(std::uint32_t client, const std::string& name) {
    const std::int64_t lease = clients_->lease(client);
    clients_->channel(client).call(
        elects_ ? kEtcdCampaign : kEtcdLock,
        elects_ ? etcd_await_office(name, lease) : etcd_await_lock(name, lease),
        [this, client, name, lease](const Result<std::string>& reply) {
          // Where it failed the key is still queued.
          give_back(client, etcd_hold_key(name, lease), reply.ok() ? Status{} : reply.status());
        });
  }

  void give_back(std::uint32_t client, const std::string& key, const Status& before) {
    clients_->channel(client).call(
        kEtcdDelete, etcd_delete(key), [this, client, before](const Result<std::string>& reply) {
          end(client, before.ok() ? reply.status() : before);
        });
  }

  bool elects_;
  std::string prefix_;
  std::unique_ptr<EtcdClients> clients_;
};

}  // namespace

Result<std::unique_ptr<Work>> open_etcd_hold_work(const BenchPlan& plan,
                                                  std::unique_ptr<EtcdClients> clients) {
  return std::unique_ptr<Work>{std::make_unique<EtcdHoldWork>(plan, std::move(clients))};
}

}  // namespace gcoord::cli
