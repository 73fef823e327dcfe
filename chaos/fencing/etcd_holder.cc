#include "chaos/fencing/http_post.h"
#include "chaos/fencing/lock_holder.h"
#include "common/base64.h"

#include <condition_variable>
#include <mutex>
#include <span>
#include <thread>

namespace gcoord::chaos {

namespace {

constexpr std::chrono::seconds kShort{3};
constexpr std::chrono::seconds kWait{15};

// As the gateway has bytes in JSON.
std::string base64_of(const std::string& text) {
  return to_base64(std::as_bytes(std::span(text)));
}

// Keeps one lease alive, three times per TTL, on a connection of its own, as etcd's library does.
class LeaseKeeper {
 public:
  LeaseKeeper(const std::string& endpoint, std::string lease, std::chrono::seconds ttl)
      : post_(endpoint), lease_(std::move(lease)), ttl_(ttl), thread_([this] { run(); }) {}

  ~LeaseKeeper() {
    {
      const std::lock_guard lock{mutex_};
      ended_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  // The server said that it is gone.
  bool lost() const {
    const std::lock_guard lock{mutex_};
    return lost_;
  }

 private:
  void run() {
    std::unique_lock lock{mutex_};
    while (!ended_ && !lost_) {
      lock.unlock();
      const auto kept = post_.post("/v3/lease/keepalive", {{"ID", lease_}}, kShort);
      // A lease that is gone is answered without a TTL.
      const bool gone = kept.ok() && !kept.value().value("result", Json::object()).contains("TTL");
      lock.lock();
      lost_ |= gone;
      changed_.wait_for(lock, std::chrono::milliseconds{ttl_} / 3, [this] { return ended_; });
    }
  }

  HttpPost post_;
  std::string lease_;
  std::chrono::seconds ttl_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  bool lost_ = false;
  std::thread thread_;  // Last: it uses all of the above.
};

class EtcdHolder final : public LockHolder {
 public:
  EtcdHolder(const std::string& endpoint, std::chrono::seconds ttl)
      : endpoint_(endpoint), ttl_(ttl), post_(endpoint) {}

  Result<std::uint64_t> acquire(const std::string& name) override {
    GCOORD_TRY_STATUS(open());
    auto locked =
        post_.post("/v3/lock/lock", {{"name", base64_of(name)}, {"lease", lease_}}, kWait);
    if (!locked.ok()) {
      keeper_.reset();  // What became of it is not known: begin anew under another lease.
      return locked.status();
    }
    key_ = locked.value().value("key", std::string{});
    auto range = post_.post("/v3/kv/range", {{"key", key_}}, kShort);
    if (!range.ok()) {
      return range.status();
    }
    const Json rows = range.value().value("kvs", Json::array());
    if (rows.empty()) {
      return Status{StatusCode::Aborted, "the lock was lost before it was known"};
    }
    return static_cast<std::uint64_t>(
        std::stoull(rows[0].value("create_revision", std::string{"0"})));
  }

  Status release(const std::string&) override {
    return post_.post("/v3/lock/unlock", {{"key", key_}}, kShort).status();
  }

  std::uint64_t session() const override { return 0; }

 private:
  Status open() {
    if (keeper_ != nullptr && !keeper_->lost()) {
      return Status{};
    }
    keeper_.reset();
    GCOORD_TRY(const Json granted,
               post_.post("/v3/lease/grant", {{"TTL", std::to_string(ttl_.count())}}, kShort));
    lease_ = granted.value("ID", std::string{});
    keeper_ = std::make_unique<LeaseKeeper>(endpoint_, lease_, ttl_);
    return Status{};
  }

  std::string endpoint_;
  std::chrono::seconds ttl_;
  HttpPost post_;
  std::string lease_;
  std::string key_;
  std::unique_ptr<LeaseKeeper> keeper_;
};

}  // namespace

std::unique_ptr<LockHolder> make_etcd_holder(const std::string& endpoint,
                                             std::chrono::seconds ttl) {
  return std::make_unique<EtcdHolder>(endpoint, ttl);
}

}  // namespace gcoord::chaos
