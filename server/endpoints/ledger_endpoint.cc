#include "server/endpoints/ledger_endpoint.h"

#include "protocol/error_codes.h"
#include "server/endpoints/ledger_pages.h"

#include <civetweb.h>

#include <array>
#include <string>
#include <string_view>

namespace gcoord::server {
namespace {

constexpr const char* reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 410:
      return "Gone";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    default:
      return "Internal Server Error";
  }
}

void send_page(mg_connection* connection, const LedgerPage& page, bool body) {
  const std::string head = "HTTP/1.1 " + std::to_string(page.status) + " " +
                           reason_of(page.status) + "\r\nContent-Type: " + page.content_type +
                           "\r\nContent-Length: " + std::to_string(page.body.size()) +
                           "\r\nCache-Control: " +
                           (page.immutable ? "public, max-age=31536000, immutable" : "no-cache") +
                           "\r\nConnection: close\r\n\r\n";
  if (mg_write(connection, head.data(), head.size()) > 0 && body) {
    mg_write(connection, page.body.data(), page.body.size());
  }
}

}  // namespace

class LedgerEndpoint::Impl {
 public:
  Impl(const LedgerView& view, MetricsRegistry& metrics)
      : view_(view),
        answered_(metrics.counter(
            {"gcoord_ledger_requests_total", "requests to the ledger's port", "answer", "given"})),
        refused_(metrics.counter({"gcoord_ledger_requests_total",
                                  "requests to the ledger's port",
                                  "answer",
                                  "refused"})) {
    mg_init_library(0);
  }

  ~Impl() {
    if (context_ != nullptr) {
      mg_stop(context_);
    }
    mg_exit_library();
  }

  Status start(const std::string& address) {
    const std::string threads = std::to_string(kLedgerConnections);
    const std::string timeout = std::to_string(kLedgerRequestTimeout.count());
    const std::string request_bytes = std::to_string(kLedgerRequestBytesMax);
    std::array<const char*, 15> options = {"listening_ports",
                                           address.c_str(),
                                           "num_threads",
                                           threads.c_str(),
                                           "connection_queue",
                                           threads.c_str(),
                                           "request_timeout_ms",
                                           timeout.c_str(),
                                           "max_request_size",
                                           request_bytes.c_str(),
                                           "enable_keep_alive",
                                           "no",
                                           "tcp_nodelay",
                                           "1",
                                           nullptr};
    std::array<char, 256> why{};
    mg_error_data error{.text = why.data(), .text_buffer_size = why.size()};
    const mg_callbacks callbacks{};
    mg_init_data init{
        .callbacks = &callbacks, .user_data = nullptr, .configuration_options = options.data()};
    context_ = mg_start2(&init, &error);
    if (context_ == nullptr) {
      return protocol::make_error(protocol::ErrorCode::ListenFailed,
                                  "ledger port " + address + ": " + why.data());
    }
    mg_set_request_handler(context_, "**", &Impl::on_request, this);
    return {};
  }

  std::uint16_t port() const {
    mg_server_port port{};
    return mg_get_server_ports(context_, 1, &port) == 1 ? static_cast<std::uint16_t>(port.port)
                                                        : std::uint16_t{0};
  }

 private:
  static int on_request(mg_connection* connection, void* self) {
    return static_cast<Impl*>(self)->answer(connection);
  }

  // The status that was sent, for civetweb's log.
  int answer(mg_connection* connection) {
    const mg_request_info* request = mg_get_request_info(connection);
    const std::string_view method = request->request_method;
    LedgerPage page{.status = 405};
    if (method == "GET" || method == "HEAD") {
      page = ledger_page(view_, request->request_uri);
    } else {
      page.body = "only GET and HEAD\n";
    }
    (page.status == 200 ? answered_ : refused_).add(1);
    send_page(connection, page, method != "HEAD");
    return page.status;
  }

  const LedgerView& view_;
  Counter& answered_;
  Counter& refused_;
  mg_context* context_ = nullptr;
};

LedgerEndpoint::LedgerEndpoint(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

LedgerEndpoint::~LedgerEndpoint() = default;

Result<std::unique_ptr<LedgerEndpoint>> LedgerEndpoint::open(const std::string& address,
                                                             const LedgerView& view,
                                                             MetricsRegistry& metrics) {
  constexpr std::string_view kName = "localhost:";
  const bool named = address.starts_with(kName);
  auto impl = std::make_unique<Impl>(view, metrics);
  GCOORD_TRY_STATUS(impl->start(named ? "127.0.0.1:" + address.substr(kName.size()) : address));
  return std::unique_ptr<LedgerEndpoint>(new LedgerEndpoint(std::move(impl)));
}

std::uint16_t LedgerEndpoint::port() const {
  return impl_->port();
}

}  // namespace gcoord::server
