// elect: campaigns for a name until this candidate leads, and resigns.
#include "cli/bench/operations/operations.h"
#include "cli/terminal/output.h"

#include <optional>
#include <utility>
#include <vector>

namespace gcoord::cli {

namespace {

class ElectWork final : public Work {
 public:
  ElectWork(const BenchPlan& plan, std::unique_ptr<GcoordClients> clients)
      : wait_(plan.timeout), clients_(std::move(clients)), elections_(plan.clients) {}

  void begin(std::uint32_t client, std::uint32_t key) override {
    // The one before stays until here: nothing ends within its own callback.
    std::optional<client::Election>& election = elections_[client];
    election.emplace(clients_->session(client).election(bench_name("elect", key)));
    election->campaign_async({.wait = wait_}).then([this, client](const client::Status& status) {
      if (status.ok()) {
        resign(client);
      } else {
        end(client, to_status(status));
      }
    });
  }

  void close() override { clients_->close(); }

 private:
  void resign(std::uint32_t client) {
    elections_[client]->resign_async().then(
        [this, client](const client::Status& status) { end(client, to_status(status)); });
  }

  std::chrono::milliseconds wait_;
  std::unique_ptr<GcoordClients> clients_;
  std::vector<std::optional<client::Election>> elections_;  // By client.
};

}  // namespace

client::Result<std::unique_ptr<Work>> open_elect_work(const BenchPlan& plan,
                                                      std::unique_ptr<GcoordClients> clients) {
  return std::unique_ptr<Work>{std::make_unique<ElectWork>(plan, std::move(clients))};
}

}  // namespace gcoord::cli
