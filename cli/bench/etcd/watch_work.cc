// watch on etcd: lock and unlock; the operation ends when a Watch stream has told of the key.
//
// As on gcoord: each connection has one watch, of all keys of its own clients.
#include "cli/bench/etcd/messages.h"
#include "cli/bench/etcd/operations.h"
#include "cli/bench/load/watched_operation.h"

#include <charconv>
#include <future>
#include <utility>
#include <vector>

namespace gcoord::cli {

namespace {

// "bench/watch/3/", of the third connection.
std::string prefix_of(std::size_t channel) {
  return "bench/watch/" + std::to_string(channel) + "/";
}

class EtcdWatchWork final : public Work {
 public:
  EtcdWatchWork(const BenchPlan& plan, std::unique_ptr<EtcdClients> clients)
      : timeout_(plan.timeout), clients_(std::move(clients)), operations_(plan.clients) {}

  Status open_watches() {
    for (std::size_t index = 0; index < clients_->channel_count(); ++index) {
      const auto created = std::make_shared<std::promise<void>>();
      auto when_created = created->get_future();
      clients_->channel_at(index).stream(
          kEtcdWatch,
          etcd_watch_prefix(prefix_of(index)),
          {.on_message =
               [this, created, told = false, prefix = prefix_of(index)](
                   std::string_view message) mutable {
                 const EtcdWatchReply reply = etcd_watch_reply_of(message);
                 if (reply.created && !std::exchange(told, true)) {
                   created->set_value();
                 }
                 on_events(prefix, reply);
               },
           // What waits for an event is unfinished at the end.
           .ended = [](const Result<std::string>&) {}});
      if (when_created.wait_for(timeout_) != std::future_status::ready) {
        return {StatusCode::Unavailable, "etcd did not start a watch"};
      }
    }
    return {};
  }

  void begin(std::uint32_t client, std::uint32_t key) override {
    operations_[client].begin();
    const std::string name = prefix_of(clients_->channel_of(client)) + std::to_string(client) +
                             "/" + std::to_string(key);
    const std::int64_t lease = clients_->lease(client);
    clients_->channel(client).call(
        kEtcdTxn,
        etcd_hold(name, lease),
        [this, client, key = etcd_hold_key(name, lease)](const Result<std::string>& reply) {
          if (!reply.ok()) {
            return finish(client, operations_[client].note_undone(reply.status()));
          }
          const EtcdHeld held = etcd_held_of(reply.value(), key);
          finish(client, operations_[client].note_changed(held.revision));
          give_back(client, key);
        });
  }

  void close() override { clients_->close(); }

 private:
  void give_back(std::uint32_t client, const std::string& key) {
    clients_->channel(client).call(
        kEtcdDelete, etcd_delete(key), [this, client](const Result<std::string>& reply) {
          finish(client, operations_[client].note_undone(reply.status()));
        });
  }

  void on_events(const std::string& prefix, const EtcdWatchReply& reply) {
    const Moment now = std::chrono::steady_clock::now();
    for (const EtcdEvent& event : reply.events) {
      std::uint32_t client = 0;
      const std::string_view rest = event.key.substr(std::min(prefix.size(), event.key.size()));
      const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), client);
      if (read.ec == std::errc{} && client < operations_.size()) {
        finish(client, operations_[client].note_told(event.revision, now));
      }
    }
  }

  void finish(std::uint32_t client, const std::optional<WatchedOperation::End>& over) {
    if (over.has_value()) {
      end_at(client, over->at, over->status);
    }
  }

  std::chrono::milliseconds timeout_;
  std::unique_ptr<EtcdClients> clients_;
  std::vector<WatchedOperation> operations_;  // By client.
};

}  // namespace

Result<std::unique_ptr<Work>> open_etcd_watch_work(const BenchPlan& plan,
                                                   std::unique_ptr<EtcdClients> clients) {
  auto work = std::make_unique<EtcdWatchWork>(plan, std::move(clients));
  if (const Status opened = work->open_watches(); !opened.ok()) {
    work->close();
    return opened;
  }
  return std::unique_ptr<Work>{std::move(work)};
}

}  // namespace gcoord::cli
