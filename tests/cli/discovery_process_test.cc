// gcoordctl finds a cluster by its name in DNS.
#include "tests/acceptance/both_turns.h"
#include "tests/cli/programs.h"
#include "tests/client/discovery/dns_server.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gcoord::cli {
namespace {

using client::address_record;
using client::dns_answer;
using client::DnsBytes;
using client::DnsServer;
using client::srv_content;

class Discovery : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(BothTurns, Discovery, both_turns(), turn_name);

TEST_P(Discovery, EndpointsMayBeAServiceInDns) {
  const TurnNodes node(GetParam());
  const auto port = static_cast<std::uint16_t>(
      std::stoul(node.endpoint().substr(node.endpoint().rfind(':') + 1)));
  const DnsServer server([port](const std::string& query) {
    const std::string record =
        DnsBytes{}.record(33, srv_content({0, 0, port, "node-1.test"})).bytes();
    return std::vector{
        dns_answer(query, {1, record + address_record("node-1.test", {"\x7f\0\0\1", 4}), 1})};
  });
  const Ctl ctl{"srv:_gcoord._tcp.example.org@" + server.text()};
  EXPECT_EQ(ctl.json({"lock", "acquire", "a", "--ttl", "30s"})["name"], "a");

  const Finished nowhere = Ctl{"srv:not a name"}({"status"});
  EXPECT_EQ(nowhere.code, 2) << nowhere.err;
}

}  // namespace
}  // namespace gcoord::cli
