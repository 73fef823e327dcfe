#include "netcore/transport/transport_tcp.h"

#include "netcore/transport/name_lookup.h"
#include "netcore/transport/sealed_frames.h"
#include "netcore/transport/tcp_link.h"
#include "netcore/transport/tcp_socket.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gcoord::netcore {
namespace {

constexpr std::uint64_t kListenerTag = 0;  // No link has number 0.
constexpr int kEventsPerTurn = 64;
constexpr int kAcceptsPerTurn = 64;

class TcpTransport final : public Transport {
 public:
  explicit TcpTransport(std::shared_ptr<const LinkTlsRules> tls)
      : epoll_(::epoll_create1(EPOLL_CLOEXEC)), tls_(std::move(tls)) {
    hold_spare();
  }

  std::string_view name() const override { return "tcp"; }

  Result<std::uint16_t> listen(const std::string& host, std::uint16_t port) override {
    SocketAddress address;
    if (!parse_numeric_address(host, port, address)) {
      // Start-up may wait for a name; a running node never does.
      NameLookup lookup{host, port, 0};
      GCOORD_TRY(address, lookup.wait());
    }
    std::uint16_t bound_port = 0;
    GCOORD_TRY(listener_, listen_socket(address, bound_port));
    if (!watch(EPOLL_CTL_ADD, listener_.get(), EPOLLIN, kListenerTag)) {
      return Status{StatusCode::ResourceExhausted, std::string{"epoll: "} + std::strerror(errno)};
    }
    return bound_port;
  }

  Result<LinkId> connect(const std::string& host, std::uint16_t port) override {
    const LinkId id{next_link_++};
    SocketAddress address;
    if (!parse_numeric_address(host, port, address)) {
      lookups_.emplace(id, NameLookup{host, port, lookups_of_name_[host]++});
      return id;
    }
    GCOORD_TRY_STATUS(start(id, address));
    return id;
  }

  std::size_t send(LinkId id, std::span<const std::span<const std::byte>> messages) override {
    const auto found = links_.find(id);
    if (found == links_.end()) {
      return 0;
    }
    const std::size_t taken = found->second->send(messages);
    if (taken < messages.size() || found->second->has_unsent()) {
      watch(EPOLL_CTL_MOD, found->second->fd(), EPOLLIN | EPOLLOUT, id.value);
    }
    return taken;
  }

  void trust(LinkId id) override {
    const auto found = links_.find(id);
    if (found != links_.end()) {
      found->second->trust();
    }
  }

  void close(LinkId id) override {
    lookups_.erase(id);
    const auto found = links_.find(id);
    if (found != links_.end()) {
      found->second->send_unsent();
      retire(found);
    }
  }

  bool is_encrypted(LinkId id) const override {
    const auto found = links_.find(id);
    return found != links_.end() && found->second->is_encrypted();
  }

  const security::TlsPeer* certificate(LinkId id) const override {
    const auto found = links_.find(id);
    return found == links_.end() ? nullptr : found->second->certificate();
  }

  security::SecretBytes frame_secret(LinkId id) const override {
    const auto found = links_.find(id);
    return found == links_.end()
               ? security::SecretBytes{}
               : found->second->exported_key(kFrameRecordsLabel, kFrameRecordsSecretBytes);
  }

  std::string route(LinkId id) const override { return is_encrypted(id) ? "tcp with tls" : "tcp"; }

  void progress(std::uint64_t /*now_ms*/, LinkEvents& events) override {
    poll_lookups(events);
    std::array<epoll_event, kEventsPerTurn> ready{};
    const int count = ::epoll_wait(epoll_.get(), ready.data(), kEventsPerTurn, 0);
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = ready[static_cast<std::size_t>(i)];
      if (event.data.u64 == kListenerTag) {
        accept_some(events);
      } else {
        on_ready(LinkId{event.data.u64}, event.events, events);
      }
    }
    retired_.clear();
  }

  int event_fd() const override { return epoll_.get(); }

  // Level-triggered: whatever is left makes the fd readable at once. Answers of name servers do
  // not; PeerNetwork::next_deadline_ms brings the caller back for those.
  bool arm() override { return true; }

 private:
  using Links = std::unordered_map<LinkId, std::unique_ptr<TcpLink>>;

  bool watch(int operation, int fd, std::uint32_t interest, std::uint64_t tag) {
    epoll_event event{};
    event.events = interest;
    event.data.u64 = tag;
    return ::epoll_ctl(epoll_.get(), operation, fd, &event) == 0;
  }

  // A spare descriptor lets a node that has run out of them still accept and refuse; otherwise the
  // waiting connection would keep the event fd readable for ever.
  void hold_spare() { spare_ = FileDescriptor{::open("/dev/null", O_RDONLY | O_CLOEXEC)}; }

  Status start(LinkId id, const SocketAddress& address) {
    GCOORD_TRY(FileDescriptor fd, connect_socket(address));
    const int number = fd.get();
    links_.emplace(id,
                   std::make_unique<TcpLink>(
                       std::move(fd), TcpLink::Phase::Connecting, tls_of_call(to_string(address))));
    called_[id] = to_string(address);
    watch(EPOLL_CTL_ADD, number, EPOLLOUT, id.value);
    return {};
  }

  std::optional<LinkTls> tls_of_call(const std::string& address) const {
    const LinkTlsMode mode = tls_ == nullptr ? LinkTlsMode::Off : tls_->mode();
    const bool goes_plain = mode == LinkTlsMode::Permissive && without_tls_.contains(address);
    return mode == LinkTlsMode::Off || goes_plain ? std::nullopt
                                                  : std::optional{LinkTls::for_caller(*tls_)};
  }

  std::optional<LinkTls> tls_of_accepted() const {
    const bool has = tls_ != nullptr && tls_->mode() != LinkTlsMode::Off;
    return has ? std::optional{LinkTls::for_called(*tls_)} : std::nullopt;
  }

  // A call that ends: whether the next one to its address tries TLS.
  void note_end(LinkId id, const TcpLink& link) {
    const auto found = called_.find(id);
    if (found == called_.end()) {
      return;
    }
    if (link.has_failed_tls()) {
      without_tls_.insert(found->second);
    } else {
      without_tls_.erase(found->second);
    }
    called_.erase(found);
  }

  void poll_lookups(LinkEvents& events) {
    std::vector<std::pair<LinkId, Result<SocketAddress>>> answers;
    for (auto& [id, lookup] : lookups_) {
      if (auto answer = lookup.poll()) {
        answers.emplace_back(id, std::move(*answer));
      }
    }
    for (const auto& [id, answer] : answers) {
      lookups_.erase(id);
      const Status started = answer.ok() ? start(id, answer.value()) : answer.status();
      if (!started.ok()) {
        events.on_closed(id, DropReason::None, started.message());
      }
    }
  }

  void accept_some(LinkEvents& events) {
    for (int i = 0; i < kAcceptsPerTurn; ++i) {
      SocketAddress from;
      from.length = sizeof(from.storage);
      auto* address = reinterpret_cast<sockaddr*>(&from.storage);
      FileDescriptor fd{
          ::accept4(listener_.get(), address, &from.length, SOCK_NONBLOCK | SOCK_CLOEXEC)};
      if (!fd.is_open()) {
        if (errno == EMFILE || errno == ENFILE) {
          spare_.reset();
          fd = FileDescriptor{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
          fd.reset();
          hold_spare();
        }
        return;
      }
      tune_socket(fd.get());
      const LinkId id{next_link_++};
      const int number = fd.get();
      links_.emplace(
          id, std::make_unique<TcpLink>(std::move(fd), TcpLink::Phase::Open, tls_of_accepted()));
      watch(EPOLL_CTL_ADD, number, EPOLLIN, id.value);
      events.on_accepted(id, to_string(from));
    }
  }

  void on_ready(LinkId id, std::uint32_t ready, LinkEvents& events) {
    const auto found = links_.find(id);
    if (found == links_.end()) {
      return;  // Closed earlier in this turn.
    }
    TcpLink& link = *found->second;
    if (link.phase() == TcpLink::Phase::Connecting) {
      on_connect_done(id, link, events);
      return;
    }
    if ((ready & EPOLLOUT) != 0 && link.send_unsent()) {
      watch(EPOLL_CTL_MOD, link.fd(), EPOLLIN, id.value);
    }
    if ((ready & (EPOLLIN | EPOLLERR | EPOLLHUP)) == 0) {
      return;
    }
    const auto end = link.receive([&](std::span<const std::byte> message) {
      events.on_message(id, message);
      return links_.contains(id);
    });
    const auto still = links_.find(id);
    if (still == links_.end()) {
      return;
    }
    if (end.has_value()) {
      retire(still);
      events.on_closed(id, end->drop, end->reason);
    } else if (still->second->has_unsent()) {
      watch(EPOLL_CTL_MOD, link.fd(), EPOLLIN | EPOLLOUT, id.value);
    }
  }

  void on_connect_done(LinkId id, TcpLink& link, LinkEvents& events) {
    const int error = connect_error(link.fd());
    if (error != 0) {
      retire(links_.find(id));
      events.on_closed(
          id, DropReason::None, std::string{"cannot connect: "} + std::strerror(error));
      return;
    }
    link.open();
    tune_socket(link.fd());
    watch(EPOLL_CTL_MOD, link.fd(), link.has_unsent() ? EPOLLIN | EPOLLOUT : EPOLLIN, id.value);
    events.on_connected(id);
  }

  // The socket closes now; the object lives until the end of the turn, because one of its functions
  // may be running.
  void retire(Links::iterator found) {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, found->second->fd(), nullptr);
    note_end(found->first, *found->second);
    found->second->shut();
    retired_.push_back(std::move(found->second));
    links_.erase(found);
  }

  FileDescriptor epoll_;
  FileDescriptor listener_;
  FileDescriptor spare_;
  Links links_;
  std::vector<std::unique_ptr<TcpLink>> retired_;
  std::map<LinkId, NameLookup> lookups_;
  std::map<std::string, std::uint32_t> lookups_of_name_;
  std::shared_ptr<const LinkTlsRules> tls_;
  std::unordered_map<LinkId, std::string> called_;  // The address of each link that was called.
  std::set<std::string> without_tls_;  // Addresses that did not answer a call with TLS.
  std::uint64_t next_link_ = 1;
};

}  // namespace

std::unique_ptr<Transport> make_tcp_transport(std::shared_ptr<const LinkTlsRules> tls) {
  return std::make_unique<TcpTransport>(std::move(tls));
}

}  // namespace gcoord::netcore
