#include "bench/etcd/etcd_leases.h"

#include "bench/etcd/etcd_connections.h"
#include "etcd.grpc.pb.h"

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

namespace gcoord::bench {

namespace {

using Clock = std::chrono::steady_clock;

// Of one client: leases that are being taken at once, and renewals sent before answers are read.
constexpr std::size_t kUnderWay = 32;
constexpr std::size_t kRenewedAtOnce = 256;

constexpr std::chrono::milliseconds kNap{10};

// One lease on its way: granted, then a key put under it.
struct Taking {
  bool putting = false;
  std::optional<grpc::ClientContext> context;
  grpc::Status status;
  etcdserverpb::LeaseGrantResponse granted;
  etcdserverpb::PutResponse put;
  std::unique_ptr<grpc::ClientAsyncResponseReader<etcdserverpb::LeaseGrantResponse>> grant_call;
  std::unique_ptr<grpc::ClientAsyncResponseReader<etcdserverpb::PutResponse>> put_call;
};

}  // namespace

class EtcdLeases::Client {
 public:
  Client(EtcdLeases& all, const std::string& leader, std::size_t count, std::chrono::seconds ttl)
      : all_(all), count_(count), ttl_(ttl), channel_(open_channel(leader)) {
    lease_ = etcdserverpb::Lease::NewStub(channel_);
    kv_ = etcdserverpb::KV::NewStub(channel_);
  }

  void run() {
    grpc::ClientContext context;
    const auto stream = lease_->LeaseKeepAlive(&context);
    next_renewal_ = Clock::now() + ttl_ / 3;
    take(*stream);
    while (!stopping() && failure().empty()) {
      std::this_thread::sleep_for(kNap);
      renew_if_due(*stream);
    }
    renew(*stream);
    last_ = Clock::now();
    stream->WritesDone();
    context.TryCancel();
    static_cast<void>(stream->Finish());
  }

  std::string failure() const {
    const std::lock_guard lock{mutex_};
    return failure_;
  }

  // Once run() has returned.
  Clock::time_point last() const { return last_; }

 private:
  using Stream = grpc::ClientReaderWriter<etcdserverpb::LeaseKeepAliveRequest,
                                          etcdserverpb::LeaseKeepAliveResponse>;

  bool stopping() const { return all_.stopping_.load(std::memory_order_acquire); }

  void fail(const std::string& why) {
    const std::lock_guard lock{mutex_};
    failure_ = why;
  }

  void grant(std::size_t slot) {
    Taking& each = taking_[slot];
    each.putting = false;
    each.context.emplace();
    etcdserverpb::LeaseGrantRequest request;
    request.set_ttl(ttl_.count());
    each.grant_call = lease_->AsyncLeaseGrant(&*each.context, request, &queue_);
    each.grant_call->Finish(&each.granted, &each.status, reinterpret_cast<void*>(slot));
  }

  void put(std::size_t slot) {
    Taking& each = taking_[slot];
    each.putting = true;
    each.context.emplace();
    etcdserverpb::PutRequest request;
    request.set_key("lease/" + std::to_string(each.granted.id()));
    request.set_lease(each.granted.id());
    each.put_call = kv_->AsyncPut(&*each.context, request, &queue_);
    each.put_call->Finish(&each.put, &each.status, reinterpret_cast<void*>(slot));
  }

  // Keeps kUnderWay on their way, and renews what is held meanwhile.
  void take(Stream& stream) {
    std::size_t begun = std::min(kUnderWay, count_);
    std::size_t under_way = begun;
    for (std::size_t slot = 0; slot < begun; ++slot) {
      grant(slot);
    }
    void* tag = nullptr;
    bool ok = false;
    while (under_way > 0 && queue_.Next(&tag, &ok)) {
      const auto slot = reinterpret_cast<std::size_t>(tag);
      Taking& each = taking_[slot];
      if (!each.status.ok()) {
        fail("etcd: " + each.status.error_message());
        begun = count_;
        --under_way;
      } else if (!each.putting) {
        put(slot);
      } else {
        ids_.push_back(each.granted.id());
        all_.taken_.fetch_add(1, std::memory_order_acq_rel);
        const bool more = begun < count_ && !stopping();
        begun += more ? 1 : 0;
        under_way -= more ? 0 : 1;
        if (more) {
          grant(slot);
        }
      }
      renew_if_due(stream);
    }
  }

  void renew_if_due(Stream& stream) {
    if (Clock::now() >= next_renewal_) {
      next_renewal_ = Clock::now() + ttl_ / 3;
      renew(stream);
    }
  }

  void renew(Stream& stream) {
    const auto began = Clock::now();
    for (std::size_t at = 0; at < ids_.size() && failure().empty(); at += kRenewedAtOnce) {
      renew_some(stream, std::span(ids_).subspan(at, std::min(kRenewedAtOnce, ids_.size() - at)));
    }
    const auto took =
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began).count();
    std::int64_t slowest = all_.slowest_round_ms_.load(std::memory_order_relaxed);
    while (took > slowest && !all_.slowest_round_ms_.compare_exchange_weak(slowest, took)) {
    }
  }

  // Answers are read in between: a stream whose answers nobody reads takes no requests either.
  void renew_some(Stream& stream, std::span<const std::int64_t> ids) {
    bool alive = true;
    for (const std::int64_t id : ids) {
      etcdserverpb::LeaseKeepAliveRequest request;
      request.set_id(id);
      alive = alive && stream.Write(request);
    }
    for (std::size_t k = 0; k < ids.size() && alive; ++k) {
      etcdserverpb::LeaseKeepAliveResponse response;
      alive = stream.Read(&response);
      all_.lost_.fetch_add(alive && response.ttl() <= 0 ? 1 : 0, std::memory_order_acq_rel);
    }
    if (!alive) {
      fail("etcd ended a stream of keep-alives");
    }
  }

  EtcdLeases& all_;
  std::size_t count_;
  std::chrono::seconds ttl_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<etcdserverpb::Lease::Stub> lease_;
  std::unique_ptr<etcdserverpb::KV::Stub> kv_;
  grpc::CompletionQueue queue_;
  Taking taking_[kUnderWay];
  std::vector<std::int64_t> ids_;
  Clock::time_point next_renewal_;
  Clock::time_point last_;
  mutable std::mutex mutex_;  // Guards the failure.
  std::string failure_;
};

EtcdLeases::EtcdLeases(const std::string& leader, std::uint32_t leases, std::chrono::seconds ttl) {
  for (std::uint32_t k = 0; k < kEtcdLeaseStreams; ++k) {
    const std::uint64_t first = std::uint64_t{leases} * k / kEtcdLeaseStreams;
    const std::uint64_t end = std::uint64_t{leases} * (k + 1) / kEtcdLeaseStreams;
    clients_.push_back(std::make_unique<Client>(*this, leader, end - first, ttl));
    threads_.emplace_back([client = clients_.back().get()] { client->run(); });
  }
}

EtcdLeases::~EtcdLeases() {
  static_cast<void>(stop());
}

std::chrono::steady_clock::time_point EtcdLeases::stop() {
  stopping_.store(true, std::memory_order_release);
  for (std::thread& thread : threads_) {
    thread.join();
  }
  threads_.clear();
  Clock::time_point last;
  for (const auto& client : clients_) {
    last = std::max(last, client->last());
  }
  return last;
}

std::string EtcdLeases::failure() const {
  for (const auto& client : clients_) {
    if (const std::string why = client->failure(); !why.empty()) {
      return why;
    }
  }
  return {};
}

}  // namespace gcoord::bench
