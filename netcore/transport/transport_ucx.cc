#include "netcore/transport/transport_ucx.h"

#include "netcore/channel/frame.h"
#include "netcore/transport/sealed_frames.h"
#include "netcore/transport/tcp_socket.h"
#include "netcore/transport/transport_tcp.h"
#include "netcore/transport/ucx_lane.h"

#include <sys/epoll.h>

#include <array>
#include <cstring>
#include <deque>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace gcoord::netcore {
namespace {

// How one direction moves from TCP to UCX; never renumber. Address: here is my worker. Switch: my
// next frame comes by UCX. Ready: everything before your Switch has arrived, go on. A sender waits
// for Ready, so frames of the two ways can never overtake each other.
enum class Step : std::uint8_t { Address = 1, Switch = 2, Ready = 3 };

// The second byte of an Address is the algorithm of the records in which frames will come; 0: they
// will not be sealed.
std::vector<std::byte> encode_step(Step step, std::span<const std::byte> address, bool sealed) {
  Slot slot{};
  slot.bytes[0] = static_cast<std::byte>(step);
  slot.bytes[1] = sealed ? std::byte{security::kRecordAlgorithm} : std::byte{0};
  const PayloadExtent extent{0, address};
  const std::span<const PayloadExtent> extents{&extent, address.empty() ? 0u : 1u};
  std::vector<std::byte> frame(frame_bytes(1, extents));
  FrameHeader header;
  header.kind = FrameKind::Setup;
  header.band = Band::Control;
  encode_frame(header, {&slot, 1}, extents, 0, frame);
  return frame;
}

class UcxTransport final : public Transport, private LinkEvents {
 public:
  UcxTransport(std::unique_ptr<UcxContext> context, std::shared_ptr<const LinkTlsRules> tls)
      : context_(std::move(context)),
        tcp_(make_tcp_transport(std::move(tls))),
        epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    watch(tcp_->event_fd());
  }

  ~UcxTransport() override {
    for (auto& [id, link] : links_) {
      retire_lane(link);
    }
  }

  std::string_view name() const override { return "ucx"; }

  Result<std::uint16_t> listen(const std::string& host, std::uint16_t port) override {
    return tcp_->listen(host, port);
  }

  Result<LinkId> connect(const std::string& host, std::uint16_t port) override {
    Result<LinkId> link = tcp_->connect(host, port);
    if (link.ok()) {
      calls_.insert(link.value());
    }
    return link;
  }

  std::size_t send(LinkId id, std::span<const std::span<const std::byte>> messages) override {
    const auto found = links_.find(id);
    if (found == links_.end()) {
      return tcp_->send(id, messages);
    }
    Link& link = found->second;
    if (!send_steps(id, link) || link.phase == Phase::Switching) {
      return 0;
    }
    return link.phase == Phase::OnLane ? link.lane->send(messages) : tcp_->send(id, messages);
  }

  void trust(LinkId id) override {
    tcp_->trust(id);
    Link& link = links_[id];
    Result<std::unique_ptr<UcxLane>> lane = UcxLane::create(*context_);
    if (!lane.ok()) {
      link.why_tcp = lane.status().message();
      return;  // The link stays on TCP, which works without.
    }
    if (lane.value()->address().size() > kExtentBytesMax[0]) {
      link.why_tcp = "ucx: its address does not fit a frame";
      return;
    }
    if (!seal_lane(id, *lane.value())) {
      link.why_tcp = "its TLS gives no keys";
      return;
    }
    link.lane = std::move(lane).value();
    watch(link.lane->event_fd());
    post_step(id, link, Step::Address, link.lane->address());
  }

  bool is_encrypted(LinkId id) const override { return tcp_->is_encrypted(id); }

  const security::TlsPeer* certificate(LinkId id) const override { return tcp_->certificate(id); }

  security::SecretBytes frame_secret(LinkId id) const override { return tcp_->frame_secret(id); }

  std::string route(LinkId id) const override {
    const auto found = links_.find(id);
    if (found == links_.end() || found->second.phase != Phase::OnLane) {
      const bool is_settled = found != links_.end() && !found->second.why_tcp.empty();
      return tcp_->route(id) +
             (is_settled ? ", because " + found->second.why_tcp : ", until ucx is set up");
    }
    return found->second.lane->is_sealed() ? "ucx with sealed records" : "ucx";
  }

  void close(LinkId id) override {
    tcp_->close(id);
    forget(id);
  }

  void progress(std::uint64_t now_ms, LinkEvents& events) override {
    events_ = &events;
    now_ms_ = now_ms;
    tcp_->progress(now_ms, *this);
    turn_links_.clear();
    for (const auto& [id, link] : links_) {
      turn_links_.push_back(id);
    }
    for (const LinkId id : turn_links_) {
      progress_lane(id);
    }
    retired_.clear();
    events_ = nullptr;
  }

  int event_fd() const override { return epoll_.get(); }

  bool arm() override {
    bool may_sleep = tcp_->arm();
    for (auto& [id, link] : links_) {
      may_sleep = (link.lane == nullptr || link.lane->arm()) && may_sleep;
    }
    return may_sleep;
  }

 private:
  enum class Phase : std::uint8_t { OnTcp, Switching, OnLane };

  struct Link {
    std::unique_ptr<UcxLane> lane;
    Phase phase = Phase::OnTcp;
    std::string why_tcp;                       // Set when the link will stay on TCP.
    std::deque<std::vector<std::byte>> steps;  // Not yet taken by TCP; at most three.
  };

  void watch(int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
  }

  void retire_lane(Link& link) {
    if (link.lane != nullptr) {
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, link.lane->event_fd(), nullptr);
      retired_.push_back(std::move(link.lane));
    }
  }

  // The lane lives until the end of the turn, because one of its functions may be running.
  void forget(LinkId id) {
    calls_.erase(id);
    const auto found = links_.find(id);
    if (found != links_.end()) {
      retire_lane(found->second);
      links_.erase(found);
    }
    if (events_ == nullptr) {
      retired_.clear();
    }
  }

  // Where the link has TLS, its frames are sealed with keys that come from there. False: they
  // cannot be, so they stay where they are.
  bool seal_lane(LinkId id, UcxLane& lane) {
    if (!tcp_->is_encrypted(id)) {
      return true;
    }
    const security::SecretBytes secret = tcp_->frame_secret(id);
    if (secret.empty()) {
      return false;  // TLS has ended by now.
    }
    lane.seal(std::make_unique<SealedFrames>(
        secret.bytes(),
        calls_.contains(id) ? security::RecordSide::Caller : security::RecordSide::Called));
    return true;
  }

  void post_step(LinkId id, Link& link, Step step, std::span<const std::byte> address) {
    const bool sealed = link.lane != nullptr && link.lane->is_sealed();
    link.steps.push_back(encode_step(step, address, sealed));
    send_steps(id, link);
  }

  bool send_steps(LinkId id, Link& link) {
    while (!link.steps.empty()) {
      const std::span<const std::byte> frame{link.steps.front()};
      if (tcp_->send(id, {&frame, 1}) != 1) {
        return false;
      }
      link.steps.pop_front();
    }
    return true;
  }

  void progress_lane(LinkId id) {
    const auto found = links_.find(id);
    if (found == links_.end()) {
      return;
    }
    send_steps(id, found->second);
    if (found->second.lane == nullptr) {
      return;
    }
    UcxLane& lane = *found->second.lane;
    const bool is_alive = lane.progress(now_ms_, [&](std::span<const std::byte> message) {
      events_->on_message(id, message);
      return links_.contains(id);
    });
    for (std::uint64_t refused = lane.take_refused(); refused > 0; --refused) {
      events_->on_dropped(id, DropReason::BadRecord);
    }
    if (!is_alive && links_.contains(id)) {
      const std::string reason = lane.failure();
      close(id);
      events_->on_closed(id, DropReason::None, reason);
    }
  }

  void on_accepted(LinkId link, std::string_view from) override {
    events_->on_accepted(link, from);
  }

  void on_connected(LinkId link) override { events_->on_connected(link); }

  void on_closed(LinkId link, DropReason drop, std::string_view reason) override {
    // What has arrived by the lane came before the end. Delivering it may end the link first.
    const bool was_trusted = links_.contains(link);
    progress_lane(link);
    if (was_trusted && !links_.contains(link)) {
      return;
    }
    forget(link);
    events_->on_closed(link, drop, reason);
  }

  void on_message(LinkId id, std::span<const std::byte> message) override {
    FrameHeader header;
    decode_header(message.first<kFrameHeaderBytes>(), header);
    if (header.kind != FrameKind::Setup) {
      events_->on_message(id, message);
      return;
    }
    const DropReason reason = on_setup(id, message);
    if (reason != DropReason::None) {
      close(id);
      events_->on_closed(id, reason, "the peer broke the ucx set-up");
    }
  }

  DropReason on_setup(LinkId id, std::span<const std::byte> message) {
    const auto found = links_.find(id);
    if (found == links_.end()) {
      return DropReason::UnexpectedKind;  // Not trusted yet.
    }
    FrameView frame;
    const DropReason reason = decode_frame(message, frame);
    if (reason != DropReason::None || frame.slots.size() != 1) {
      return reason != DropReason::None ? reason : DropReason::BadLength;
    }
    Link& link = found->second;
    switch (static_cast<Step>(frame.slots.front().bytes[0])) {
      case Step::Address:
        return on_address(id, link, frame);
      case Step::Switch:
        post_step(id, link, Step::Ready, {});
        return DropReason::None;
      case Step::Ready:
        if (link.phase != Phase::Switching) {
          return DropReason::UnexpectedKind;
        }
        link.phase = Phase::OnLane;
        return DropReason::None;
    }
    return DropReason::BadField;
  }

  DropReason on_address(LinkId id, Link& link, const FrameView& frame) {
    if (frame.payloads.size() != 1 || link.phase != Phase::OnTcp) {
      return DropReason::UnexpectedKind;
    }
    const std::span<const std::byte> address = (*frame.payloads.begin()).bytes;
    if (link.lane == nullptr) {
      return DropReason::None;
    }
    const bool seals = frame.slots.front().bytes[1] == std::byte{security::kRecordAlgorithm};
    if (link.lane->is_sealed() && !seals) {
      link.why_tcp = "the other node does not seal what it sends by ucx (GC3137)";
      return DropReason::None;
    }
    const Status connected = link.lane->connect(address);
    if (!connected.ok()) {
      link.why_tcp = connected.message();
      return DropReason::None;
    }
    link.phase = Phase::Switching;
    post_step(id, link, Step::Switch, {});
    return DropReason::None;
  }

  std::unique_ptr<UcxContext> context_;
  std::unique_ptr<Transport> tcp_;
  FileDescriptor epoll_;
  std::unordered_map<LinkId, Link> links_;  // Trusted ones.
  std::unordered_set<LinkId> calls_;        // Links that this side began.
  std::vector<LinkId> turn_links_;          // Those of this turn: callbacks change links_.
  std::vector<std::unique_ptr<UcxLane>> retired_;
  std::uint64_t now_ms_ = 0;
  LinkEvents* events_ = nullptr;  // Set while progress runs.
};

}  // namespace

Result<std::unique_ptr<Transport>> make_ucx_transport(const UcxTransportOptions& options) {
  GCOORD_TRY(auto context, UcxContext::create(options.transports, options.net_devices));
  return std::unique_ptr<Transport>{
      std::make_unique<UcxTransport>(std::move(context), options.tls)};
}

}  // namespace gcoord::netcore
