#include "bench/vs/peers/zookeeper_target.h"

#include <poll.h>
#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

namespace gcoord::bench {

namespace {

using Clock = ClosedLoop::Clock;

constexpr int kSessionMs = 30'000;
constexpr std::chrono::seconds kPatience{30};

// Between two looks at sessions that nothing came from; they send a sign of life every 10 s.
constexpr int kPollMs = 100;

std::string error_text(int code) {
  return std::string{"ZooKeeper: "} + zerror(code);
}

// "lock-0000000001" of "/bench-1/7/lock-0000000001".
std::string_view last_part(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

struct CloseSession {
  void operator()(zhandle_t* session) const { zookeeper_close(session); }
};

// Sessions of the C client, driven by poll().
class Sessions {
 public:
  Status open(const std::vector<std::string>& endpoints, std::uint32_t count) {
    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    for (std::uint32_t number = 0; number < count; ++number) {
      const std::string& endpoint = endpoints[number % endpoints.size()];
      sessions_.emplace_back(
          zookeeper_init(endpoint.c_str(), nullptr, kSessionMs, nullptr, nullptr, 0));
      if (!sessions_.back()) {
        return Status{StatusCode::Unavailable, "ZooKeeper's client opens no session"};
      }
    }
    return poll_until([this] {
      return std::all_of(sessions_.begin(), sessions_.end(), [](const auto& session) {
        return zoo_state(session.get()) == ZOO_CONNECTED_STATE;
      });
    });
  }

  zhandle_t* operator[](std::size_t index) const {
    return sessions_[index % sessions_.size()].get();
  }

  // Sends, receives and calls completions until `done` or the deadline.
  Status poll_until(const std::function<bool()>& done, Clock::time_point deadline = later()) {
    while (!done()) {
      if (Clock::now() > deadline) {
        return Status{StatusCode::DeadlineExceeded, "ZooKeeper did not answer"};
      }
      poll_once();
    }
    return Status{};
  }

  static Clock::time_point later() { return Clock::now() + kPatience; }

 private:
  void poll_once() {
    descriptors_.assign(sessions_.size(), pollfd{.fd = -1, .events = 0, .revents = 0});
    for (std::size_t index = 0; index < sessions_.size(); ++index) {
      int interest = 0;
      timeval timeout{};
      pollfd& descriptor = descriptors_[index];
      // A failure shows in completions, or in a state that never becomes connected.
      if (zookeeper_interest(sessions_[index].get(), &descriptor.fd, &interest, &timeout) != ZOK) {
        descriptor.fd = -1;
        continue;
      }
      descriptor.events = static_cast<short>(((interest & ZOOKEEPER_READ) != 0 ? POLLIN : 0) |
                                             ((interest & ZOOKEEPER_WRITE) != 0 ? POLLOUT : 0));
    }
    ::poll(descriptors_.data(), descriptors_.size(), kPollMs);
    for (std::size_t index = 0; index < sessions_.size(); ++index) {
      const short happened = descriptors_[index].revents;
      int events = (happened & (POLLIN | POLLHUP | POLLERR)) != 0 ? ZOOKEEPER_READ : 0;
      events |= (happened & POLLOUT) != 0 ? ZOOKEEPER_WRITE : 0;
      if (events != 0) {
        zookeeper_process(sessions_[index].get(), events);
      }
    }
  }

  std::vector<std::unique_ptr<zhandle_t, CloseSession>> sessions_;
  std::vector<pollfd> descriptors_;
};

class ZookeeperTarget final : public LockTarget {
 public:
  explicit ZookeeperTarget(const ZookeeperOptions& options) : options_(options) {}

  Status prepare(std::uint32_t clients) {
    GCOORD_TRY_STATUS(sessions_.open(options_.endpoints, options_.sessions));
    GCOORD_TRY_STATUS(make_nodes({"/" + options_.name_prefix}));
    std::vector<std::string> folders;
    for (std::uint32_t index = 0; index < clients; ++index) {
      folders.push_back("/" + options_.name_prefix + "/" + std::to_string(index));
      clients_.push_back(std::make_unique<LockClient>(
          LockClient{.target = this, .index = index, .folder = folders.back()}));
      clients_.back()->session = sessions_[index];
    }
    return make_nodes(folders);
  }

  Status drive(ClosedLoop& loop, Clock::time_point deadline) {
    loop_ = &loop;
    loop.start();
    const Status driven = sessions_.poll_until(
        [this] {
          answer_refused();
          return loop_->ended();
        },
        deadline);
    loop_ = nullptr;
    return driven;
  }

  void lock(std::uint32_t index) override {
    LockClient& client = *clients_[index];
    client.created.clear();
    client.error.clear();
    const std::string path = client.folder + "/lock-";
    const int sent = zoo_acreate(client.session,
                                 path.c_str(),
                                 nullptr,
                                 -1,
                                 &ZOO_OPEN_ACL_UNSAFE,
                                 ZOO_EPHEMERAL_SEQUENTIAL,
                                 &on_created,
                                 &client);
    if (sent != ZOK) {
      refused_.push_back({index, true, error_text(sent)});
    } else if (options_.children_at_once) {
      ask_for_children(client);
    }
  }

  void unlock(std::uint32_t index) override {
    LockClient& client = *clients_[index];
    const int sent = zoo_adelete(client.session, client.created.c_str(), -1, &on_deleted, &client);
    if (sent != ZOK) {
      refused_.push_back({index, false, error_text(sent)});
    }
  }

 private:
  struct LockClient {
    ZookeeperTarget* target = nullptr;
    std::uint32_t index = 0;
    std::string folder;
    zhandle_t* session = nullptr;
    std::string created;  // The path of its node, which unlocking deletes.
    std::string error;    // Of the creation, kept until the children's answer.
  };

  // A request that the client library would not take; answered from the loop, as all others.
  struct Refused {
    std::uint32_t client = 0;
    bool lock = false;
    std::string error;
  };

  struct Creations {
    std::size_t left = 0;
    int failure = ZOK;
  };

  static LockClient& client_of(const void* context) {
    return *const_cast<LockClient*>(static_cast<const LockClient*>(context));
  }

  static void on_made(int code, const char*, const void* context) {
    auto& creations = *const_cast<Creations*>(static_cast<const Creations*>(context));
    --creations.left;
    creations.failure = code == ZOK ? creations.failure : code;
  }

  // Persistent nodes, over as many sessions as there are.
  Status make_nodes(const std::vector<std::string>& paths) {
    // Outlives a failure: completions come at the latest when the sessions close.
    Creations& creations = *creations_.emplace_back(std::make_unique<Creations>());
    for (std::size_t index = 0; index < paths.size(); ++index) {
      const int sent = zoo_acreate(sessions_[index],
                                   paths[index].c_str(),
                                   nullptr,
                                   -1,
                                   &ZOO_OPEN_ACL_UNSAFE,
                                   ZOO_PERSISTENT,
                                   &on_made,
                                   &creations);
      if (sent != ZOK) {
        return Status{StatusCode::Unavailable, error_text(sent)};
      }
      ++creations.left;
    }
    GCOORD_TRY_STATUS(sessions_.poll_until([&creations] { return creations.left == 0; }));
    return creations.failure == ZOK
               ? Status{}
               : Status{StatusCode::Unavailable, error_text(creations.failure)};
  }

  static void on_created(int code, const char* path, const void* context) {
    LockClient& client = client_of(context);
    if (code == ZOK) {
      client.created = path;
    } else {
      client.error = error_text(code);
    }
    if (client.target->options_.children_at_once) {
      return;  // Their answer follows.
    }
    if (client.error.empty()) {
      client.target->ask_for_children(client);
    } else {
      client.target->answer(client.index, true, client.error);
    }
  }

  void ask_for_children(LockClient& client) {
    const int sent =
        zoo_aget_children(client.session, client.folder.c_str(), 0, &on_children, &client);
    if (sent != ZOK) {
      refused_.push_back({client.index, true, error_text(sent)});
    }
  }

  static void on_children(int code, const String_vector* children, const void* context) {
    LockClient& client = client_of(context);
    if (client.error.empty() && code != ZOK) {
      client.error = error_text(code);
    }
    if (client.error.empty() && !is_first(client, *children)) {
      client.error = "ZooKeeper: somebody else has the lock";
    }
    client.target->answer(client.index, true, client.error);
  }

  // Numbers have ten digits, so their order is that of the names.
  static bool is_first(const LockClient& client, const String_vector& children) {
    const std::string_view own = last_part(client.created);
    bool there = false;
    for (std::int32_t index = 0; index < children.count; ++index) {
      const std::string_view child = children.data[index];
      there = there || child == own;
      if (child < own) {
        return false;
      }
    }
    return there;
  }

  static void on_deleted(int code, const void* context) {
    const LockClient& client = client_of(context);
    client.target->answer(client.index, false, code == ZOK ? "" : error_text(code));
  }

  void answer_refused() {
    for (const Refused& each : std::exchange(refused_, {})) {
      answer(each.client, each.lock, each.error);
    }
  }

  // Nobody listens any more when sessions close that had requests under way.
  void answer(std::uint32_t client, bool lock, const std::string& error) {
    if (loop_ == nullptr) {
      return;
    }
    if (lock) {
      loop_->on_locked(client, error);
    } else {
      loop_->on_unlocked(client, error);
    }
  }

  const ZookeeperOptions& options_;
  ClosedLoop* loop_ = nullptr;  // While it is driven.
  std::vector<Refused> refused_;
  std::vector<std::unique_ptr<Creations>> creations_;
  std::vector<std::unique_ptr<LockClient>> clients_;
  Sessions sessions_;  // Gone first: closing one completes what is under way.
};

}  // namespace

Result<LoadResult> run_zookeeper(const ZookeeperOptions& options, const LoadOptions& load) {
  ZookeeperTarget target{options};
  GCOORD_TRY_STATUS(target.prepare(load.clients));
  ClosedLoop loop{load, target};
  const auto deadline = Clock::now() + load.warm_up + load.measured + kPatience;
  GCOORD_TRY_STATUS(target.drive(loop, deadline));
  return loop.take_result();
}

}  // namespace gcoord::bench
