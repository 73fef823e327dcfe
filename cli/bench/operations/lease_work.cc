// lease: grants a session with a TTL, which registers it in its home shard, and closes it.
#include "cli/bench/operations/operations.h"
#include "cli/terminal/output.h"

#include <optional>
#include <utility>
#include <vector>

namespace gcoord::cli {

namespace {

class LeaseWork final : public Work {
 public:
  LeaseWork(const BenchPlan& plan, std::unique_ptr<GcoordClients> clients)
      : ttl_(plan.ttl), clients_(std::move(clients)), granted_(plan.clients) {}

  void begin(std::uint32_t client, std::uint32_t) override {
    clients_->client(client)
        .grant_session_async({.ttl = ttl_})
        .then([this, client](client::Result<client::Session> session) {
          if (session.ok()) {
            close_session(client, std::move(session).value());
          } else {
            end(client, to_status(session.status()));
          }
        });
  }

  void close() override { clients_->close(); }

 private:
  // It stays until the client's next operation: nothing ends within its own callback.
  void close_session(std::uint32_t client, client::Session session) {
    std::optional<client::Session>& kept = granted_[client];
    kept.emplace(std::move(session));
    kept->close_async().then(
        [this, client](const client::Status& status) { end(client, to_status(status)); });
  }

  std::chrono::milliseconds ttl_;
  std::unique_ptr<GcoordClients> clients_;
  std::vector<std::optional<client::Session>> granted_;  // By client.
};

}  // namespace

client::Result<std::unique_ptr<Work>> open_lease_work(const BenchPlan& plan,
                                                      std::unique_ptr<GcoordClients> clients) {
  return std::unique_ptr<Work>{std::make_unique<LeaseWork>(plan, std::move(clients))};
}

}  // namespace gcoord::cli
