#include "bench/etcd/etcd_target.h"

#include "bench/etcd/etcd_connections.h"
#include "etcd.grpc.pb.h"
#include "etcd_lock.grpc.pb.h"

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>

#include <cstdio>
#include <optional>

namespace gcoord::bench {

namespace {

constexpr std::chrono::seconds kElection{20};

// The key that clientv3/concurrency.Mutex makes: the lock's name, a slash, the lease in hex.
std::string mutex_key(const std::string& name, std::int64_t lease) {
  char hex[24];
  std::snprintf(hex, sizeof(hex), "/%llx", static_cast<unsigned long long>(lease));
  return name + hex;
}

// The end of the range of all keys that begin with the prefix; its last byte is no 0xff here.
std::string prefix_end(std::string prefix) {
  ++prefix.back();
  return prefix;
}

// One client: its lease, its stubs, and its one call under way.
struct EtcdClient {
  std::unique_ptr<etcdserverpb::KV::Stub> kv;
  std::unique_ptr<v3lockpb::Lock::Stub> lock_service;
  std::string name;
  std::string key;  // Of its lock: what unlocking deletes.
  std::int64_t lease = 0;
  etcdserverpb::TxnRequest acquire;  // The same each time, so built once.

  bool locking = false;
  std::optional<grpc::ClientContext> context;
  grpc::Status status;
  etcdserverpb::TxnResponse txn;
  etcdserverpb::DeleteRangeResponse deleted;
  v3lockpb::LockResponse locked;
  v3lockpb::UnlockResponse unlocked;
  std::unique_ptr<grpc::ClientAsyncResponseReader<etcdserverpb::TxnResponse>> txn_call;
  std::unique_ptr<grpc::ClientAsyncResponseReader<etcdserverpb::DeleteRangeResponse>> delete_call;
  std::unique_ptr<grpc::ClientAsyncResponseReader<v3lockpb::LockResponse>> lock_call;
  std::unique_ptr<grpc::ClientAsyncResponseReader<v3lockpb::UnlockResponse>> unlock_call;
};

// The first transaction of the recipe: put our key if it is absent, and ask who was first.
etcdserverpb::TxnRequest mutex_transaction(const EtcdClient& client) {
  etcdserverpb::TxnRequest request;
  auto* compare = request.add_compare();
  compare->set_result(etcdserverpb::Compare::EQUAL);
  compare->set_target(etcdserverpb::Compare::CREATE);
  compare->set_key(client.key);
  compare->set_create_revision(0);
  auto* put = request.add_success()->mutable_request_put();
  put->set_key(client.key);
  put->set_lease(client.lease);
  const auto ask_first = [&](etcdserverpb::RequestOp* operation) {
    auto* range = operation->mutable_request_range();
    range->set_key(client.name + "/");
    range->set_range_end(prefix_end(client.name + "/"));
    range->set_sort_order(etcdserverpb::RangeRequest::ASCEND);
    range->set_sort_target(etcdserverpb::RangeRequest::CREATE);
    range->set_limit(1);
  };
  ask_first(request.add_success());
  request.add_failure()->mutable_request_range()->set_key(client.key);
  ask_first(request.add_failure());
  return request;
}

class EtcdTarget final : public LockTarget {
 public:
  explicit EtcdTarget(EtcdRecipe recipe) : recipe_(recipe) {}

  ~EtcdTarget() override {
    for (const auto& client : clients_) {
      if (client->context.has_value()) {
        client->context->TryCancel();  // Does nothing to a call that is over.
      }
    }
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }

  void add_client(const std::shared_ptr<grpc::Channel>& channel,
                  std::string name,
                  std::int64_t lease) {
    auto client = std::make_unique<EtcdClient>();
    client->kv = etcdserverpb::KV::NewStub(channel);
    client->lock_service = v3lockpb::Lock::NewStub(channel);
    client->name = std::move(name);
    client->lease = lease;
    client->key = mutex_key(client->name, lease);
    client->acquire = mutex_transaction(*client);
    clients_.push_back(std::move(client));
  }

  void lock(std::uint32_t index) override {
    EtcdClient& client = *clients_[index];
    client.locking = true;
    client.context.emplace();
    if (recipe_ == EtcdRecipe::Transaction) {
      client.txn_call = client.kv->AsyncTxn(&*client.context, client.acquire, &queue_);
      client.txn_call->Finish(&client.txn, &client.status, tag_of(index));
      return;
    }
    v3lockpb::LockRequest request;
    request.set_name(client.name);
    request.set_lease(client.lease);
    client.lock_call = client.lock_service->AsyncLock(&*client.context, request, &queue_);
    client.lock_call->Finish(&client.locked, &client.status, tag_of(index));
  }

  void unlock(std::uint32_t index) override {
    EtcdClient& client = *clients_[index];
    client.locking = false;
    client.context.emplace();
    if (recipe_ == EtcdRecipe::Transaction) {
      etcdserverpb::DeleteRangeRequest request;
      request.set_key(client.key);
      client.delete_call = client.kv->AsyncDeleteRange(&*client.context, request, &queue_);
      client.delete_call->Finish(&client.deleted, &client.status, tag_of(index));
      return;
    }
    v3lockpb::UnlockRequest request;
    request.set_key(client.locked.key());
    client.unlock_call = client.lock_service->AsyncUnlock(&*client.context, request, &queue_);
    client.unlock_call->Finish(&client.unlocked, &client.status, tag_of(index));
  }

  // Delivers answers until the loop has ended, or the deadline. Calls have none of their own, which
  // would cost etcd's side of the comparison a timer for each.
  Status drive(ClosedLoop& loop, std::chrono::system_clock::time_point deadline) {
    void* tag = nullptr;
    bool ok = false;
    while (!loop.ended()) {
      if (queue_.AsyncNext(&tag, &ok, deadline) != grpc::CompletionQueue::GOT_EVENT) {
        return Status{StatusCode::DeadlineExceeded, "etcd did not answer after the load"};
      }
      const auto index = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(tag));
      const EtcdClient& client = *clients_[index];
      if (client.locking) {
        loop.on_locked(index, lock_error(client));
      } else {
        loop.on_unlocked(index, client.status.ok() ? "" : client.status.error_message());
      }
    }
    return Status{};
  }

 private:
  static void* tag_of(std::uint32_t index) {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(index));
  }

  // Empty when the lock is ours. Nobody else asks for it, so it must be.
  std::string lock_error(const EtcdClient& client) const {
    if (!client.status.ok()) {
      return "etcd: " + client.status.error_message();
    }
    if (recipe_ == EtcdRecipe::LockService) {
      return {};
    }
    const auto& responses = client.txn.responses();
    const bool first = client.txn.succeeded() && responses.size() == 2 &&
                       responses[1].response_range().kvs_size() == 1 &&
                       responses[1].response_range().kvs(0).key() == client.key;
    return first ? "" : "etcd: somebody else has the lock";
  }

  EtcdRecipe recipe_;
  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<EtcdClient>> clients_;
};

}  // namespace

Result<LoadResult> run_etcd(const EtcdOptions& options, const LoadOptions& load) {
  GCOORD_TRY(const std::string leader, find_etcd_leader(options.endpoints, kElection));
  GCOORD_TRY(const auto leases, take_leases(leader, options.one_lease ? 1 : options.clients));
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (std::uint32_t number = 0; number < options.connections; ++number) {
    const bool even = options.spread == EtcdSpread::Even;
    channels.push_back(
        open_channel(even ? options.endpoints[number % options.endpoints.size()] : leader));
  }
  EtcdTarget target{options.recipe};
  for (std::uint32_t client = 0; client < options.clients; ++client) {
    target.add_client(channels[client % channels.size()],
                      options.name_prefix + "/" + std::to_string(client),
                      leases[client % leases.size()]);
  }
  LoadOptions run = load;
  run.clients = options.clients;
  ClosedLoop loop{run, target};
  loop.start();
  GCOORD_TRY_STATUS(target.drive(
      loop, std::chrono::system_clock::now() + run.warm_up + run.measured + options.patience));
  return loop.take_result();
}

}  // namespace gcoord::bench
