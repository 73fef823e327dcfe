// watch: acquires and releases a name; the operation ends when a watch has told of the grant.
//
// Each connection has one watch, of all names of its own clients, and a client has names of its
// own: the operation whose event it is, is found by the name and checked by the token.
#include "cli/bench/load/watched_operation.h"
#include "cli/bench/operations/operations.h"
#include "cli/terminal/output.h"

#include <charconv>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace gcoord::cli {

namespace {

// "bench/watch/3/", of the third connection.
std::string prefix_of(std::size_t connection) {
  return bench_name("watch", static_cast<std::uint32_t>(connection)) + "/";
}

// The client in the rest of a name, "17/4".
std::optional<std::uint32_t> client_in(std::string_view rest) {
  std::uint32_t client = 0;
  const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), client);
  if (read.ec != std::errc{} || read.ptr == rest.data() + rest.size() || *read.ptr != '/') {
    return std::nullopt;
  }
  return client;
}

class WatchWork final : public Work {
 public:
  WatchWork(const BenchPlan& plan, std::unique_ptr<GcoordClients> clients)
      : wait_(plan.timeout), clients_(std::move(clients)), operations_(plan.clients) {}

  client::Status open_watches() {
    for (std::size_t index = 0; index < clients_->connection_count(); ++index) {
      client::WatchOptions options;
      options.prefix = prefix_of(index);
      options.kinds = {client::EventKind::Granted};
      auto watch = clients_->connection(index).watch(
          options,
          [this, prefix = prefix_of(index)](const auto& batch) { on_batch(prefix, batch); });
      if (!watch.ok()) {
        return watch.status();
      }
      watches_.push_back(std::move(watch).value());
    }
    return {};
  }

  void begin(std::uint32_t client, std::uint32_t key) override {
    operations_[client].begin();
    std::string name = prefix_of(clients_->connection_of(client)) + std::to_string(client) + "/" +
                       std::to_string(key);
    clients_->session(client).acquire_async(
        name, {.wait = wait_}, [this, client, name](const client::Result<client::Grant>& grant) {
          on_granted(client, name, grant);
        });
  }

  void close() override {
    for (client::Watch& watch : watches_) {
      watch.close();
    }
    clients_->close();
  }

 private:
  void on_granted(std::uint32_t client,
                  const std::string& name,
                  const client::Result<client::Grant>& grant) {
    WatchedOperation& operation = operations_[client];
    if (!grant.ok()) {
      return finish(client, operation.note_undone(to_status(grant.status())));
    }
    finish(client, operation.note_changed(grant.value().token));
    clients_->session(client).release_async(
        name, grant.value().token, [this, client](const client::Status& status) {
          finish(client, operations_[client].note_undone(to_status(status)));
        });
  }

  void on_batch(const std::string& prefix, const client::Result<client::WatchBatch>& batch) {
    if (!batch.ok()) {
      return;  // What waits for an event is unfinished at the end.
    }
    const Moment now = std::chrono::steady_clock::now();
    for (const client::WatchEvent& event : batch.value().events) {
      const auto client = client_in(std::string_view{event.name}.substr(prefix.size()));
      if (client.has_value() && *client < operations_.size()) {
        finish(*client, operations_[*client].note_told(event.token, now));
      }
    }
  }

  void finish(std::uint32_t client, const std::optional<WatchedOperation::End>& over) {
    if (over.has_value()) {
      end_at(client, over->at, over->status);
    }
  }

  std::chrono::milliseconds wait_;
  std::unique_ptr<GcoordClients> clients_;
  std::vector<WatchedOperation> operations_;  // By client.
  std::vector<client::Watch> watches_;
};

}  // namespace

client::Result<std::unique_ptr<Work>> open_watch_work(const BenchPlan& plan,
                                                      std::unique_ptr<GcoordClients> clients) {
  auto work = std::make_unique<WatchWork>(plan, std::move(clients));
  if (client::Status opened = work->open_watches(); !opened.ok()) {
    work->close();
    return opened;
  }
  return std::unique_ptr<Work>{std::move(work)};
}

}  // namespace gcoord::cli
