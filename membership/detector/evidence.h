// Evidence about one other node: what was heard of it, by which way, and what speaks against it.
//
// Two ways to a suspicion. Silence: phi of the times at which it was heard (failure_detector.h)
// and the chance that all rounds of probes got lost by accident are both beyond the threshold, and
// it was silent for the least time. Refusal: the host of the node answered that nobody listens, to
// two nodes, this one or relays; that is what a killed process looks like, and no loss of packets
// does. A node that says that its GPU stopped is probed at once, and ends soon after.
//
// Whatever is heard of the node directly ends all doubt. What is heard through others leaves a
// doubt of the link only. Times are milliseconds of one clock, above 0. Pure; one thread.
#pragma once

#include "common/ids.h"
#include "membership/detector/loss.h"
#include "membership/detector/opinion.h"
#include "membership/failure_detector.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::membership {

struct WatchedNode {
  NodeId id;
  std::string host;  // Nodes of one host have the same; empty: alone.

  friend bool operator==(const WatchedNode& a, const WatchedNode& b) = default;
};

struct EvidenceOptions {
  double suspicion = 8.0;  // Phi from which on a node is suspect.
  std::uint32_t heartbeat_ms = 100;
  std::uint32_t silence_ms_min = 2500;
};

// What the judge knows beside the evidence.
struct Surroundings {
  std::uint64_t silence_ms = 0;  // Least silence, stretched by local health.
  bool relays = false;           // There are nodes that could relay.
  bool datagrams = false;        // Datagrams work here; otherwise heartbeats alone count.
  bool hears_majority = false;   // Of the other nodes, within the least silence.
};

// How a round of probes ended.
struct RoundEnd {
  unsigned denials = 0;  // Relays that said that they got no answer either.
  bool relayed = false;  // Relays were asked.
  double loss = ProbeLoss::kLeast;
};

class Evidence {
 public:
  Evidence(WatchedNode node, const EvidenceOptions& options, std::uint64_t now_ms);

  NodeId id() const { return node_.id; }

  const std::string& host() const { return node_.host; }

  void set_host(std::string host) { node_.host = std::move(host); }

  Incarnation incarnation() const { return incarnation_; }

  // A datagram says that it is of this life. False: to be dropped. Anybody could say so, so it has
  // to be the life that the channel is of; before there was one, any but an older one is taken.
  bool admit(Incarnation incarnation, std::uint64_t now_ms);

  // The same by the channel, whose word holds.
  bool confirm(Incarnation incarnation, std::uint64_t now_ms);

  // A heartbeat or a datagram came from it.
  void heard_directly(std::uint64_t now_ms);

  // A datagram did: its host refuses datagrams only if the process is gone.
  void speaks() { speaks_ = true; }

  // A relay has an answer of it.
  void heard_indirectly(std::uint64_t now_ms);

  // `by`: who sent the probe that the node's host refused.
  void refused(NodeId by, std::uint64_t now_ms);

  // Something asks for a probe: its channel ended, or another node suspects it.
  void doubt() { doubted_ = true; }

  void round_failed(const RoundEnd& end);

  // What it says of its own GPU. One that stopped is a reason to probe it, and no proof.
  void set_device(DeviceHealth device);

  // The own loop stood still: silence until now says nothing.
  void forgive(std::uint64_t now_ms);

  // Comes to a verdict. True: it is another one than before, or for another reason.
  bool judge(std::uint64_t now_ms, const Surroundings& around);

  Verdict verdict() const { return verdict_; }

  Cause cause() const { return cause_; }

  // Since when the verdict stands.
  std::uint64_t since_ms() const { return since_ms_; }

  bool doubted() const { return doubted_; }

  bool has_spoken() const { return speaks_; }

  DeviceHealth device() const { return device_; }

  double phi(std::uint64_t now_ms) const { return arrivals_.phi(Tick{now_ms}); }

  // 0: never.
  std::uint64_t direct_ms() const { return direct_ms_; }

  std::uint64_t indirect_ms() const { return indirect_ms_; }

  std::uint64_t silent_for_ms(std::uint64_t now_ms) const;

 private:
  bool is_late(std::uint64_t now_ms) const;
  bool refused_enough(const Surroundings& around) const;
  bool silent_enough(std::uint64_t now_ms, const Surroundings& around) const;
  Verdict judged(std::uint64_t now_ms, const Surroundings& around) const;
  Cause reason(std::uint64_t now_ms, Verdict verdict, const Surroundings& around) const;
  void clear();
  void begin_life(Incarnation incarnation, std::uint64_t now_ms);

  WatchedNode node_;
  EvidenceOptions options_;
  Incarnation incarnation_;
  bool confirmed_ = false;  // By the channel.
  FailureDetector arrivals_;
  std::uint64_t counted_from_ms_;  // Nothing before it counts as silence.
  std::uint64_t direct_ms_ = 0;
  std::uint64_t indirect_ms_ = 0;
  std::vector<NodeId> refusers_;
  unsigned own_refusals_ = 0;
  double decades_ = 0.0;  // -log10 of the chance that all failed rounds are an accident.
  DeviceHealth device_ = DeviceHealth::None;
  bool speaks_ = false;
  bool doubted_ = false;
  Verdict verdict_ = Verdict::Alive;
  Cause cause_ = Cause::None;
  std::uint64_t since_ms_;
  std::uint64_t newest_refusal_ms_ = 0;
};

}  // namespace gcoord::membership
