// A CA of a test, with a fixed clock, and what it signs.
#pragma once

#include "common/assert.h"
#include "security/certificates/authority.h"
#include "security/certificates/check.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::certificates {

inline constexpr std::int64_t kDay = 24 * 60 * 60;
inline constexpr std::int64_t kToday = 1'800'000'000;  // In January of 2027.
inline constexpr std::uint64_t kCluster = 17;

inline PrivateKey make_key(KeyAlgorithm algorithm = KeyAlgorithm::P256) {
  return PrivateKey::make(algorithm).value();
}

inline Authority make_authority(std::uint64_t cluster = kCluster,
                                KeyAlgorithm algorithm = KeyAlgorithm::P256,
                                std::uint32_t days = 3650) {
  return Authority::found(
             {.cluster = cluster, .algorithm = algorithm, .now_s = kToday, .days = days},
             make_key(algorithm))
      .value();
}

inline Holder node(std::uint32_t id, std::uint64_t cluster = kCluster) {
  return {.kind = HolderKind::Node, .cluster = cluster, .node = id, .user = {}};
}

inline Holder user(const std::string& name, std::uint64_t cluster = kCluster) {
  return {.kind = HolderKind::User, .cluster = cluster, .node = 0, .user = name};
}

inline IssueWishes node_wishes(std::uint32_t id = 1) {
  return {.holder = node(id), .hosts = {"db1.example.org", "10.0.0.1", "::1"}, .now_s = kToday};
}

inline std::string serial_of_pem(const std::string& pem) {
  return read_certificates(pem).value().front().serial;
}

// A certificate of the CA against everything that a test says besides.
inline CheckWishes check_of(const std::string& certificate, const std::string& authority) {
  return {.certificate_pem = certificate, .authority_pem = authority, .now_s = kToday};
}

}  // namespace gcoord::certificates
