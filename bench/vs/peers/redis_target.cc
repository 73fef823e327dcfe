#include "bench/vs/peers/redis_target.h"

#include <hiredis/hiredis.h>
#include <poll.h>

#include <deque>
#include <memory>
#include <vector>

namespace gcoord::bench {

namespace {

constexpr const char* kLifeMs = "60000";  // Of a lock whose holder says nothing: PX.
constexpr timeval kPatience{.tv_sec = 30, .tv_usec = 0};

// From Redis's manual: a lock that has passed to somebody else must stay.
constexpr const char* kRelease =
    "if redis.call(\"get\",KEYS[1]) == ARGV[1] then return redis.call(\"del\",KEYS[1]) else return "
    "0 end";

struct FreeContext {
  void operator()(redisContext* context) const { redisFree(context); }
};

struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};

using Reply = std::unique_ptr<redisReply, FreeReply>;

// A command as bytes on the wire, built once for all the times that it is sent.
std::string command(const std::vector<std::string>& words) {
  std::vector<const char*> texts;
  std::vector<std::size_t> lengths;
  for (const std::string& word : words) {
    texts.push_back(word.data());
    lengths.push_back(word.size());
  }
  char* bytes = nullptr;
  const int count =
      redisFormatCommandArgv(&bytes, static_cast<int>(words.size()), texts.data(), lengths.data());
  std::string text =
      count < 0 ? std::string{} : std::string(bytes, static_cast<std::size_t>(count));
  redisFreeCommand(bytes);
  return text;
}

class RedisTarget final : public LockTarget {
 public:
  Status connect(const RedisOptions& options, std::uint32_t clients) {
    std::string script;
    for (std::uint32_t number = 0; number < options.connections; ++number) {
      Connection connection;
      connection.context.reset(redisConnectWithTimeout("127.0.0.1", options.port, kPatience));
      redisContext* context = connection.context.get();
      if (context == nullptr || context->err != 0) {
        return Status{StatusCode::Unavailable, "Redis takes no connection"};
      }
      redisSetTimeout(context, kPatience);
      if (number == 0) {
        const Reply loaded{
            static_cast<redisReply*>(redisCommand(context, "SCRIPT LOAD %s", kRelease))};
        if (!loaded || loaded->type != REDIS_REPLY_STRING) {
          return Status{StatusCode::Unavailable, "Redis takes no script"};
        }
        script.assign(loaded->str, loaded->len);
      }
      connections_.push_back(std::move(connection));
    }
    for (std::uint32_t client = 0; client < clients; ++client) {
      const std::string name = options.name_prefix + "/" + std::to_string(client);
      const std::string token = "token-" + std::to_string(client);
      clients_.push_back({.connection = client % connections_.size(),
                          .lock = command({"SET", name, token, "NX", "PX", kLifeMs}),
                          .unlock = command({"EVALSHA", script, "1", name, token})});
    }
    return Status{};
  }

  void lock(std::uint32_t client) override { send(client, clients_[client].lock, true); }

  void unlock(std::uint32_t client) override { send(client, clients_[client].unlock, false); }

  Status drive(ClosedLoop& loop, ClosedLoop::Clock::time_point deadline) {
    std::vector<pollfd> descriptors;
    for (const Connection& each : connections_) {
      descriptors.push_back({.fd = each.context->fd, .events = POLLIN, .revents = 0});
    }
    while (!loop.ended()) {
      if (ClosedLoop::Clock::now() > deadline) {
        return Status{StatusCode::DeadlineExceeded, "Redis did not answer"};
      }
      GCOORD_TRY_STATUS(flush());
      ::poll(descriptors.data(), descriptors.size(), 100);
      for (std::size_t index = 0; index < descriptors.size(); ++index) {
        if (descriptors[index].revents != 0) {
          GCOORD_TRY_STATUS(receive(connections_[index], loop));
        }
      }
    }
    return Status{};
  }

 private:
  struct Awaited {
    std::uint32_t client = 0;
    bool lock = false;
  };

  struct Connection {
    std::unique_ptr<redisContext, FreeContext> context;
    std::deque<Awaited> awaited;  // Answers come in the order of requests.
    bool dirty = false;
  };

  struct LockClient {
    std::size_t connection = 0;
    std::string lock;
    std::string unlock;
  };

  static Status broken(const Connection& connection) {
    return Status{StatusCode::Unavailable, std::string{"Redis: "} + connection.context->errstr};
  }

  void send(std::uint32_t client, const std::string& bytes, bool lock) {
    Connection& connection = connections_[clients_[client].connection];
    redisAppendFormattedCommand(connection.context.get(), bytes.data(), bytes.size());
    connection.awaited.push_back({client, lock});
    connection.dirty = true;
  }

  Status flush() {
    for (Connection& each : connections_) {
      int done = each.dirty ? 0 : 1;
      while (done == 0) {
        if (redisBufferWrite(each.context.get(), &done) != REDIS_OK) {
          return broken(each);
        }
      }
      each.dirty = false;
    }
    return Status{};
  }

  Status receive(Connection& connection, ClosedLoop& loop) {
    if (redisBufferRead(connection.context.get()) != REDIS_OK) {
      return broken(connection);
    }
    for (;;) {
      void* next = nullptr;
      if (redisGetReplyFromReader(connection.context.get(), &next) != REDIS_OK) {
        return broken(connection);
      }
      const Reply reply{static_cast<redisReply*>(next)};
      if (!reply) {
        return Status{};
      }
      if (connection.awaited.empty()) {
        return Status{StatusCode::DataLoss, "Redis answered what nobody asked"};
      }
      const Awaited to = connection.awaited.front();
      connection.awaited.pop_front();
      if (to.lock) {
        loop.on_locked(to.client, lock_error(*reply));
      } else {
        loop.on_unlocked(to.client, unlock_error(*reply));
      }
    }
  }

  static std::string lock_error(const redisReply& reply) {
    if (reply.type == REDIS_REPLY_ERROR) {
      return std::string(reply.str, reply.len);
    }
    return reply.type == REDIS_REPLY_STATUS ? "" : "Redis: somebody else has the lock";
  }

  static std::string unlock_error(const redisReply& reply) {
    if (reply.type == REDIS_REPLY_ERROR) {
      return std::string(reply.str, reply.len);
    }
    return reply.type == REDIS_REPLY_INTEGER && reply.integer == 1 ? ""
                                                                   : "Redis: the lock was not ours";
  }

  std::vector<Connection> connections_;
  std::vector<LockClient> clients_;
};

}  // namespace

Result<LoadResult> run_redis(const RedisOptions& options, const LoadOptions& load) {
  RedisTarget target;
  GCOORD_TRY_STATUS(target.connect(options, load.clients));
  ClosedLoop loop{load, target};
  const auto deadline = ClosedLoop::Clock::now() + load.warm_up + load.measured +
                        std::chrono::seconds{kPatience.tv_sec};
  loop.start();
  GCOORD_TRY_STATUS(target.drive(loop, deadline));
  return loop.take_result();
}

}  // namespace gcoord::bench
