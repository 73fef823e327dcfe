// What carries frames between clients and nodes in a simulated world: delays, and losses that look
// to a client like a connection that died. One thread.
#pragma once

#include "chaos/sim/sim_random.h"
#include "common/ids.h"
#include "rpc/request.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::chaos {

class ClientWire {
 public:
  explicit ClientWire(std::uint64_t seed) : random_(seed, 3) {}

  void send(std::uint32_t client,
            NodeId node,
            const rpc::RequestSlot& slot,
            std::span<const std::byte> payload,
            std::uint64_t now_us) {
    if (random_.chance(request_loss_ppm)) {
      ++requests_lost;
      return;
    }
    requests_.emplace(key(now_us), Request{client, node, slot, {payload.begin(), payload.end()}});
  }

  void reply(NodeId node,
             std::uint32_t client,
             const rpc::ReplySlot& slot,
             std::span<const std::byte> payload,
             std::uint64_t now_us) {
    if (random_.chance(reply_loss_ppm)) {
      ++replies_lost;
      return;
    }
    replies_.emplace(key(now_us), Reply{node, client, slot, {payload.begin(), payload.end()}});
  }

  using OnRequest = std::function<void(
      std::uint32_t client, NodeId, const rpc::RequestSlot&, std::span<const std::byte>)>;
  using OnReply = std::function<void(
      NodeId, std::uint32_t client, const rpc::ReplySlot&, std::span<const std::byte>)>;

  void deliver_requests(std::uint64_t now_us, const OnRequest& on_request) {
    while (!requests_.empty() && requests_.begin()->first.first <= now_us) {
      const Request request = std::move(requests_.begin()->second);
      requests_.erase(requests_.begin());
      on_request(request.client, request.node, request.slot, request.payload);
    }
  }

  void deliver_replies(std::uint64_t now_us, const OnReply& on_reply) {
    while (!replies_.empty() && replies_.begin()->first.first <= now_us) {
      const Reply reply = std::move(replies_.begin()->second);
      replies_.erase(replies_.begin());
      on_reply(reply.node, reply.client, reply.slot, reply.payload);
    }
  }

  // Faults, until changed back.
  std::uint32_t request_loss_ppm = 0;
  std::uint32_t reply_loss_ppm = 0;
  std::uint32_t delay_us_max = 20'000;

  std::uint64_t requests_lost = 0;
  std::uint64_t replies_lost = 0;

 private:
  struct Request {
    std::uint32_t client;
    NodeId node;
    rpc::RequestSlot slot;
    std::vector<std::byte> payload;
  };

  struct Reply {
    NodeId node;
    std::uint32_t client;
    rpc::ReplySlot slot;
    std::vector<std::byte> payload;
  };

  // When it arrives, and the order of sending.
  using Key = std::pair<std::uint64_t, std::uint64_t>;

  Key key(std::uint64_t now_us) { return {now_us + 1 + random_.below(delay_us_max), ++order_}; }

  SimRandom random_;
  std::map<Key, Request> requests_;
  std::map<Key, Reply> replies_;
  std::uint64_t order_ = 0;
};

}  // namespace gcoord::chaos
