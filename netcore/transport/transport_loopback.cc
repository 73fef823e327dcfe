#include "netcore/transport/transport_loopback.h"

#include "common/assert.h"
#include "netcore/channel/ring.h"
#include "netcore/memory/aligned_bytes.h"
#include "netcore/memory/order.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>
#include <vector>

namespace gcoord::netcore {
namespace {

// One message in a receiver's ring. The buffer stays with its place and is reused every lap.
struct Place {
  std::uint64_t stamp = 0;
  std::size_t bytes = 0;
};

// One direction of a link: written by one endpoint, read and owned by the other.
class Direction {
 public:
  explicit Direction(std::uint32_t ring_slots) : places_(ring_slots), buffers_(ring_slots) {
    ring_ = {places_.data(), &written_, &consumed_, ring_slots};
  }

  bool write(std::span<const std::byte> message) {
    if (ring_room<HostOrder>(ring_) == 0) {
      return false;
    }
    const std::uint64_t cursor = HostOrder::own(written_.value);
    AlignedBytes& buffer = buffers_[cursor & (ring_.capacity - 1)];
    buffer.reserve(message.size(), 0);
    std::copy(message.begin(), message.end(), buffer.data());
    return ring_write<HostOrder>(ring_, {ring_stamp(cursor), message.size()});
  }

  std::uint32_t waiting() { return ring_waiting<HostOrder>(ring_); }

  // The oldest message, valid until pop().
  std::span<const std::byte> front() {
    const std::uint64_t cursor = HostOrder::own(consumed_.value);
    const Place& place = ring_.slot(cursor);
    GCOORD_ASSERT(place.stamp == ring_stamp(cursor));
    return {buffers_[cursor & (ring_.capacity - 1)].data(), place.bytes};
  }

  void pop() {
    Place place;
    const bool was_there = ring_read<HostOrder>(ring_, place);
    GCOORD_ASSERT(was_there);
  }

 private:
  std::vector<Place> places_;
  std::vector<AlignedBytes> buffers_;
  RingCursor written_;
  RingCursor consumed_;
  RingView<Place> ring_;
};

class Endpoint;

struct Half {
  Endpoint* owner = nullptr;  // nullptr once that side has closed or died.
  std::unique_ptr<Direction> inbound;
};

struct Pair {
  Half sides[2];
};

}  // namespace

struct LoopbackFabric::State {
  std::uint32_t ring_slots = 0;
  std::uint64_t next_link = 1;
  std::map<std::pair<std::string, std::uint16_t>, Endpoint*> listeners;
  std::uint16_t next_port = 1;
};

namespace {

class Endpoint final : public Transport {
 public:
  explicit Endpoint(LoopbackFabric::State& fabric) : fabric_(fabric) {}

  ~Endpoint() override {
    std::erase_if(fabric_.listeners, [this](const auto& entry) { return entry.second == this; });
    for (auto& [id, link] : links_) {
      leave(link);
    }
  }

  std::string_view name() const override { return "loopback"; }

  Result<std::uint16_t> listen(const std::string& host, std::uint16_t port) override {
    const std::uint16_t bound = port != 0 ? port : fabric_.next_port++;
    if (!fabric_.listeners.emplace(std::pair{host, bound}, this).second) {
      return Status{StatusCode::AlreadyExists, "loopback address " + host + " is taken"};
    }
    return bound;
  }

  Result<LinkId> connect(const std::string& host, std::uint16_t port) override {
    const LinkId id{fabric_.next_link++};
    const auto listener = fabric_.listeners.find({host, port});
    if (listener == fabric_.listeners.end()) {
      notices_.push_back({NoticeKind::Closed, id});
      return id;
    }
    Endpoint& other = *listener->second;
    const auto pair = std::make_shared<Pair>();
    pair->sides[0] = {this, std::make_unique<Direction>(fabric_.ring_slots)};
    pair->sides[1] = {&other, std::make_unique<Direction>(fabric_.ring_slots)};
    const LinkId other_id{fabric_.next_link++};
    links_[id] = {pair, 0, id, other_id};
    other.links_[other_id] = {pair, 1, other_id, id};
    notices_.push_back({NoticeKind::Connected, id});
    other.notices_.push_back({NoticeKind::Accepted, other_id});
    return id;
  }

  std::size_t send(LinkId id, std::span<const std::span<const std::byte>> messages) override {
    const auto link = links_.find(id);
    if (link == links_.end() || peer_of(link->second).owner == nullptr) {
      return 0;
    }
    Direction& outbound = *peer_of(link->second).inbound;
    const auto refused = std::find_if_not(
        messages.begin(), messages.end(), [&](auto message) { return outbound.write(message); });
    return static_cast<std::size_t>(refused - messages.begin());
  }

  void trust(LinkId /*link*/) override {}

  void close(LinkId id) override {
    const auto link = links_.find(id);
    if (link != links_.end()) {
      leave(link->second);
      links_.erase(link);
    }
  }

  void progress(std::uint64_t /*now_ms*/, LinkEvents& events) override {
    deliver_notices(events);
    std::vector<LinkId> ids;
    for (const auto& [id, link] : links_) {
      ids.push_back(id);
    }
    for (const LinkId id : ids) {
      deliver_messages(id, events);
    }
  }

  int event_fd() const override { return -1; }

  bool arm() override {
    return notices_.empty() && std::all_of(links_.begin(), links_.end(), [](const auto& entry) {
             return own_half(entry.second).inbound->waiting() == 0;
           });
  }

 private:
  struct Link {
    std::shared_ptr<Pair> pair;
    int side = 0;
    LinkId id;
    LinkId other_id;
  };

  enum class NoticeKind : std::uint8_t { Accepted, Connected, Closed };

  struct Notice {
    NoticeKind kind;
    LinkId link;
  };

  static Half& own_half(const Link& link) { return link.pair->sides[link.side]; }

  static Half& peer_of(const Link& link) { return link.pair->sides[1 - link.side]; }

  static void leave(const Link& link) {
    own_half(link).owner = nullptr;
    if (Endpoint* other = peer_of(link).owner) {
      other->notices_.push_back({NoticeKind::Closed, link.other_id});
    }
  }

  void deliver_notices(LinkEvents& events) {
    // Only what was there at the start: a callback may add more.
    for (std::size_t left = notices_.size(); left > 0; --left) {
      const Notice notice = notices_.front();
      notices_.pop_front();
      switch (notice.kind) {
        case NoticeKind::Accepted:
          if (links_.contains(notice.link)) {
            events.on_accepted(notice.link, "loopback");
          }
          break;
        case NoticeKind::Connected:
          if (links_.contains(notice.link)) {
            events.on_connected(notice.link);
          }
          break;
        case NoticeKind::Closed:
          deliver_messages(notice.link, events);
          links_.erase(notice.link);
          events.on_closed(notice.link, DropReason::None, "the other side closed the link");
          break;
      }
    }
  }

  void deliver_messages(LinkId id, LinkEvents& events) {
    const auto found = links_.find(id);
    if (found == links_.end()) {
      return;
    }
    const Link link = found->second;  // A callback may close it; the pair must outlive the loop.
    Direction& inbound = *own_half(link).inbound;
    for (std::uint32_t left = inbound.waiting(); left > 0 && links_.contains(id); --left) {
      events.on_message(id, inbound.front());
      inbound.pop();
    }
  }

  LoopbackFabric::State& fabric_;
  std::map<LinkId, Link> links_;
  std::deque<Notice> notices_;
};

}  // namespace

LoopbackFabric::LoopbackFabric(std::uint32_t ring_slots) : state_(std::make_unique<State>()) {
  GCOORD_ASSERT(is_ring_capacity(ring_slots));
  state_->ring_slots = ring_slots;
}

LoopbackFabric::~LoopbackFabric() = default;

std::unique_ptr<Transport> LoopbackFabric::endpoint() {
  return std::make_unique<Endpoint>(*state_);
}

}  // namespace gcoord::netcore
