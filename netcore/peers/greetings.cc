// The handshakes of the peer network: greetings, the proofs around them, refusals.
#include "netcore/peers/network.h"
#include "netcore/peers/peer_table.h"
#include "netcore/peers/strangers.h"
#include "netcore/proof/handshake.h"
#include "netcore/tls/node_names.h"
#include "netcore/tls/rules.h"
#include "netcore/transport/greeting.h"
#include "security/secret/keyed.h"

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace gcoord::netcore {
namespace {

bool is_channel_kind(FrameKind kind) {
  return kind == FrameKind::Slots || kind == FrameKind::Grant || kind == FrameKind::Heartbeat;
}

// A refusal of these says itself that somebody else answers at the address.
bool is_of_a_stranger(RefusalCode code) {
  return code == RefusalCode::WrongVersion || code == RefusalCode::WrongCluster ||
         code == RefusalCode::UnknownNode;
}

// Why a refusal is not the peer's word to this node; None: it is.
DropReason stranger_of(const FrameHeader& header, const PeerNetworkOptions& own, NodeId peer) {
  if (header.cluster != own.cluster.value) {
    return DropReason::WrongCluster;
  }
  const bool between = header.from_node == peer.value && header.to_node == own.node.value;
  return between ? DropReason::None : DropReason::WrongNode;
}

// This node's to `to`.
Greeting self_greeting(const PeerNetworkOptions& own, NodeId to, std::uint32_t epoch) {
  Greeting greeting;
  greeting.from = {.cluster = own.cluster,
                   .node = own.node,
                   .incarnation = own.incarnation,
                   .directory = own.directory,
                   .life = own.life,
                   .durable = own.durable,
                   .settings = own.settings};
  greeting.to = to;
  greeting.former = own.former;
  greeting.epoch = epoch;
  greeting.ring_slots = own.ring_slots;
  return greeting;
}

bool is_greeting_kind(FrameKind kind) {
  return kind == FrameKind::Hello || kind == FrameKind::Welcome || kind == FrameKind::Refusal;
}

bool send_one(Transport& transport, LinkId link, std::span<const std::byte> message) {
  return transport.send(link, {&message, 1}) == 1;
}

// The answer to a stranger's greeting: as it is, or with a proof, in `out`, where the stranger has
// given one.
std::span<const std::byte> with_proof(const CalleeProof* proof,
                                      std::span<const std::byte> answer,
                                      std::span<std::byte, kStrangerBytesMax> out) {
  const bool proves = proof != nullptr && proof->is_proven();
  return proves ? out.first(proof->prove(answer, out)) : answer;
}

std::string_view text_of_answer(DropReason reason) {
  switch (reason) {
    case DropReason::OtherSecret:
      return "the peer does not have this node's secret of the cluster (GC3125): give both the "
             "same "
             "--cluster-secret";
    case DropReason::BadProof:
    case DropReason::Unproven:
      return "who answers at the peer's address did not prove that it has the secret of the "
             "cluster "
             "(GC3125)";
    default:
      return "the answer to the greeting broke the protocol";
  }
}

Nonce draw_nonce() {
  Nonce nonce;
  security::random_bytes(nonce);
  return nonce;
}

// A frame that arrived where a handshake with proofs is under way. `answer` keeps what was inside
// it, which `frame` is from here on.
DropReason unwrap(const CallerProof& proof, FrameView& frame, ProvenFrame& answer) {
  if (is_channel_kind(frame.header.kind)) {
    return DropReason::None;  // Judged as without a proof.
  }
  if (frame.header.kind == FrameKind::Challenge) {
    return DropReason::StaleSequence;  // Once more.
  }
  if (is_greeting_kind(frame.header.kind)) {
    return DropReason::Unproven;
  }
  const DropReason reason = proof.on_answer(frame, answer);
  return reason == DropReason::None ? decode_frame(answer.inner(), frame) : reason;
}

}  // namespace

// Whether a node is admitted, and by which reason the drop of its link is counted if it is not;
// None: by the refusal's code.
struct Judged {
  Admission admission;
  DropReason drop = DropReason::None;
};

namespace {

Admission ask(const AdmitHook& hook, const PeerIdentity& identity) {
  return hook ? hook(identity) : Admission{};
}

// The answer repeats what the stranger said and adds nothing of this node but the advice.
void refuse_unproven(Transport& transport, LinkId link, const Greeting& hello) {
  Greeting self;
  self.from.cluster = hello.from.cluster;
  self.from.node = hello.to;
  self.to = hello.from.node;
  alignas(kSlotBytes) std::array<std::byte, kStrangerBytesMax> bytes;
  const std::size_t length =
      encode_refusal(self,
                     {.code = RefusalCode::NotAdmitted,
                      .text = "the node wants a proof that the other has the secret of the cluster "
                              "(GC3125): give all nodes the same --cluster-secret"},
                     bytes);
  send_one(transport, link, std::span{bytes}.first(length));
}

// Judges the certificates at the other ends of links with TLS: whether each is that of the node
// which greets, and no list has revoked it since the handshake.
struct CertificateJudge {
  const Transport& transport;
  const LinkTlsRules* tls;

  Judged operator()(LinkId link, const PeerIdentity& from) const {
    return transport.is_encrypted(link) ? judge(transport.certificate(link), from) : Judged{};
  }

  Judged judge(const security::TlsPeer* peer, const PeerIdentity& from) const {
    const std::string id = std::to_string(from.node.value);
    const std::string uri = "gcoord://" + std::to_string(from.cluster.value) + "/node/" + id;
    if (peer != nullptr && tls != nullptr && tls->revokes(*peer)) {
      return refused(revoked_text(), DropReason::CertificateRevoked);
    }
    if (peer == nullptr || !names_some_node(*peer)) {
      return refused(
          "the certificate of node " + id + " is no node's (GC6739): issue one for " + uri,
          DropReason::CertificateForeign);
    }
    return names_node(*peer, from.cluster, from.node)
               ? Judged{}
               : refused("the certificate of node " + id +
                             " does not name it and its cluster (GC3129): issue one for " + uri,
                         DropReason::CertificateForeign);
  }

  static Judged refused(std::string text, DropReason drop) {
    return {.admission = {.code = RefusalCode::NotAdmitted, .text = std::move(text), .known = {}},
            .drop = drop};
  }
};

// What is known of a node by its number.
CallerRecord record_of(const PeerTable& peers, NodeId node) {
  const PeerRecord* peer = peers.find(node);
  CallerRecord record;
  record.is_removed = peers.is_removed(node);
  if (peer != nullptr) {
    record.is_configured = true;
    record.is_up = peer->state == LinkState::Up;
    record.is_calling_it = peer->is_calling();
    record.incarnation = peer->incarnation;
    record.directory = peer->directory;
    record.life = peer->life;
    record.epoch = peer->epoch;
  }
  return record;
}

}  // namespace

void PeerNetwork::on_connected(LinkId link) {
  PeerRecord* peer = peers_->owner_of(link);
  if (peer == nullptr) {
    return;
  }
  peer->state = LinkState::Greeting;
  const bool is_plain = proofs_.demand() == ProofDemand::Off ||
                        (peer->calls_plain && proofs_.allows_plain(peer->address.id));
  if (is_plain) {
    send_hello(*peer);
    return;
  }
  peer->proof.emplace(
      proofs_.keys(), ProofEnds{options_.cluster, options_.node, peer->address.id}, draw_nonce());
  if (!send_one(*transport_, link, peer->proof->opening())) {
    take_down(*peer, "the greeting could not be sent");
  }
}

// Alone, or with the proof of the handshake under way.
void PeerNetwork::send_hello(PeerRecord& peer) {
  std::array<std::byte, kGreetingBytes> hello;
  encode_greeting(
      FrameKind::Hello, self_greeting(options_, peer.address.id, epoch_after(peer.epoch)), hello);
  alignas(kSlotBytes) std::array<std::byte, kStrangerBytesMax> bytes;
  std::span<const std::byte> message{hello};
  if (peer.proof.has_value()) {
    message = std::span{bytes}.first(peer.proof->prove(hello, bytes));
  }
  if (!send_one(*transport_, peer.link, message)) {
    take_down(peer, "the greeting could not be sent");
  }
}

void PeerNetwork::on_stranger_message(LinkId link, std::span<const std::byte> message) {
  if (!strangers_->contains(link)) {
    return;
  }
  FrameView frame;
  ProvenFrame proven;
  Greeting hello;
  CalleeProof* proof = strangers_->proof_of(link);
  DropReason reason = decode_frame(message, frame);
  if (reason == DropReason::None && proof != nullptr) {
    reason = proof->on_hello(frame, proven);
    reason = reason == DropReason::None ? decode_frame(proven.inner(), frame) : reason;
  } else if (reason == DropReason::None && frame.header.kind == FrameKind::Challenge &&
             proofs_.demand() != ProofDemand::Off) {
    reason = on_opening(link, frame, message);
    if (reason == DropReason::None) {
      return;
    }
  }
  if (reason == DropReason::None) {
    reason = decode_greeting(frame, hello);
  }
  if (reason == DropReason::None && frame.header.kind != FrameKind::Hello) {
    reason = DropReason::UnexpectedKind;
  }
  if (reason != DropReason::None) {
    drop_stranger(link, reason);
    return;
  }
  hello.from.is_proven = proof != nullptr;
  if (!hello.from.is_proven && !proofs_.allows_plain(hello.from.node)) {
    refuse_unproven(*transport_, link, hello);
    drop_stranger(link, DropReason::Unproven);
    return;
  }
  on_hello(link, hello);
}

// Answers the first frame of a handshake with proofs. None: the stranger goes on.
DropReason PeerNetwork::on_opening(LinkId link,
                                   const FrameView& frame,
                                   std::span<const std::byte> message) {
  Challenge opening;
  if (const DropReason reason = decode_challenge(frame, opening); reason != DropReason::None) {
    return reason;
  }
  if (message.size() != kChallengeBytes) {
    return DropReason::BadLength;
  }
  auto proof =
      std::make_unique<CalleeProof>(proofs_.keys(),
                                    ProofEnds{options_.cluster, options_.node, opening.from},
                                    opening,
                                    message,
                                    draw_nonce());
  if (!send_one(*transport_, link, proof->challenge())) {
    return DropReason::GreetingTimeout;
  }
  if (!proof->can_prove()) {
    return DropReason::OtherSecret;
  }
  strangers_->set_proof(link, std::move(proof));
  return DropReason::None;
}

void PeerNetwork::on_hello(LinkId link, const Greeting& hello) {
  PeerRecord* peer = peers_->find(hello.from.node);
  const Greeting self = self_greeting(options_, hello.from.node, 0);
  Judged judged = CertificateJudge{*transport_, options_.tls.get()}(link, hello.from);
  Admission& admission = judged.admission;
  if (admission.admitted()) {
    admission = judge_hello(hello, self, record_of(*peers_, hello.from.node));
  }
  if (admission.admitted()) {
    admission = ask(options_.admit, hello.from);
  }
  const std::uint32_t epoch =
      peer == nullptr ? 0 : next_epoch(hello, options_.incarnation, peer->epoch);
  if (!admission.admitted()) {
    refuse(link, hello.from.node, judged);
    return;
  }
  std::array<std::byte, kGreetingBytes> bytes;
  encode_greeting(FrameKind::Welcome, self_greeting(options_, hello.from.node, epoch), bytes);
  alignas(kSlotBytes) std::array<std::byte, kStrangerBytesMax> proven;
  if (!send_one(*transport_, link, with_proof(strangers_->proof_of(link), bytes, proven))) {
    drop_stranger(link, DropReason::None);
    return;
  }
  take_down(*peer, "the peer called again");
  if (peer->leaves) {  // Whoever was told of it had the peer removed.
    drop_stranger(link, DropReason::None);
    return;
  }
  strangers_->erase(link);
  bring_up(*peer, link, hello, epoch);
}

void PeerNetwork::refuse(LinkId link, NodeId to, const Judged& judged) {
  const Admission& admission = judged.admission;
  if (PeerRecord* peer = peers_->find(to);
      peer != nullptr && admission.code != RefusalCode::CallCrossed) {
    peer->last_error = "refused the peer: " + admission.text;
  }
  alignas(kSlotBytes) std::array<std::byte, kStrangerBytesMax> bytes;
  const std::size_t length =
      encode_refusal(self_greeting(options_, to, 0),
                     {.code = admission.code, .text = admission.text, .known = admission.known},
                     bytes);
  alignas(kSlotBytes) std::array<std::byte, kStrangerBytesMax> proven;
  const auto answer = std::span{bytes}.first(length);
  send_one(*transport_, link, with_proof(strangers_->proof_of(link), answer, proven));
  const DropReason by_code = admission.code == RefusalCode::WrongCluster ? DropReason::WrongCluster
                                                                         : DropReason::WrongNode;
  const DropReason reason = judged.drop == DropReason::None ? by_code : judged.drop;
  drop_stranger(link,
                admission.code == RefusalCode::CallCrossed ? DropReason::None : reason,
                "as node " + std::to_string(to.value) + ": " + admission.text);
}

void PeerNetwork::on_answer(PeerRecord& peer, std::span<const std::byte> message) {
  FrameView frame;
  ProvenFrame proven;
  DropReason reason = decode_frame(message, frame);
  const bool is_proof = peer.proof.has_value() && reason == DropReason::None;
  if (is_proof && !peer.proof->challenged()) {
    reason = is_greeting_kind(frame.header.kind) ? DropReason::Unproven
                                                 : peer.proof->on_challenge(frame, message);
    if (reason == DropReason::None) {
      send_hello(peer);
      return;
    }
  } else if (is_proof) {
    reason = unwrap(*peer.proof, frame, proven);
  } else if (reason == DropReason::None && is_greeting_kind(frame.header.kind) &&
             !proofs_.allows_plain(peer.address.id)) {
    reason = DropReason::Unproven;  // Proofs have come to be required since the call.
  }
  if (reason == DropReason::None && frame.header.kind == FrameKind::Refusal) {
    Refusal refusal;
    reason = decode_refusal(frame, refusal);
    refusal.is_proven = is_proof;
    const PeerIdentity named{.cluster = options_.cluster, .node = peer.address.id};
    if (reason == DropReason::None &&
        !CertificateJudge{*transport_, options_.tls.get()}(peer.link, named).admission.admitted()) {
      reason = DropReason::Unproven;
    }
    if (reason == DropReason::None) {
      on_refusal(peer, refusal, stranger_of(frame.header, options_, peer.address.id));
      return;
    }
  } else if (reason == DropReason::None && frame.header.kind == FrameKind::Welcome) {
    Greeting welcome;
    reason = decode_greeting(frame, welcome);
    welcome.from.is_proven = is_proof;
    if (reason == DropReason::None) {
      on_welcome(peer, welcome);
      return;
    }
  } else if (reason == DropReason::None) {
    // A transport that reorders may bring the channel's first frames before the answer that opens
    // it. They are lost, not wrong.
    reason =
        is_channel_kind(frame.header.kind) ? DropReason::StaleEpoch : DropReason::UnexpectedKind;
  }
  peer.metrics.on_drop(reason);
  drop_metrics_.on_drop(reason);
  if (!is_benign(reason)) {
    take_down(peer, text_of_answer(reason));
  }
}

void PeerNetwork::on_welcome(PeerRecord& peer, const Greeting& welcome) {
  const Greeting self = self_greeting(options_, peer.address.id, 0);
  Admission admission =
      CertificateJudge{*transport_, options_.tls.get()}(peer.link, welcome.from).admission;
  if (admission.admitted()) {
    admission = judge_welcome(welcome, self, record_of(*peers_, peer.address.id));
  }
  if (admission.admitted() && welcome.from.node != peer.address.id) {
    admission = {.code = RefusalCode::UnknownNode,
                 .text = "node " + std::to_string(welcome.from.node.value) +
                         " answers at the address of " + std::to_string(peer.address.id.value) +
                         ": correct the --peer options"};
  }
  if (admission.admitted()) {
    admission = ask(options_.admit, welcome.from);
  }
  if (!admission.admitted()) {
    take_down(peer, "refused the peer: " + admission.text, LinkState::Refused);
    return;
  }
  bring_up(peer, peer.link, welcome, welcome.epoch);
}

// What a stranger at the peer's address says shows in the peer's row, and goes no further.
void PeerNetwork::on_refusal(PeerRecord& peer, const Refusal& refusal, DropReason stranger) {
  take_down(peer, refusal.text);
  if (refusal.code == RefusalCode::CallCrossed) {
    return;  // The other call is on its way; the usual pause covers the case that it fails.
  }
  peer.state = LinkState::Refused;
  peer.last_error = std::string{refusal_code_name(refusal.code)} + ": " + refusal.text;
  peer.pacing.on_refusal(now_ms_);
  if (stranger != DropReason::None) {
    peer.metrics.on_drop(stranger);
    drop_metrics_.on_drop(stranger);
  }
  const bool counts = refusal.is_proven || proofs_.demand() == ProofDemand::Off;
  if (counts && (stranger == DropReason::None || is_of_a_stranger(refusal.code))) {
    sink_->on_refused(peer.address.id, refusal);
  }
}

}  // namespace gcoord::netcore
