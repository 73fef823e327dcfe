// read on etcd: Range of one key, linearizably.
#include "cli/bench/etcd/messages.h"
#include "cli/bench/etcd/operations.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace gcoord::cli {

namespace {

constexpr const char* kPrefix = "bench/read/";

// As of gcoord; a read of an absent key costs the same.
constexpr std::uint32_t kPutMax = 10'000;

class EtcdReadWork final : public Work {
 public:
  explicit EtcdReadWork(std::unique_ptr<EtcdClients> clients) : clients_(std::move(clients)) {}

  Status put(std::uint32_t keys) {
    std::vector<std::string> messages;
    std::vector<std::string> names;
    for (std::uint32_t key = 0; key < keys; ++key) {
      names.push_back(kPrefix + std::to_string(key));
      if (names.size() == kEtcdPutsMax || key + 1 == keys) {
        messages.push_back(etcd_put_all(names));
        names.clear();
      }
    }
    return clients_->call_all(kEtcdTxn, std::move(messages)).status();
  }

  void begin(std::uint32_t client, std::uint32_t key) override {
    clients_->channel(client).call(
        kEtcdRange,
        etcd_range(kPrefix + std::to_string(key)),
        [this, client](const Result<std::string>& reply) { end(client, reply.status()); });
  }

  void close() override {
    static_cast<void>(clients_->call_all(kEtcdDelete, {etcd_delete_prefix(kPrefix)}));
    clients_->close();
  }

 private:
  std::unique_ptr<EtcdClients> clients_;
};

}  // namespace

Result<std::unique_ptr<Work>> open_etcd_read_work(const BenchPlan& plan,
                                                  std::unique_ptr<EtcdClients> clients) {
  auto work = std::make_unique<EtcdReadWork>(std::move(clients));
  if (const Status put = work->put(std::min(plan.keys, kPutMax)); !put.ok()) {
    work->close();
    return put;
  }
  return std::unique_ptr<Work>{std::move(work)};
}

}  // namespace gcoord::cli
