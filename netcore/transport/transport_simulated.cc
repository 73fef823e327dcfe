#include "netcore/transport/transport_simulated.h"

#include "netcore/channel/frame.h"
#include "netcore/memory/aligned_bytes.h"

#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace gcoord::netcore {
namespace {

enum class Step : std::uint8_t { Call, Answer, Message, Close };

// In front of every message: which link of which life it is for. Link numbers are unique over the
// lives of a node, because the life is part of them.
struct LinkHeader {
  Step step = Step::Message;
  std::uint8_t reserved[7] = {};
  std::uint64_t to_link = 0;    // The receiver's number; 0 in a call.
  std::uint64_t from_link = 0;  // The sender's number.
  std::uint8_t padding[40] = {};
};

static_assert(sizeof(LinkHeader) == kSlotBytes);

class SimulatedTransport final : public Transport {
 public:
  SimulatedTransport(SimulatedNetwork& network, NodeId node, std::uint32_t life, SimulatedTime time)
      : network_(network), node_(node), time_(time), next_link_((std::uint64_t{life} << 32) + 1) {}

  std::string_view name() const override { return "simulated"; }

  Result<std::uint16_t> listen(const std::string& /*host*/, std::uint16_t /*port*/) override {
    return static_cast<std::uint16_t>(node_.value);
  }

  Result<LinkId> connect(const std::string& /*host*/, std::uint16_t port) override {
    const LinkId id{next_link_++};
    links_[id] = {NodeId{port}, 0};
    post(id, Step::Call, {});
    return id;
  }

  std::size_t send(LinkId id, std::span<const std::span<const std::byte>> messages) override {
    const auto link = links_.find(id);
    if (link == links_.end() || link->second.other_link == 0) {
      return 0;
    }
    for (const std::span<const std::byte> message : messages) {
      post(id, Step::Message, message);
    }
    return messages.size();
  }

  void trust(LinkId /*link*/) override {}

  void close(LinkId id) override {
    if (links_.contains(id)) {
      post(id, Step::Close, {});
      links_.erase(id);
    }
  }

  void progress(std::uint64_t now_ms, LinkEvents& events) override {
    if (time_ == SimulatedTime::OfNodes && network_.now().value < now_ms) {
      network_.advance_to(Tick{now_ms});
    }
    network_.take_due(node_, [&](NodeId from, NodeId, std::span<const std::byte> bytes) {
      on_bytes(from, bytes, events);
    });
  }

  int event_fd() const override { return -1; }

  bool arm() override { return network_.next_due(node_) > network_.now(); }

 private:
  struct Link {
    NodeId other;
    std::uint64_t other_link = 0;  // 0 until the answer arrived.
  };

  void post(LinkId id, Step step, std::span<const std::byte> message) {
    const Link& link = links_.at(id);
    LinkHeader header;
    header.step = step;
    header.to_link = link.other_link;
    header.from_link = id.value;
    post_bytes(link.other, header, message);
  }

  void post_bytes(NodeId to, const LinkHeader& header, std::span<const std::byte> message) {
    outgoing_.resize(sizeof(header) + message.size());
    std::memcpy(outgoing_.data(), &header, sizeof(header));
    std::copy(message.begin(), message.end(), outgoing_.begin() + sizeof(header));
    network_.send(node_, to, outgoing_);
  }

  void on_bytes(NodeId from, std::span<const std::byte> bytes, LinkEvents& events) {
    LinkHeader header;
    std::memcpy(&header, bytes.data(), sizeof(header));
    const LinkId id{header.to_link};
    if (header.step == Step::Call) {
      on_call(from, header.from_link, events);
      return;
    }
    const auto link = links_.find(id);
    if (link == links_.end()) {
      on_lost_link(from, header);
      return;
    }
    switch (header.step) {
      case Step::Answer:
        if (link->second.other_link == 0) {
          link->second.other_link = header.from_link;
          events.on_connected(id);
        }
        break;
      case Step::Message:
        on_message(id, bytes.subspan(sizeof(header)), events);
        break;
      case Step::Close:
        links_.erase(link);
        events.on_closed(id, DropReason::None, "the other side closed the link");
        break;
      case Step::Call:
        break;
    }
  }

  void on_call(NodeId from, std::uint64_t from_link, LinkEvents& events) {
    // A call may be repeated by the network; one link per call.
    for (const auto& [known_id, known] : links_) {
      if (known.other == from && known.other_link == from_link) {
        return;
      }
    }
    const LinkId id{next_link_++};
    links_[id] = {from, from_link};
    post(id, Step::Answer, {});
    events.on_accepted(id, "node " + std::to_string(from.value));
  }

  // Something for a link that is gone: tell the sender, as a kernel would with a reset.
  void on_lost_link(NodeId from, const LinkHeader& header) {
    if (header.step == Step::Close) {
      return;
    }
    LinkHeader reset;
    reset.step = Step::Close;
    reset.to_link = header.from_link;
    post_bytes(from, reset, {});
  }

  void on_message(LinkId id, std::span<const std::byte> message, LinkEvents& events) {
    aligned_.reserve(message.size(), 0);
    std::copy(message.begin(), message.end(), aligned_.data());
    events.on_message(id, {aligned_.data(), message.size()});
  }

  SimulatedNetwork& network_;
  NodeId node_;
  SimulatedTime time_;
  std::uint64_t next_link_;
  std::map<LinkId, Link> links_;
  std::vector<std::byte> outgoing_;
  AlignedBytes aligned_;
};

}  // namespace

std::unique_ptr<Transport> make_simulated_transport(SimulatedNetwork& network,
                                                    NodeId node,
                                                    std::uint32_t life,
                                                    SimulatedTime time) {
  return std::make_unique<SimulatedTransport>(network, node, life, time);
}

}  // namespace gcoord::netcore
