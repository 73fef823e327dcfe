// lock: acquires a name, waits for it if another client has it, and releases it.
#include "cli/bench/operations/operations.h"
#include "cli/terminal/output.h"

#include <stop_token>
#include <utility>

namespace gcoord::cli {

namespace {

class LockWork final : public Work {
 public:
  LockWork(const BenchPlan& plan, std::unique_ptr<GcoordClients> clients)
      : wait_(plan.timeout), clients_(std::move(clients)) {}

  void begin(std::uint32_t client, std::uint32_t key) override {
    std::string name = bench_name("lock", key);
    clients_->session(client).acquire_async(
        name,
        {.wait = wait_, .stop = &waits_end_},
        [this, client, name](const client::Result<client::Grant>& grant) {
          if (grant.ok()) {
            release(client, name, grant.value().token);
          } else {
            end(client, to_status(grant.status()));
          }
        });
  }

  void stop() override { waits_.request_stop(); }

  void close() override { clients_->close(); }

 private:
  void release(std::uint32_t client, const std::string& name, std::uint64_t token) {
    clients_->session(client).release_async(
        name, token, [this, client](const client::Status& status) {
          end(client, to_status(status));
        });
  }

  std::chrono::milliseconds wait_;
  std::unique_ptr<GcoordClients> clients_;
  std::stop_source waits_;
  std::stop_token waits_end_ = waits_.get_token();
};

}  // namespace

client::Result<std::unique_ptr<Work>> open_lock_work(const BenchPlan& plan,
                                                     std::unique_ptr<GcoordClients> clients) {
  return std::unique_ptr<Work>{std::make_unique<LockWork>(plan, std::move(clients))};
}

}  // namespace gcoord::cli
