// Certificates, revocation lists and identities as somebody who is not trusted may write them.
#include "security/certificates/check.h"
#include "security/certificates/host_name.h"
#include "tests/fuzz/fuzz_test_main.h"
#include "tests/security/certificates/lab.h"

#include <algorithm>
#include <string>
#include <vector>

namespace {

using namespace gcoord::certificates;  // NOLINT: a program of its own.

// A CA, what it signed, and what of it may be believed.
struct Lab {
  Authority authority = make_authority();
  std::string ca = authority.pem().value();
  std::vector<std::string> signed_ones = {
      authority.issue(node_wishes(), make_key()).value(),
      authority.issue({.holder = user("alice"), .now_s = kToday}, make_key()).value()};
  std::string list = authority.revoke("", {"ABCDEF"}, kToday).value();

  bool made(const std::string& fingerprint) const {
    const auto is_it = [&](const std::string& pem) {
      return read_certificates(pem).value().front().fingerprint == fingerprint;
    };
    return is_it(ca) || std::ranges::any_of(signed_ones, is_it);
  }
};

const Lab& lab() {
  static const Lab made;
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  const std::string text(reinterpret_cast<const char*>(bytes), byte_count);
  const auto read = read_certificates(text);
  const bool believed = check_certificate(check_of(text, lab().ca)).ok();
  GCOORD_ASSERT(read.ok() || !believed);
  // Nobody but the CA makes what its certificate makes believed.
  GCOORD_ASSERT(!believed || lab().made(read.value().front().fingerprint));
  const auto list = lab().authority.revoke(text, {}, kToday);
  GCOORD_ASSERT(!list.ok() || text.empty() ||
                read_revocations(list.value()).value().serials ==
                    read_revocations(lab().list).value().serials);
  static_cast<void>(Authority::load(text, make_key()).ok());
  // One spelling for each holder, but for SPIFFE's.
  if (const auto holder = parse_holder(text); holder && text.starts_with("gcoord://")) {
    GCOORD_ASSERT(uri_of(*holder) == text);
  }
  static_cast<void>(kind_of_host(text));
  return 0;
}

std::vector<FuzzInput> fuzz_seeds() {
  std::vector<FuzzInput> seeds;
  for (const std::string& seed : {lab().signed_ones[0],
                                  lab().signed_ones[1],
                                  lab().ca,
                                  lab().list,
                                  uri_of(node(3)),
                                  uri_of(user("alice")),
                                  std::string{"spiffe://a/gcoord/17/node/3"},
                                  std::string{"db1.example.org"}}) {
    seeds.emplace_back(seed.begin(), seed.end());
  }
  return seeds;
}
