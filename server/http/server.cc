#include "server/http/server.h"

#include "common/assert.h"
#include "common/host/event_level.h"
#include "common/host/loopback.h"
#include "common/host/thread_name.h"
#include "server/http/connection_table.h"
#include "server/http/exchange.h"
#include "server/http/listen_socket.h"
#include "server/http/port_lines.h"
#include "server/http/tls_front.h"
#include "server/platform/boot_time.h"

#include <asio/post.hpp>
#include <asio/thread_pool.hpp>
#include <microhttpd.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

// Of the library's own limit above ours: those that are cut stay open until it has seen it.
constexpr std::uint32_t kClosingConnections = 64;

// The thread looks up at least so often, whatever the library says.
constexpr std::uint64_t kWaitMs = 1000;

std::uint64_t now_ms() {
  return boot_time_us() / 1000;
}

struct Figures {
  Figures(MetricsRegistry& metrics, const std::string& port)
      : requests(metrics.counter(
            {"gcoord_http_requests_total", "Requests to this port.", "port", port})),
        open(metrics.gauge(
            {"gcoord_http_connections", "Open connections of this port.", "port", port})),
        slow(metrics.counter({"gcoord_http_slow_connections_total",
                              "Connections cut in a request or an answer that took too long.",
                              "port",
                              port})),
        crowded(metrics.counter({"gcoord_http_crowded_connections_total",
                                 "Connections cut or refused at a limit of connections.",
                                 "port",
                                 port})) {}

  Counter& requests;
  Gauge& open;
  Counter& slow;
  Counter& crowded;
};

}  // namespace

class HttpServer::Impl {
 public:
  Impl(HttpServerOptions options, HttpHandler handler, MetricsRegistry& metrics)
      : metrics_(metrics),
        options_(std::move(options)),
        handler_(std::move(handler)),
        figures_(metrics, options_.port_name),
        lines_(options_.port_name),
        table_(options_.limits),
        handlers_(options_.limits.threads) {}

  ~Impl() {
    if (thread_.joinable()) {
      stop();
      thread_.join();
    }
    handlers_.stop();
    handlers_.join();
    end();
  }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Status start() {
    wake_fd_ = wake_.get(false);
    if (wake_fd_ < 0) {
      return Status{StatusCode::Internal, "no descriptor for the HTTP port"};
    }
    GCOORD_TRY(const ListenSocket listen, open_listen_socket(options_.option, options_.listen));
    port_ = listen.port;
    if (options_.tls != nullptr) {
      front_ = std::make_unique<TlsFront>(TlsFront::Options{.listening = listen.socket,
                                                            .port_name = options_.port_name,
                                                            .limits = options_.limits,
                                                            .tls = *options_.tls,
                                                            .metrics = metrics_});
    }
    daemon_ = start_daemon(front_ == nullptr ? listen.socket : -1);
    if (daemon_ == nullptr) {
      if (front_ == nullptr) {
        ::close(listen.socket);
      }
      return Status{StatusCode::Internal, "libmicrohttpd does not start"};
    }
    thread_ = std::thread([this] {
      name_this_thread("http");
      turn();
    });
    return Status{};
  }

  std::uint16_t port() const { return port_; }

 private:
  // The library's calls, all in turn()'s thread; their parameters are its own. Without a socket to
  // listen on, connections come from the front.
  MHD_Daemon* start_daemon(int socket) {
    const MHD_AcceptPolicyCallback accepting = [](void* self, const sockaddr* from, socklen_t) {
      return static_cast<Impl*>(self)->accept(from) ? MHD_YES : MHD_NO;
    };
    const MHD_AccessHandlerCallback requesting = [](void* self,
                                                    MHD_Connection* connection,
                                                    const char* path,
                                                    const char* method,
                                                    const char*,
                                                    const char*,
                                                    std::size_t* body_bytes,
                                                    void** exchange) {
      auto* impl = static_cast<Impl*>(self);
      if (*exchange == nullptr) {
        auto* fresh = new HttpExchange{.connection = connection, .request = {.path = path}};
        fresh->request.gone = fresh->gone.get_token();
        *exchange = fresh;
        return impl->on_header(*fresh, method);
      }
      return impl->on_body(*static_cast<HttpExchange*>(*exchange), *body_bytes);
    };
    const MHD_RequestCompletedCallback completing =
        [](void* self, MHD_Connection* connection, void** exchange, MHD_RequestTerminationCode) {
          delete static_cast<HttpExchange*>(*exchange);
          *exchange = nullptr;
          static_cast<Impl*>(self)->table_.on_answered(socket_of(connection), now_ms());
        };
    const MHD_NotifyConnectionCallback connecting =
        [](void* self, MHD_Connection* connection, void**, MHD_ConnectionNotificationCode what) {
          static_cast<Impl*>(self)->on_connection(connection,
                                                  what == MHD_CONNECTION_NOTIFY_STARTED);
        };
    const std::array<MHD_OptionItem, 2> listening{
        {{socket < 0 ? MHD_OPTION_END : MHD_OPTION_LISTEN_SOCKET, socket, nullptr},
         {MHD_OPTION_END, 0, nullptr}}};
    const HttpServerLimits& limits = options_.limits;
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME |
            (socket < 0 ? static_cast<unsigned>(MHD_USE_NO_LISTEN_SOCKET) : 0u),
        0,
        accepting,
        this,
        requesting,
        this,
        MHD_OPTION_ARRAY,
        listening.data(),
        MHD_OPTION_CONNECTION_LIMIT,
        static_cast<unsigned>(limits.connections + limits.spare_connections + kClosingConnections),
        MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        limits.header_bytes,
        MHD_OPTION_CONNECTION_MEMORY_INCREMENT,
        std::min<std::size_t>(limits.header_bytes / 4, 1024),
        MHD_OPTION_UNESCAPE_CALLBACK,
        &leave_escaped,
        nullptr,
        MHD_OPTION_NOTIFY_CONNECTION,
        connecting,
        this,
        MHD_OPTION_NOTIFY_COMPLETED,
        completing,
        this,
        MHD_OPTION_END);
  }

  void on_connection(MHD_Connection* connection, bool opened) {
    if (opened) {
      table_.open(socket_of(connection), http_source(address_of(connection)), now_ms());
    } else {
      table_.close(socket_of(connection));
    }
    if (!opened) {
      peers_.erase(socket_of(connection));
    }
    figures_.open.set(static_cast<std::int64_t>(table_.size()));
  }

  bool accept(const sockaddr* from) {
    const HttpConnectionTable::Room room = table_.make_room(http_source(from));
    if (room.cut.has_value() || !room.taken) {
      figures_.crowded.add();
      lines_.on_crowded(from, room.taken, table_.size());
    }
    if (room.cut.has_value()) {
      ::shutdown(*room.cut, SHUT_RDWR);
    }
    return room.taken;
  }

  // The header is whole. An answer that is queued here makes the library close the connection,
  // which is right only before a body that nobody reads.
  MHD_Result on_header(HttpExchange& exchange, std::string_view method) {
    table_.on_header(socket_of(exchange.connection), now_ms());
    figures_.requests.add();
    const bool body = has_body(exchange.connection);
    exchange.method = method;
    exchange.request.head = method == MHD_HTTP_METHOD_HEAD;
    if (method != MHD_HTTP_METHOD_GET && !exchange.request.head) {
      exchange.answer = {.status = 405, .body = "only GET and HEAD\n"};
      exchange.answered = true;
    } else if (body) {
      exchange.answer = {.status = 413, .body = "no request has a body\n"};
      exchange.answered = true;
    }
    return body ? finish(exchange) : MHD_YES;
  }

  // Later calls: with more of a body, when the request is whole, and after resume().
  MHD_Result on_body(HttpExchange& exchange, std::size_t& bytes) {
    if (bytes > 0) {
      bytes = 0;  // Of a request that is refused already.
      return MHD_YES;
    }
    return exchange.answered ? finish(exchange) : begin(exchange);
  }

  MHD_Result finish(HttpExchange& exchange) {
    const HttpAnswer& answer = exchange.answer;
    if (answer.status >= 400 && answer.status < 500) {
      lines_.on_refused({.line = exchange.method + " " + exchange.request.path,
                         .from = address_of(exchange.connection),
                         .status = answer.status});
    }
    return send_answer(exchange);
  }

  // How its client says who it is, and where it is.
  void take_credentials(HttpExchange& exchange) const {
    if (const auto peer = peers_.find(socket_of(exchange.connection)); peer != peers_.end()) {
      exchange.request.peer = peer->second;
    }
    exchange.request.bearer = bearer_of(exchange.connection);
    exchange.request.loopback = gcoord::is_loopback(*address_of(exchange.connection));
  }

  // The request is whole: it is answered at once, or a thread of the handlers has it from here to
  // resume().
  MHD_Result begin(HttpExchange& exchange) {
    take_credentials(exchange);
    if (stop_.load()) {  // No handler is left to end a suspension.
      exchange.answer = {.status = 503, .body = "the node stops\n"};
      exchange.answered = true;
      return finish(exchange);
    }
    exchange.request.arguments = arguments_of(exchange.connection);
    if (auto answer = options_.at_once ? options_.at_once(exchange.request) : std::nullopt) {
      exchange.answer = *std::move(answer);
      exchange.answered = true;
      return finish(exchange);
    }
    if (!table_.within_limits(socket_of(exchange.connection))) {
      figures_.crowded.add();
      lines_.on_crowded(address_of(exchange.connection), false, table_.size());
      exchange.answer = {.status = 503, .body = "too many connections are being answered\n"};
      exchange.answered = true;
      return finish(exchange);
    }
    MHD_suspend_connection(exchange.connection);
    suspended_.insert(&exchange);
    asio::post(handlers_, [this, &exchange] {
      exchange.answer = handler_(exchange.request);
      const std::lock_guard lock(mutex_);
      done_.push_back(&exchange);
      wake_.set(true);
    });
    return MHD_YES;
  }

  // ---- The thread of all sockets ----

  void turn() {
    while (!stop_.load()) {
      wait();
      for (HttpExchange* exchange : take_done()) {
        resume(*exchange);
      }
      MHD_run(daemon_);
      const HttpConnectionTable::Late late = table_.take_late(now_ms());
      figures_.slow.add(late.slow);
      lines_.on_slow(late.slow);
      for (const int socket : late.sockets) {
        ::shutdown(socket, SHUT_RDWR);
      }
      look_for_ends();
    }
  }

  // Once a second.
  void look_for_ends() {
    const std::uint64_t time_ms = now_ms();
    if (time_ms >= next_look_ms_) {
      next_look_ms_ = time_ms + kWaitMs;
      std::ranges::for_each(table_.waiting(), &cut_if_ended);
      for (HttpExchange* exchange : suspended_) {  // The library does not look at them.
        if (has_ended(socket_of(exchange->connection))) {
          exchange->gone.request_stop();
        }
      }
    }
  }

  void wait() {
    MHD_UNSIGNED_LONG_LONG library_ms = kWaitMs;
    if (MHD_get_timeout(daemon_, &library_ms) != MHD_YES) {
      library_ms = kWaitMs;
    }
    std::uint64_t wait_ms =
        table_.until_late_ms(now_ms(), std::min<std::uint64_t>(library_ms, kWaitMs));
    const int library = ::MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    polled_.assign({{library, POLLIN, 0}, {wake_fd_, POLLIN, 0}});
    const std::size_t own = polled_.size();
    if (front_ != nullptr) {
      front_->want(polled_);
      wait_ms = front_->until_late_ms(now_ms(), wait_ms);
    }
    ::poll(polled_.data(), polled_.size(), static_cast<int>(wait_ms));
    if (front_ != nullptr) {
      front_->advance(std::span{polled_}.subspan(own), now_ms(), [this](const HttpArrival& client) {
        if (client.peer != nullptr) {
          peers_.insert_or_assign(client.socket, client.peer);
        } else {
          peers_.erase(client.socket);
        }
        MHD_add_connection(daemon_,
                           client.socket,
                           reinterpret_cast<const sockaddr*>(&client.from),
                           client.from_bytes);
      });
    }
  }

  std::vector<HttpExchange*> take_done() {
    const std::lock_guard lock(mutex_);
    wake_.set(false);
    return std::exchange(done_, {});
  }

  void resume(HttpExchange& exchange) {
    exchange.answered = true;
    suspended_.erase(&exchange);
    MHD_resume_connection(exchange.connection);
  }

  void stop() {
    stop_.store(true);
    const std::lock_guard lock(mutex_);
    wake_.set(true);
  }

  // No other thread is left. The library ends only when nothing is suspended.
  void end() {
    if (daemon_ == nullptr) {
      return;
    }
    for (HttpExchange* exchange : take_done()) {
      resume(*exchange);
    }
    while (!suspended_.empty()) {
      HttpExchange& exchange = **suspended_.begin();
      exchange.answer = {.status = 503, .body = "the node stops\n"};
      resume(exchange);
    }
    for (int pass = 0; pass < 3; ++pass) {  // One takes the answers, the next ones send them.
      MHD_run(daemon_);
    }
    GCOORD_ASSERT(suspended_.empty());  // The library would end the process.
    MHD_stop_daemon(daemon_);
  }

  MetricsRegistry& metrics_;
  HttpServerOptions options_;
  HttpHandler handler_;
  Figures figures_;
  std::uint16_t port_ = 0;
  MHD_Daemon* daemon_ = nullptr;
  std::unique_ptr<TlsFront> front_;  // None: the library accepts.
  std::vector<pollfd> polled_;
  HttpPortLines lines_;
  HttpConnectionTable table_;
  std::unordered_map<int, std::shared_ptr<const security::TlsPeer>> peers_;  // By socket.
  std::uint64_t next_look_ms_ = 0;
  std::unordered_set<HttpExchange*> suspended_;
  std::mutex mutex_;
  std::vector<HttpExchange*> done_;  // Under mutex_: the handler has answered, not resumed yet.
  EventLevel wake_;                  // Under mutex_: some are done, or stop_.
  int wake_fd_ = -1;
  std::atomic<bool> stop_{false};
  asio::thread_pool handlers_;
  std::thread thread_;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::open(HttpServerOptions options,
                                                     HttpHandler handler,
                                                     MetricsRegistry& metrics) {
  auto impl = std::make_unique<Impl>(std::move(options), std::move(handler), metrics);
  GCOORD_TRY_STATUS(impl->start());
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

std::uint16_t HttpServer::port() const {
  return impl_->port();
}

}  // namespace gcoord::server
