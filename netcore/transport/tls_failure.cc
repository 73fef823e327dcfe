#include "netcore/transport/tls_failure.h"

#include "security/tls/errors.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace gcoord::netcore {
namespace {

struct Row {
  std::uint32_t detail;
  DropReason drop;
  std::string_view remedy;
};

constexpr std::string_view kOwnRemedy =
    "gcoordctl cert verify with --crl says what is wrong with this node's certificate";

constexpr Row kRows[] = {
    {security::kTlsExpired,
     DropReason::CertificateExpired,
     "renew it there with gcoordctl cert renew, and check the clocks of both nodes"},
    {security::kTlsRevoked,
     DropReason::CertificateRevoked,
     "issue that node a new one with a new key, or remove the node"},
    {security::kTlsUntrusted,
     DropReason::CertificateUntrusted,
     "have it issued by the CA of this cluster, or give both nodes one --tls-ca"},
    {security::kTlsListExpired,
     DropReason::CertificateUnchecked,
     "put a new revocation list in place of the file of --tls-crl of this node"},
    {security::kTlsNoCertificate,
     DropReason::CertificateMissing,
     "give that node --tls-cert, --tls-key and --peer-tls"},
    {security::kTlsOwnExpired,
     DropReason::OwnCertificate,
     "renew it with gcoordctl cert renew; this node takes the file by itself"},
    {security::kTlsOwnRevoked,
     DropReason::OwnCertificate,
     "have a new one issued for this node, with a new key"},
    {security::kTlsOwnUntrusted,
     DropReason::OwnCertificate,
     "have it issued by the CA of this cluster"},
    {security::kTlsUnjudged,
     DropReason::OwnCertificate,
     "read the log of that node; with GC3138 there, put a new list in place of its file of "
     "--tls-crl"},
    {security::kTlsRefused, DropReason::OwnCertificate, kOwnRemedy},
};

}  // namespace

TlsFailure tls_failure_of(const Status& failure) {
  const std::string text =
      "TLS: " + failure.message() + " (GC" + std::to_string(failure.detail()) + ")";
  const auto* const row = std::ranges::find(kRows, failure.detail(), &Row::detail);
  return row == std::end(kRows) ? TlsFailure{DropReason::Unproven, text}
                                : TlsFailure{row->drop, text + ": " + std::string{row->remedy}};
}

}  // namespace gcoord::netcore
