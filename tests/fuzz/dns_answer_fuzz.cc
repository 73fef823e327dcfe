// Answers of name servers as somebody who only claims to be one may send them.
#include "client/discovery/srv_message.h"
#include "common/assert.h"
#include "tests/client/discovery/dns_server.h"
#include "tests/fuzz/fuzz_test_main.h"

#include <span>
#include <string>

namespace {

using namespace gcoord;          // NOLINT: a program of its own.
using namespace gcoord::client;  // NOLINT

constexpr std::uint16_t kId = 7;
constexpr const char* kName = "_gcoord._tcp.example.org";

std::string query() {
  const auto bytes = encode_srv_query(kId, kName, DnsExtension::Edns);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  const auto answer = decode_srv_answer(std::as_bytes(std::span{bytes, byte_count}), kId, kName);
  if (!answer) {
    return 0;
  }
  GCOORD_ASSERT(answer->records.size() <= kRecordsMax);
  for (const SrvRecord& record : answer->records) {
    GCOORD_ASSERT(record.port != 0);
    GCOORD_ASSERT(is_dns_name(record.target));
    GCOORD_ASSERT(record.addresses.size() <= kRecordsMax);
  }
  return 0;
}

std::vector<FuzzInput> fuzz_seeds() {
  const std::string pointer =
      DnsBytes{}.number(0).number(0).number(1).raw("\4node").number(0xc019).bytes();
  std::vector<FuzzInput> seeds;
  for (const std::string& seed :
       {dns_answer(query(), {1, DnsBytes{}.record(33, srv_content({1, 2, 3, "node-1"})).bytes()}),
        dns_answer(query(),
                   {2,
                    DnsBytes{}.record(33, srv_content({1, 2, 3, "a"})).record(33, pointer).bytes() +
                        address_record("a", {"\x0a\0\0\1", 4}),
                    1}),
        dns_answer(query(),
                   {2,
                    DnsBytes{}.record(5, DnsBytes{}.name("b.org").bytes()).bytes() +
                        record_of("b.org", 33, srv_content({1, 2, 3, "a"}))}),
        dns_answer(query(), {0, "", 0, 0x8183})}) {
    seeds.emplace_back(seed.begin(), seed.end());
  }
  return seeds;
}
