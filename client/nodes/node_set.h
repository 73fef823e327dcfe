// The nodes of the cluster and a connection to each: found, kept up, and explained when down.
//
// It starts from the endpoints that the caller gave and learns the rest from the first Welcome, and
// where nodes come and go, from the cluster view: whenever a node says that it has a newer one,
// it fetches that, connects to nodes that came and lets go of those that left. A node that
// cannot be reached is tried again with back-off for ever; meanwhile its last failure is the
// evidence in error messages. Each endpoint's circuit breaker is what paces that: it is open while
// the endpoint waits for its next try, half-open during it, closed from the Welcome on, and opens
// again when requests fail there one after the other. Two endpoints that turn out to be one node
// become one. A node of another cluster than the first is refused. Runs on the client's thread
// only.
#pragma once

#include "client/credentials/client_access.h"
#include "client/net/connection.h"
#include "client/net/tls_access.h"
#include "client/nodes/evidence.h"
#include "client/nodes/known_view.h"
#include "client/nodes/node_entry.h"
#include "client/nodes/view_fetch.h"
#include "common/ids.h"
#include "gcoord/options.h"
#include "gcoord/types.h"
#include "protocol/hello.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::client {

class NodeSet {
 public:
  struct Events {
    // The node said Welcome and takes requests.
    std::function<void(NodeId)> on_ready;

    // It was ready and is no longer.
    std::function<void(NodeId, const std::string& reason)> on_lost;

    // An attempt failed before it was ready; node 0 if it is not known which it is.
    std::function<void(NodeId)> on_failed;
    std::function<void(NodeId, const protocol::ReplySlot&, std::span<const std::byte>)> on_reply;
    std::function<void()> on_batch_end;

    // Other voters count from now on.
    std::function<void()> on_view;
  };

  NodeSet(asio::io_context& context, const ClientOptions& options, Events events);
  ~NodeSet();

  // Begins to connect to all endpoints.
  void start();

  // The connection of a node that is ready; nullptr otherwise.
  Connection* ready(NodeId node);

  // Whether the node, which is ready, and this client both know of the feature.
  bool has(NodeId node, protocol::Feature feature) const;

  // Some node that is ready, another one at each call; node 0 when there is none.
  NodeId any_ready();

  // Whether the node is ready and its breaker lets a request through now.
  bool admits(NodeId node) const;

  // Some node that admits a request, another one at each call; node 0 when there is none.
  NodeId any_admitting();

  // The same of nodes whose breaker is closed, for what an answer may not come to for long, and
  // which therefore can be no probe.
  bool closed(NodeId node) const;
  NodeId any_closed();

  // A request goes to the node, which is ready.
  void on_request(NodeId node);

  // The node answered a request, whatever it said but that it is too busy. True: its breaker was
  // half-open and is closed now.
  bool on_answer(NodeId node);

  // The node did not take a request on, or left it unanswered until its deadline.
  void on_request_failed(NodeId node, const std::string& reason);

  // No breaker is closed.
  bool all_open() const;

  // When a node that is ready admits the next probe; kTimeNever when none is.
  TimePoint next_probe() const;

  std::size_t ready_count() const;

  // Whether more than half of the cluster's voters are connected.
  bool has_majority() const;

  // Whether it is known where the node is.
  bool knows(NodeId node) const { return find(node) != nullptr; }

  // Whether the node was tried since it was last ready, and failed.
  bool failed(NodeId node) const;

  // Every endpoint was tried and none answered, yet.
  bool all_failed() const;

  // All nodes of the cluster are ready; false before the first Welcome.
  bool complete() const;

  // Every node of the cluster is ready, or was tried and failed, or has no known address; false
  // before the first Welcome.
  bool tried() const;

  // "127.0.0.1:7001: Connection refused; ...": why nodes that are not ready are not.
  std::string evidence() const { return evidence_of(entries_); }

  // Why a request to this node alone fails: GC3001, or GC1001 when the cluster has no such node.
  Status why_silent(NodeId node) const;

  // Starts due attempts, ends those that take too long. Call when next_event() has come.
  void advance(TimePoint now);
  TimePoint next_event() const;

  // Sends what is queued on every connection.
  void flush();

  // The description that the cluster gave; nullptr before the first Welcome. Its nodes are those of
  // the newest view that is known.
  const protocol::Welcome* cluster() const { return welcomed_ ? &cluster_ : nullptr; }

  // The view by which renewals count. A caller that hears the epoch of a node's view reports it
  // here: a newer one is requested with the next advance().
  KnownView& known() { return known_; }

  // The proofs of identity and of sessions that nodes get; for other connections of the client,
  // too.
  ClientAccess& access() { return access_; }

  // Endpoints and nodes of the cluster, those without a known address too.
  std::vector<NodeView> views() const { return views_of(entries_, cluster_.nodes); }

  // Frames sent and connections lost since the start.
  std::uint64_t frames_sent() const;

  std::uint64_t reconnects() const { return reconnects_; }

 private:
  using Phase = NodeEntry::Phase;
  using Entry = NodeEntry;

  void add(const std::string& address, NodeId node);
  void connect(Entry& entry, TimePoint now);
  void on_reply(Entry& entry, const protocol::ReplySlot& slot, std::span<const std::byte> payload);
  void on_welcome(Entry& entry,
                  const protocol::ReplySlot& slot,
                  std::span<const std::byte> payload);
  void on_closed(Entry& entry, const std::string& reason);
  gcoord::Status objection(const Entry& entry, const protocol::Welcome& welcome) const;
  void learn_address(const protocol::NodeAddress& node);
  void ask_for_view(TimePoint now);
  void take_view(const protocol::ReplySlot& slot, std::span<const std::byte> payload);
  Entry* find(NodeId node) const;
  Entry* find_ready(NodeId node) const;
  template <typename Suits>
  NodeId any_ready_that(const Suits& suits);

  asio::io_context& context_;
  const ClientOptions& options_;
  const std::shared_ptr<TlsAccess> tls_;  // nullptr: plain TCP.
  ClientAccess access_;
  Events events_;
  NodeEntries entries_;
  protocol::Welcome cluster_;
  KnownView known_;
  ViewFetch fetch_;
  bool welcomed_ = false;
  std::size_t turn_ = 0;     // For any_ready().
  std::uint64_t added_ = 0;  // Entries that there have been.
  std::uint64_t reconnects_ = 0;
  std::uint64_t frames_before_ = 0;  // Of connections that are gone.
};

}  // namespace gcoord::client
