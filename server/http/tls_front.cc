#include "server/http/tls_front.h"

#include "common/assert.h"
#include "server/platform/endpoint_name.h"
#include "server/platform/operator_log.h"

#include <asio/ip/tcp.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <limits>
#include <utility>

namespace gcoord::server {
namespace {

// Of one pass, as others wait for it.
constexpr int kAcceptsOfPass = 32;

asio::ip::tcp::endpoint endpoint_of(const HttpArrival& client) {
  asio::ip::tcp::endpoint endpoint;
  if (client.from_bytes <= endpoint.capacity()) {
    std::memcpy(endpoint.data(), &client.from, client.from_bytes);
    endpoint.resize(client.from_bytes);
  }
  return endpoint;
}

}  // namespace

TlsFront::TlsFront(const Options& options)
    : options_(options), tls_metrics_(options.metrics, "http") {}

TlsFront::~TlsFront() {
  ::close(options_.listening);
}

void TlsFront::want(std::vector<pollfd>& polled) const {
  polled.push_back({options_.listening, POLLIN, 0});
  for (const auto& relay : relays_) {
    for (const pollfd& each : relay->wanted()) {
      polled.push_back(each);
    }
  }
}

void TlsFront::advance(std::span<const pollfd> polled,
                       std::uint64_t now_ms,
                       const std::function<void(const HttpArrival&)>& serve) {
  GCOORD_ASSERT(polled.size() == 1 + 2 * relays_.size());
  cut_revoked(now_ms);
  for (std::size_t k = 0; k < relays_.size(); ++k) {
    TlsRelay& relay = *relays_[k];
    if (relay.state() == TlsRelay::State::Over) {
      continue;
    }
    const TlsState before = relay.news().state;
    relay.advance({polled[1 + 2 * k], polled[2 + 2 * k]}, now_ms);
    if (relay.news().state != before) {
      note(relay, now_ms);
      cut_if_revoked(relay, now_ms);
    }
    if (relay.state() == TlsRelay::State::Ready) {
      serve(relay.take());
    }
    if (relay.state() != TlsRelay::State::Over && late_ms(relay) <= now_ms) {
      relay.cut();
    }
  }
  cut_ending();
  std::erase_if(relays_, [](const auto& relay) { return relay->state() == TlsRelay::State::Over; });
  if (polled.front().revents != 0) {
    accept(now_ms, serve);
  }
}

void TlsFront::accept(std::uint64_t now_ms, const std::function<void(const HttpArrival&)>& serve) {
  for (int k = 0; k < kAcceptsOfPass; ++k) {
    HttpArrival client;
    client.from_bytes = sizeof client.from;
    client.socket = ::accept4(options_.listening,
                              reinterpret_cast<sockaddr*>(&client.from),
                              &client.from_bytes,
                              SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client.socket < 0) {
      return;
    }
    PortTls::Rule rule = options_.tls.rule();
    if (rule.mode == TlsMode::Off) {
      serve(client);
      continue;
    }
    make_room();
    relays_.push_back(std::make_unique<TlsRelay>(client, std::move(rule), now_ms));
  }
}

// After each change of the port's context.
void TlsFront::cut_revoked(std::uint64_t now_ms) {
  auto context = options_.tls.rule().context;
  if (context == context_) {
    return;
  }
  context_ = std::move(context);
  check_ = security::RevocationCheck(context_);
  for (const auto& relay : relays_) {
    cut_if_revoked(*relay, now_ms);
  }
}

void TlsFront::cut_if_revoked(TlsRelay& relay, std::uint64_t now_ms) {
  const TlsNews news = relay.news();
  if (!news.peer.has_value() || !check_.revokes(*news.peer)) {
    return;
  }
  relay.cut();
  tls_metrics_.count_revoked();
  if (lines_.may_log(now_ms)) {
    const asio::ip::tcp::endpoint from = endpoint_of(relay.client());
    const std::uint64_t unsaid = lines_.take_unsaid();
    log_warning(LogComponent::Http,
                "{} port: {} was cut: its certificate is revoked (GC3105){}",
                options_.port_name,
                to_string(Endpoint{from.address().to_string(), from.port()}),
                unsaid == 0 ? "" : "; so it was with " + std::to_string(unsaid) + " others");
  }
}

void TlsFront::make_room() {
  const auto shakes_hands = [](const auto& relay) {
    return relay->state() == TlsRelay::State::Handshake;
  };
  if (std::ranges::count_if(relays_, shakes_hands) >=
      static_cast<std::ptrdiff_t>(options_.limits.connections)) {
    relays_.erase(std::ranges::find_if(relays_, shakes_hands));
  }
}

void TlsFront::note(const TlsRelay& relay, std::uint64_t now_ms) {
  const TlsNews news = relay.news();
  const asio::ip::tcp::endpoint from = endpoint_of(relay.client());
  tls_metrics_.count(news, from.address());
  // On this host nobody listens in between; the metric counts it, too.
  const bool harmless = news.state == TlsState::Plain && from.address().is_loopback();
  if (news.state == TlsState::Open || harmless || !lines_.may_log(now_ms)) {
    return;
  }
  const std::uint64_t unsaid = lines_.take_unsaid();
  log_warning(LogComponent::Http,
              "{} port: {} {}{}",
              options_.port_name,
              to_string(Endpoint{from.address().to_string(), from.port()}),
              news.state == TlsState::Plain       ? "speaks plain text, which is still permitted"
              : news.state == TlsState::Forbidden ? "speaks plain text and is refused"
                                                  : "TLS: " + news.failure.to_string(),
              unsaid == 0 ? "" : "; so it was with " + std::to_string(unsaid) + " others");
}

// Of what has all the time that the library gives it: never.
std::uint64_t TlsFront::late_ms(const TlsRelay& relay) const {
  const auto after = [](std::uint64_t since_ms, std::chrono::milliseconds time) {
    return since_ms + static_cast<std::uint64_t>(time.count());
  };
  if (relay.state() == TlsRelay::State::Handshake) {
    return after(relay.since_ms(), options_.limits.header_time);
  }
  const auto ending_ms = relay.ending_since_ms();
  return ending_ms ? after(*ending_ms, options_.limits.request_time)
                   : std::numeric_limits<std::uint64_t>::max();
}

void TlsFront::cut_ending() {
  const auto ends = [](const auto& relay) {
    return relay->state() == TlsRelay::State::Relaying && relay->ending_since_ms().has_value();
  };
  auto left = static_cast<std::uint32_t>(std::ranges::count_if(relays_, ends));
  for (const auto& relay : relays_) {
    if (left <= options_.limits.connections) {
      return;
    }
    if (ends(relay)) {
      relay->cut();
      --left;
    }
  }
}

std::uint64_t TlsFront::until_late_ms(std::uint64_t now_ms, std::uint64_t at_most) const {
  std::uint64_t first_ms = now_ms + at_most;
  for (const auto& relay : relays_) {
    first_ms = std::min(first_ms, late_ms(*relay));
  }
  return first_ms - std::min(first_ms, now_ms);
}

}  // namespace gcoord::server
