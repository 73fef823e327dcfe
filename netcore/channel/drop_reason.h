// Reasons for dropping a peer's message. Every reason is counted, per peer and in metrics.
//
// A frame that is merely old is dropped alone; every other reason also closes the link, because a
// correct peer never sends such a thing (faults 12 and 28 of docs/internals/faults.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gcoord::netcore {

enum class DropReason : std::uint8_t {
  None,
  BadMagic,          // Not our protocol at all.
  BadVersion,        // A format version that this node does not speak.
  BadChecksum,       // Header or body fails its CRC32C.
  BadLength,         // Sizes that contradict each other, exceed a limit or fall short.
  BadField,          // A band, kind or reserved field outside its range.
  BadExtent,         // An extent out of order, too long, or of a slot that is not there.
  WrongCluster,      // Cluster id of another cluster.
  WrongNode,         // Sender or receiver is not who the handshake agreed on.
  UnexpectedKind,    // A greeting on a live channel, or data before the handshake.
  CreditOverrun,     // More slots than were granted, or an acknowledgement of what was never sent.
  StaleEpoch,        // A frame of an earlier channel.
  StaleSequence,     // A frame, or a heartbeat, that was seen or overtaken before.
  TooManyStrangers,  // More links without a handshake than this node keeps.
  GreetingTimeout,   // No handshake within its time.
  Unproven,          // A greeting or an answer without the proof that is required here.
  OtherSecret,       // No secret of the cluster that both sides have.
  BadProof,          // A proof that the secret does not bear out: forged, replayed or reflected.
  BadRecord,         // A sealed record that was changed, forged, replayed, reflected or lost.
  // Of TLS. The other end's certificate:
  CertificateExpired,    // Its time is over, or has not come.
  CertificateRevoked,    // In a revocation list, perhaps one that came after the link.
  CertificateUntrusted,  // Of another authority.
  CertificateUnchecked,  // The revocation list of this node has expired.
  CertificateMissing,    // It showed none.
  CertificateForeign,    // It names no node, or another one.
  OwnCertificate,        // The other end refuses the certificate of this node.
};

inline constexpr std::size_t kDropReasonCount = 26;

// The reason as a metric label, for example "bad_checksum".
std::string_view drop_reason_name(DropReason reason);

// Whether a certificate is the reason, so that another try ends as this one until an operator acts.
constexpr bool is_of_certificate(DropReason reason) {
  return reason >= DropReason::CertificateExpired && reason <= DropReason::OwnCertificate;
}

// True when a correct peer can cause it: the frame is dropped and the link lives on.
constexpr bool is_benign(DropReason reason) {
  return reason == DropReason::None || reason == DropReason::StaleEpoch ||
         reason == DropReason::StaleSequence;
}

}  // namespace gcoord::netcore
