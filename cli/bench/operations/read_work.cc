// read: reads a held name from the leader of its shard, linearizably.
#include "cli/bench/operations/operations.h"
#include "cli/terminal/output.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace gcoord::cli {

namespace {

// Names that are held meanwhile; a read of a free one costs the same.
constexpr std::uint32_t kHeldMax = 10'000;

// Acquires under way together, within what one session may have in one shard.
constexpr std::size_t kBatch = 16;

class ReadWork final : public Work {
 public:
  explicit ReadWork(std::unique_ptr<GcoordClients> clients) : clients_(std::move(clients)) {}

  client::Status hold(std::uint32_t keys) {
    std::vector<client::Future<client::Result<client::Lock>>> batch;
    for (std::uint32_t key = 0; key < keys; ++key) {
      client::Session& session = clients_->session(key % clients_->client_count());
      batch.push_back(session.acquire_async(bench_name("read", key)));
      if (batch.size() == kBatch || key + 1 == keys) {
        if (client::Status held = keep(batch); !held.ok()) {
          return held;
        }
      }
    }
    return {};
  }

  void begin(std::uint32_t client, std::uint32_t key) override {
    clients_->client(client)
        .get_async(bench_name("read", key))
        .then([this, client](const client::Result<client::LockDescription>& lock) {
          const bool answered = lock.ok() || lock.status().code() == client::StatusCode::NotFound;
          end(client, answered ? Status{} : to_status(lock.status()));
        });
  }

  void close() override { clients_->close(); }

 private:
  // Held until their sessions are closed.
  static client::Status keep(std::vector<client::Future<client::Result<client::Lock>>>& batch) {
    client::Status first;
    for (auto& each : batch) {
      auto lock = each.get();
      if (lock.ok()) {
        lock.value().detach();
      } else if (first.ok()) {
        first = lock.status();
      }
    }
    batch.clear();
    return first;
  }

  std::unique_ptr<GcoordClients> clients_;
};

}  // namespace

client::Result<std::unique_ptr<Work>> open_read_work(const BenchPlan& plan,
                                                     std::unique_ptr<GcoordClients> clients) {
  auto work = std::make_unique<ReadWork>(std::move(clients));
  if (client::Status held = work->hold(std::min(plan.keys, kHeldMax)); !held.ok()) {
    work->close();
    return held;
  }
  return std::unique_ptr<Work>{std::move(work)};
}

}  // namespace gcoord::cli
