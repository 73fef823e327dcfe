// Health checks over TCP: a connection, or a GET and the first line of its answer (RFC 9112).
#include "client/health/health_probe.h"
#include "client/health/health_target.h"
#include "client/net/asio.h"

#include <asio/connect.hpp>
#include <asio/thread_pool.hpp>

#include <array>
#include <charconv>
#include <string_view>
#include <utility>

namespace gcoord::client {
namespace {

// "HTTP/1.1 200" is all that is looked at; who sends no line's end within this speaks something
// else.
constexpr std::size_t kAnswerBytesMax = 4096;

// 0 when it is no status line.
int status_of(std::string_view line) {
  const std::size_t blank = line.find(' ');
  int code = 0;
  if (!line.starts_with("HTTP/1.") || blank == std::string_view::npos) {
    return 0;
  }
  const char* begin = line.data() + blank + 1;
  const auto [stop, error] = std::from_chars(begin, line.data() + line.size(), code);
  return error == std::errc{} && stop == begin + 3 ? code : 0;
}

// Where names are looked up: in a thread of its own, since the system's look-up may take as long as
// it likes. Not in the one of the context's resolvers, where the addresses of nodes are looked up
// too. One per context, made by the first name.
class LookupThread final : public asio::execution_context::service {
 public:
  using key_type = LookupThread;
  static asio::execution_context::id id;

  explicit LookupThread(asio::execution_context& context)
      : asio::execution_context::service(context) {}

  asio::thread_pool& pool() { return pool_; }

 private:
  // What has not begun is dropped.
  void shutdown() override {
    pool_.stop();
    pool_.join();
  }

  asio::thread_pool pool_{1};
};

asio::execution_context::id LookupThread::id;

class NetworkProbe final : public HealthProbe, public std::enable_shared_from_this<NetworkProbe> {
 public:
  NetworkProbe(asio::io_context& context, NetworkTarget target, Found found)
      : context_(context), socket_(context), target_(std::move(target)), found_(std::move(found)) {
    if (!target_.path.empty()) {
      // One answer and then the end, whatever the server would rather do.
      text_ = "GET " + target_.path + " HTTP/1.1\r\nHost: " + target_.authority +
              "\r\nUser-Agent: gcoord-check\r\nAccept: */*\r\nConnection: close\r\n\r\n";
    }
  }

  void start() {
    asio::error_code error;
    const auto numeric = asio::ip::make_address(target_.host, error);
    const std::string port = std::to_string(target_.port);
    if (!error) {
      const asio::ip::tcp::endpoint endpoint{numeric, target_.port};
      return connect(Endpoints::create(endpoint, target_.host, port));
    }
    look_up(port);
  }

  void stop() override {
    found_ = {};
    asio::error_code ignored;
    socket_.close(ignored);
  }

 private:
  using Endpoints = asio::ip::tcp::resolver::results_type;

  // The other thread never owns the probe, so that it never ends there.
  void look_up(const std::string& port) {
    asio::thread_pool& pool = asio::use_service<LookupThread>(context_).pool();
    asio::post(
        pool, [weak = weak_from_this(), &pool, &context = context_, host = target_.host, port] {
          if (weak.expired()) {
            return;  // It was broken off while others were looked up.
          }
          asio::error_code failed;
          const Endpoints endpoints = asio::ip::tcp::resolver{pool}.resolve(host, port, failed);
          asio::post(context, [weak, failed, endpoints] {
            if (const auto self = weak.lock()) {
              self->on_looked_up(failed, endpoints);
            }
          });
        });
  }

  void on_looked_up(const asio::error_code& failed, const Endpoints& endpoints) {
    if (failed) {
      report(false, "cannot be resolved: " + failed.message());
    } else if (found_) {
      connect(endpoints);
    }
  }

  void connect(const Endpoints& endpoints) {
    asio::async_connect(socket_,
                        endpoints,
                        [self = shared_from_this()](const asio::error_code& error, const auto&) {
                          if (error) {
                            self->report(false, error.message());
                          } else if (self->text_.empty()) {
                            self->report(true, "connected");
                          } else if (self->found_) {
                            self->ask();
                          }
                        });
  }

  void ask() {
    asio::async_write(socket_,
                      asio::buffer(text_),
                      [self = shared_from_this()](const asio::error_code& error, std::size_t) {
                        if (error) {
                          return self->report(false, error.message());
                        }
                        self->text_.clear();
                        self->read();
                      });
  }

  void read() {
    if (!found_) {
      return;
    }
    socket_.async_read_some(
        asio::buffer(bytes_),
        [self = shared_from_this()](const asio::error_code& error, std::size_t byte_count) {
          self->text_.append(self->bytes_.data(), byte_count);
          const std::size_t end = self->text_.find("\r\n");
          if (end != std::string::npos) {
            self->judge(std::string_view{self->text_}.substr(0, end));
          } else if (error || self->text_.size() >= kAnswerBytesMax) {
            self->report(false, error ? "no HTTP answer: " + error.message() : "no HTTP answer");
          } else {
            self->read();
          }
        });
  }

  void judge(std::string_view line) {
    const int status = status_of(line);
    report(status >= 200 && status < 300,
           status == 0 ? "no HTTP answer" : "HTTP status " + std::to_string(status));
  }

  void report(bool passed, std::string evidence) {
    const Found found = std::exchange(found_, {});
    asio::error_code ignored;
    socket_.close(ignored);
    if (found) {
      found(passed, std::move(evidence));
    }
  }

  asio::io_context& context_;
  asio::ip::tcp::socket socket_;
  NetworkTarget target_;
  Found found_;
  std::string text_;  // What is sent, then what came.
  std::array<char, 1024> bytes_{};
};

}  // namespace

std::shared_ptr<HealthProbe> start_network_probe(asio::io_context& context,
                                                 const HealthCheck& check,
                                                 HealthProbe::Found found) {
  const auto probe =
      std::make_shared<NetworkProbe>(context, network_target(check).value(), std::move(found));
  probe->start();
  return probe;
}

std::shared_ptr<HealthProbe> start_probe(asio::io_context& context,
                                         const HealthCheck& check,
                                         HealthProbe::Found found) {
  return check.kind == CheckKind::Command ? start_command_probe(context, check, std::move(found))
                                          : start_network_probe(context, check, std::move(found));
}

}  // namespace gcoord::client
