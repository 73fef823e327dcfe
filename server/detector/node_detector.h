// Failure detection of a running node: membership/detector with a socket, the engine's channels,
// the cluster view and metrics around it.
//
// Datagrams go to the number of the peer port, over UDP. Without a socket (the port and the next
// ones are taken) heartbeats alone count. Datagrams that are malformed, foreign or of no node of
// the view are dropped and counted; nobody but nodes of the view is answered, and at their own
// address. As the leader of shard 0 the node proposes which nodes the view marks as suspect.
//
// One thread, the node's loop.
#pragma once

#include "common/host/metrics.h"
#include "common/ids.h"
#include "membership/detector/detector.h"
#include "membership/detector/marks.h"
#include "protocol/members/cluster_view.h"
#include "server/detector/alarms.h"
#include "server/detector/datagram_keys.h"
#include "server/detector/datagram_socket.h"
#include "server/detector/endpoints.h"
#include "server/detector/metrics.h"
#include "server/interfaces/replicated_log.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {

struct NodeDetectorOptions {
  NodeId self;
  ClusterId cluster;
  std::string listen_host;
  std::map<NodeId, std::string> peers;  // The fixed list, until there is a view: "host:port".
  membership::EvidenceOptions evidence;
  std::uint32_t probe_interval_ms = 100;
  AlarmOptions alarms;
  // Whether the turn's host sees no heartbeats, so that gcoord_server_peer_phi is the detector's.
  bool speaks_for_turn = false;
};

class NodeDetector {
 public:
  // All outlive it, but that the engine may end before, if nothing is called then.
  struct Environment {
    ReplicatedLog& log;
    MetricsRegistry& metrics;
    std::function<const protocol::ClusterView&()> view;  // The newest; epoch 0: none.
    std::function<void(NodeId, bool)> propose_suspect;   // As the leader of shard 0.
    std::function<std::uint64_t()> wall_ms;
  };

  // Opens the socket, or says in the log that there is none.
  NodeDetector(NodeDetectorOptions options, Environment environment);
  NodeDetector(const NodeDetector&) = delete;
  NodeDetector& operator=(const NodeDetector&) = delete;

  // Readable when there is work; -1: no socket. Not to be closed by the caller.
  int event_fd() const { return socket_ == nullptr ? -1 : socket_->fd(); }

  // After each turn; works once for each `now_ms`, which is of the node's clock and only grows.
  void advance(std::uint64_t now_ms);

  // For how long the loop may sleep for the sake of advance(), counted from the last one.
  std::uint64_t until_next_deadline_ms() const;

  // By which datagrams are tagged from now on (datagram_keys()); before it, as in a cluster without
  // a secret.
  void set_keys(std::vector<SipKey> keys) { keys_.change(std::move(keys)); }

  // The engine has failed because of its device: the others hear it before the process ends.
  void on_device_failed();

  // How this node sees the others, at the last advance().
  std::vector<membership::NodeSight> sights() const { return detector_->sights(now_ms_); }

  std::uint64_t now_ms() const { return now_ms_; }

  // Of the socket; 0: none.
  std::uint16_t port() const { return socket_ == nullptr ? std::uint16_t{0} : socket_->port(); }

  Alarms& alarms() { return alarms_; }

  const Alarms& alarms() const { return alarms_; }

 private:
  // What was seen of a channel last.
  struct Channel {
    Tick heard;
    bool up = false;
  };

  void open_socket();
  void take_nodes();
  void look_at_channels();
  void receive();
  void on_datagram(const netcore::SocketAddress& from, std::span<const std::byte> bytes);
  void send_all();
  void propose_marks();
  void show();

  NodeDetectorOptions options_;
  Environment environment_;
  std::unique_ptr<membership::Detector> detector_;
  membership::Marks marks_;
  std::unique_ptr<DatagramSocket> socket_;
  DatagramEndpoints endpoints_;
  DatagramKeys keys_;
  DetectorMetrics metrics_;
  Alarms alarms_;
  std::map<NodeId, Channel> channels_;
  std::uint64_t epoch_ = 0;  // Of the view that the nodes are of.
  bool has_nodes_ = false;
  std::uint64_t now_ms_ = 1;
  std::uint64_t next_look_ms_ = 0;  // At the channels.
  bool look_owed_ = false;          // A pass came too early for one.
  std::uint64_t next_show_ms_ = 0;
};

}  // namespace gcoord::server
