#include "server/client_io/client_sockets.h"

#include "server/platform/operator_log.h"

#include <asio/ip/tcp.hpp>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <optional>
#include <utility>

namespace gcoord::server {

namespace {

// Nothing: it has no rings.
std::optional<RingSocket::Size> ring_size(ClientSockets::Use use) {
  using Use = ClientSockets::Use;
  switch (use) {
    case Use::Ring:
      return RingSocket::Size::Full;
    case Use::SmallRing:
      return RingSocket::Size::Smallest;
    case Use::NoRing:
      return RingSocket::Size::None;
    case Use::Client:
    case Use::Local:
    case Use::Brief:
      break;
  }
  return std::nullopt;
}

}  // namespace

Status ClientSockets::start() {
  if (options_.thread_count == 0) {
    tell_io_threads(metrics_, "none", 0);
    return Status{};
  }
  GCOORD_TRY(threads_,
             IoThreads::start(context_,
                              {.thread_count = options_.thread_count,
                               .backend = options_.backend,
                               .ingress = options_.ingress},
                              counters_));
  tell_io_threads(metrics_, threads_->backend_name(), options_.thread_count);
  const std::string& reason = threads_->fallback_reason();
  log_info(LogComponent::Clients,
           "{} I/O {} client sockets by {}{}",
           options_.thread_count,
           options_.thread_count == 1 ? "thread serves" : "threads serve",
           threads_->backend_name(),
           reason.empty() ? "" : "; " + reason);
  return Status{};
}

std::unique_ptr<ClientSocket> ClientSockets::make(asio::generic::stream_protocol::socket socket,
                                                  Use use) {
  auto made = make_socket(std::move(socket), use);
  made->set_tally(tally_);
  return made;
}

std::unique_ptr<ClientSocket> ClientSockets::make_socket(
    asio::generic::stream_protocol::socket socket, Use use) {
  if (const auto size = ring_size(use); size.has_value()) {
    return std::make_unique<RingSocket>(std::move(socket), rings_, *size);
  }
  asio::error_code ignored;
  // Replies of a turn leave in one write; waiting for more would only add latency. A Unix socket
  // has neither option, nor the need for them.
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  using NotSent = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_NOTSENT_LOWAT>;
  socket.set_option(NotSent(kKernelUnsentBytes), ignored);
  std::unique_ptr<ConnectionTls> tls;
  if (tls_on() && use == Use::Client) {
    tls = std::make_unique<ConnectionTls>(options_.tls->rule());
  }
  if (threads_ != nullptr && use != Use::Brief) {
    if (auto handed = threads_->make(socket.native_handle(), tls); handed != nullptr) {
      socket.release(ignored);
      return handed;
    }
  }
  return std::make_unique<DirectSocket>(std::move(socket), scratch_, std::move(tls));
}

void ClientSockets::take_reports() {
  tally_.add(IoCall::Loop);  // By which the pass began.
  rings_.polls.poll();
  if (threads_ != nullptr) {
    threads_->take_reports();
  }
}

void ClientSockets::hand_over() {
  counters_.take(tally_);
  if (threads_ != nullptr) {
    threads_->hand_over();
  }
}

bool ClientSockets::arm() {
  if (!rings_.polls.arm()) {
    return false;
  }
  if (threads_ == nullptr || threads_->arm()) {
    tally_.add(IoCall::Loop);  // In which the loop sleeps.
    return true;
  }
  threads_->take_reports();
  return false;
}

void ClientSockets::sweep() {
  const std::uint32_t stalled = threads_ == nullptr ? 0 : threads_->probe();
  counters_.stalled.set(stalled);
  if (std::exchange(stalled_, stalled) == stalled) {
    return;
  }
  if (stalled > 0) {
    log_warning(LogComponent::Clients,
                "{} of {} I/O threads do not come back: their clients wait, and get no company",
                stalled,
                threads_->thread_count());
  } else {
    log_info(LogComponent::Clients, "all I/O threads serve their clients again");
  }
}

void ClientSockets::settle() {
  if (threads_ != nullptr) {
    threads_->settle();
  }
}

}  // namespace gcoord::server
