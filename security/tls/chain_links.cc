#include "security/tls/chain_links.h"

#include <openssl/crypto.h>
#include <openssl/x509.h>

#include <cstdint>
#include <optional>
#include <utility>

namespace gcoord::security {
namespace {

template <typename Object>
std::string der_of(int (*write)(const Object*, unsigned char**), const Object* object) {
  unsigned char* bytes = nullptr;
  const int count = object == nullptr ? 0 : write(object, &bytes);
  std::string der;
  if (count > 0) {
    der.assign(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(count));
  }
  OPENSSL_free(bytes);
  return der;
}

void put(const std::string& field, std::string& bytes) {
  bytes += static_cast<char>(field.size() >> 8);
  bytes += static_cast<char>(field.size() & 0xff);
  bytes += field;
}

// The field at the front, which leaves `bytes`.
std::optional<std::string> take(std::span<const unsigned char>& bytes) {
  if (bytes.size() < 2) {
    return std::nullopt;
  }
  const std::size_t count = std::size_t{bytes[0]} << 8 | bytes[1];
  bytes = bytes.subspan(2);
  if (bytes.size() < count) {
    return std::nullopt;
  }
  std::string field(reinterpret_cast<const char*>(bytes.data()), count);
  bytes = bytes.subspan(count);
  return field;
}

}  // namespace

ChainLink link_of(const x509_st& certificate) {
  return {.issuer = der_of<X509_NAME>(i2d_X509_NAME, X509_get_issuer_name(&certificate)),
          .serial = der_of<ASN1_INTEGER>(i2d_ASN1_INTEGER, X509_get0_serialNumber(&certificate))};
}

std::shared_ptr<const ChainLinks> links_of(const stack_st_X509* chain) {
  const int count = chain == nullptr ? 0 : sk_X509_num(chain);
  if (count <= 0) {
    return nullptr;
  }
  auto links = std::make_shared<ChainLinks>();
  for (int k = 0; k < count; ++k) {
    links->push_back(link_of(*sk_X509_value(chain, k)));
  }
  return links;
}

std::string encode_links(const ChainLinks& links) {
  std::string bytes;
  for (const ChainLink& link : links) {
    if (bytes.size() + link.issuer.size() + link.serial.size() + 4 > kChainLinksBytesMax) {
      return {};
    }
    put(link.issuer, bytes);
    put(link.serial, bytes);
  }
  return bytes;
}

std::shared_ptr<const ChainLinks> decode_links(std::span<const unsigned char> bytes) {
  if (bytes.empty() || bytes.size() > kChainLinksBytesMax) {
    return nullptr;
  }
  auto links = std::make_shared<ChainLinks>();
  while (!bytes.empty()) {
    auto issuer = take(bytes);
    auto serial = take(bytes);
    if (!issuer || !serial) {
      return nullptr;
    }
    links->push_back({std::move(*issuer), std::move(*serial)});
  }
  return links;
}

}  // namespace gcoord::security
