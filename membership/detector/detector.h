// Failure detector of one node: which of the others it holds for alive, and what it asks whom to
// find out.
//
// Every interval it pings the next node of a shuffled round (SWIM, section 4.3). A node that is
// late, whose channel ended, or that somebody else holds for failed is probed at once, directly and
// through `relays` others, round after round until something is heard of it (evidence.h has the
// rules of suspicion). Messages carry opinions, so that the leader that decides about marks in the
// view (decision.h) hears of a failure that others saw first. Local health (local_health.h) makes
// a node doubt itself first.
//
// It reads no clock and has no socket: times are milliseconds of one clock, above 0, that never go
// back; messages come by on_message and leave by take_outgoing. Whoever owns it calls advance at
// next_deadline_ms at the latest, and after every other call. Memory is bounded by the number of
// nodes. Pure; one thread.
#pragma once

#include "common/ids.h"
#include "membership/detector/evidence.h"
#include "membership/detector/local_health.h"
#include "membership/detector/loss.h"
#include "membership/detector/message.h"
#include "membership/detector/opinion.h"
#include "membership/detector/opinions.h"
#include "membership/detector/relay_duty.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::membership {

struct DetectorOptions {
  NodeId self;
  Incarnation incarnation;
  EvidenceOptions evidence;
  std::uint32_t probe_interval_ms = 100;
  std::uint32_t relays = 3;  // Nodes that are asked to probe another one, at once.
  std::uint64_t seed = 1;
};

// How one other node stands. Times: 0 is never.
struct NodeSight {
  NodeId node;
  Incarnation incarnation;
  Verdict verdict = Verdict::Alive;
  Cause cause = Cause::None;
  Level level = Level::Node;  // At which level it fails, as far as one can tell from outside.
  DeviceHealth device = DeviceHealth::None;
  double phi = 0.0;
  std::uint64_t since_ms = 0;  // Since when the verdict stands.
  std::uint64_t direct_ms = 0;
  std::uint64_t indirect_ms = 0;
  std::uint64_t silent_for_ms = 0;
};

struct DetectorCounts {
  std::uint64_t probes = 0;      // Pings on the own account.
  std::uint64_t answers = 0;     // To them.
  std::uint64_t rounds = 0;      // Rounds of urgent probes that began.
  std::uint64_t relayed = 0;     // Probes made for others.
  std::uint64_t refusals = 0;    // Hosts that said that nobody listens.
  std::uint64_t own_gaps = 0;    // The own loop stood still.
  std::uint64_t unknown = 0;     // Messages of nodes that are not watched, or of their older lives.
  std::uint64_t suspicions = 0;  // Nodes that became suspect.
};

class Detector {
 public:
  explicit Detector(const DetectorOptions& options);

  // The other nodes from now on; what is known of those that stay is kept.
  void set_nodes(std::span<const WatchedNode> nodes, std::uint64_t now_ms);

  // Who decides about marks in the view; 0: nobody known. It hears of doubts at once.
  void set_decider(NodeId node) { decider_ = node; }

  void set_own_device(DeviceHealth device) { device_ = device; }

  // Whether datagrams can be sent and received at all.
  void set_socket(bool open) { socket_ = open; }

  // The channel to the node brought a heartbeat, or ended.
  void on_heartbeat(NodeId from, Incarnation incarnation, std::uint64_t now_ms);
  void on_channel_ended(NodeId node, std::uint64_t now_ms);

  // A datagram for this node. False: dropped, of a node that is not watched or an older life.
  bool on_message(const DetectorMessage& message, std::uint64_t now_ms);

  // The host of the node says that nobody listens where the node's datagrams go.
  void on_refused(NodeId node, std::uint64_t now_ms);

  void advance(std::uint64_t now_ms);

  NodeId self() const { return options_.self; }

  // Messages to be sent, oldest first; none is kept.
  std::vector<DetectorMessage> take_outgoing() { return std::exchange(outgoing_, {}); }

  std::uint64_t next_deadline_ms() const;

  std::vector<NodeSight> sights(std::uint64_t now_ms) const;

  // Whether the others' opinions allow that the node is marked: a majority of those who have spoken
  // since it was last heard has something against it, too. A refusal needs no majority: two hosts'
  // kernels have answered.
  bool others_agree(NodeId node, std::uint64_t now_ms) const;

  const DetectorCounts& counts() const { return counts_; }

  const LocalHealth& local_health() const { return health_; }

 private:
  // A round of urgent probes of one node.
  struct Round {
    std::uint32_t sequence = 0;
    std::uint64_t ends_ms = 0;  // 0: none is under way.
    std::vector<NodeId> relays;
    unsigned denials = 0;
  };

  struct Watched {
    Evidence evidence;
    ProbeLoss loss;
    Round round;
    std::uint64_t next_round_ms = 0;
    // The last ping of the turn of all nodes: its number, and when; 0: it is answered, or judged.
    std::uint32_t sequence = 0;
    std::uint64_t pinged_ms = 0;
  };

  Watched* find(NodeId node);
  const Watched* find(NodeId node) const;
  void on_ping(const DetectorMessage& message);
  void on_request(const DetectorMessage& message, std::uint64_t now_ms);
  void on_ack(Watched& from, const DetectorMessage& message, std::uint64_t now_ms);
  void on_relayed(const DetectorMessage& message, std::uint64_t now_ms);
  void hear_opinions(const DetectorMessage& message);
  void notice_gap(std::uint64_t now_ms);
  void end_relays(std::uint64_t now_ms);
  void ping_next(std::uint64_t now_ms);
  void judge_pings(std::uint64_t now_ms);
  void look_at(Watched& node, std::uint64_t now_ms, const Surroundings& around);
  void begin_round(Watched& node, std::uint64_t now_ms);
  void end_round(Watched& node, std::uint64_t now_ms);
  std::vector<NodeId> draw_relays(NodeId about, std::uint64_t now_ms);
  bool can_relay(const Watched& node, NodeId about, std::uint64_t now_ms) const;
  Surroundings surroundings(std::uint64_t now_ms) const;
  bool has_relay(NodeId about, std::uint64_t now_ms) const;
  std::uint64_t round_ms() const;
  void shuffle();
  std::uint64_t draw();
  void send(DetectorMessage question);
  void answer(DetectorMessage message, std::uint32_t room);
  void tell(const Relay& relay, Outcome outcome);
  void emit(DetectorMessage message);
  std::vector<Opinion> opinions() const;
  bool host_is_silent(const Watched& node) const;

  DetectorOptions options_;
  std::vector<Watched> nodes_;  // By rising id.
  NodeId decider_;
  DeviceHealth device_ = DeviceHealth::None;
  bool socket_ = false;
  LocalHealth health_;
  ProbeLoss loss_;  // Of all nodes.
  Opinions opinions_;
  RelayDuty relays_;
  std::vector<NodeId> turn_;  // Nodes that are still to be pinged in this turn of all.
  std::uint64_t next_ping_ms_ = 0;
  std::uint64_t datagram_ms_ = 0;  // When the last datagram of any node came.
  std::uint64_t due_ms_ = 0;       // When advance was due; 0: it never ran.
  std::uint32_t sequences_ = 0;
  std::uint64_t draws_ = 0;
  std::vector<DetectorMessage> outgoing_;
  DetectorCounts counts_;
};

}  // namespace gcoord::membership
