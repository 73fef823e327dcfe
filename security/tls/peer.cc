#include "security/tls/peer.h"

#include "common/utf8.h"
#include "security/tls/openssl_owned.h"

#include <arpa/inet.h>
#include <openssl/asn1.h>
#include <openssl/bn.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>
#include <string_view>

namespace gcoord::security {
namespace {

using OwnedNames = std::unique_ptr<GENERAL_NAMES, OpensslFree<GENERAL_NAMES_free>>;

std::string hexadecimal(const unsigned char* bytes, std::size_t count) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * count);
  for (std::size_t k = 0; k < count; ++k) {
    text += kDigits[bytes[k] >> 4];
    text += kDigits[bytes[k] & 15];
  }
  return text;
}

bool plain(std::string_view name) {
  return !name.empty() && name.size() <= kPeerNameBytesMax && utf8_well_formed(name) &&
         std::none_of(name.begin(), name.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
         });
}

void keep(std::vector<std::string>& names, std::string name) {
  if (names.size() < kPeerNamesMax && plain(name)) {
    names.push_back(std::move(name));
  }
}

std::string text_of(const ASN1_STRING* string) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(string)),
          static_cast<std::size_t>(ASN1_STRING_length(string))};
}

std::string address_of(const ASN1_STRING* bytes) {
  const int length = ASN1_STRING_length(bytes);
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (length != 4 && length != 16) {
    return {};
  }
  const int family = length == 4 ? AF_INET : AF_INET6;
  const auto size = static_cast<socklen_t>(text.size());
  return ::inet_ntop(family, ASN1_STRING_get0_data(bytes), text.data(), size) == nullptr
             ? std::string{}
             : std::string{text.data()};
}

void read_names(const X509& certificate, TlsPeer& peer) {
  const OwnedNames names{static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr))};
  const int count = names == nullptr ? 0 : sk_GENERAL_NAME_num(names.get());
  for (int k = 0; k < count; ++k) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), k);
    switch (name->type) {
      case GEN_URI:
        keep(peer.uris, text_of(name->d.uniformResourceIdentifier));
        break;
      case GEN_DNS:
        keep(peer.dns, text_of(name->d.dNSName));
        break;
      case GEN_IPADD:
        keep(peer.addresses, address_of(name->d.iPAddress));
        break;
      default:
        break;
    }
  }
}

// The last one, which is the most specific.
std::string common_name_of(const X509& certificate) {
  X509_NAME* const subject = X509_get_subject_name(&certificate);
  int last = -1;
  for (int next = X509_NAME_get_index_by_NID(subject, NID_commonName, -1); next >= 0;
       next = X509_NAME_get_index_by_NID(subject, NID_commonName, last)) {
    last = next;
  }
  if (last < 0) {
    return {};
  }
  unsigned char* bytes = nullptr;
  const int count =
      ASN1_STRING_to_UTF8(&bytes, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, last)));
  std::string name;
  if (count > 0) {
    name.assign(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(count));
  }
  OPENSSL_free(bytes);
  return plain(name) ? name : std::string{};
}

std::string serial_of(const X509& certificate) {
  const ASN1_INTEGER* serial = X509_get0_serialNumber(&certificate);
  return serial == nullptr ? std::string{}
                           : hexadecimal(ASN1_STRING_get0_data(serial),
                                         static_cast<std::size_t>(ASN1_STRING_length(serial)));
}

}  // namespace

std::int64_t seconds_of(const asn1_string_st* time) {
  std::tm parts{};
  return time != nullptr && ASN1_TIME_to_tm(time, &parts) == 1 ? ::timegm(&parts) : 0;
}

std::int64_t not_after_s_of(const x509_st& certificate) {
  return seconds_of(X509_get0_notAfter(&certificate));
}

TlsPeer peer_of(const x509_st& certificate) {
  TlsPeer peer;
  read_names(certificate, peer);
  peer.common_name = common_name_of(certificate);
  peer.serial = serial_of(certificate);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int digest_bytes = 0;
  if (X509_digest(&certificate, EVP_sha256(), digest.data(), &digest_bytes) == 1) {
    peer.fingerprint = hexadecimal(digest.data(), digest_bytes);
  }
  peer.not_after_s = not_after_s_of(certificate);
  return peer;
}

}  // namespace gcoord::security
