// Every option of gcoordd: where it may come from, what is refused, and what the refusal says.
#include "server/options/options.h"

#include "protocol/error_codes.h"
#include "server/options/option_groups.h"
#include "server/options/option_sources.h"
#include "server/options/option_table.h"
#include "tests/scratch_folder.h"
#include "tests/source_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <ostream>
#include <string>
#include <vector>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;
using testing::HasSubstr;

class OptionsTest : public testing::Test {
 protected:
  Result<Invocation> parse(const std::vector<std::string>& arguments) {
    return parse_invocation(arguments, [this](const std::string& name) {
      const auto found = environment_.find(name);
      return found == environment_.end() ? std::nullopt : std::optional(found->second);
    });
  }

  NodeOptions accepted(const std::vector<std::string>& arguments) {
    const auto parsed = parse(arguments);
    EXPECT_TRUE(parsed.ok()) << parsed.status().to_string();
    return parsed.ok() ? parsed.value().options : NodeOptions{};
  }

  void refused(const std::vector<std::string>& arguments,
               ErrorCode code,
               const std::string& message) {
    const auto parsed = parse(arguments);
    ASSERT_FALSE(parsed.ok());
    EXPECT_EQ(parsed.status().detail(), static_cast<std::uint32_t>(code));
    EXPECT_THAT(parsed.status().message(), HasSubstr(message));
    EXPECT_EQ(protocol::exit_code(parsed.status()), protocol::ExitCode::Usage);
  }

  std::string config_file(const std::string& text) {
    const std::string path = folder_.path("node.toml");
    std::ofstream(path) << text;
    return path;
  }

  const ScratchFolder folder_;
  std::map<std::string, std::string> environment_;
  const std::vector<std::string> minimal_{"--data-dir", "d"};
};

std::vector<std::string> with(std::vector<std::string> base, const std::vector<std::string>& more) {
  base.insert(base.end(), more.begin(), more.end());
  return base;
}

TEST_F(OptionsTest, DefaultsNeedOnlyADataDirectory) {
  const NodeOptions options = accepted(minimal_);
  EXPECT_EQ(options.node, NodeId{1});
  EXPECT_EQ(options.shards, 65536u);
  EXPECT_EQ(options.listen_client, (Endpoint{"127.0.0.1", 7400}));
  EXPECT_EQ(options.checkpoint_interval_ms, 30'000u);
  EXPECT_EQ(options.cluster, cluster_id_of("gcoord"));
}

TEST_F(OptionsTest, ATimeMayHaveAPointAndSeveralUnits) {
  const auto interval = [this](const std::string& text) {
    return accepted(with(minimal_, {"--checkpoint-interval", text})).checkpoint_interval_ms;
  };
  EXPECT_EQ(interval("1.5s"), 1500u);
  EXPECT_EQ(interval("1m30s"), 90'000u);
}

TEST_F(OptionsTest, PortsWithoutAnOptionFollowTheClientPort) {
  EXPECT_EQ(accepted(minimal_).listen_peer, (Endpoint{"127.0.0.1", 7500}));
  EXPECT_EQ(accepted(minimal_).listen_metrics, (Endpoint{"127.0.0.1", 7600}));
  const auto second = with(minimal_, {"--listen-client", "127.0.0.1:7402"});
  EXPECT_EQ(accepted(second).listen_peer, (Endpoint{"127.0.0.1", 7502}));
  EXPECT_EQ(accepted(second).listen_metrics, (Endpoint{"127.0.0.1", 7602}));
  const auto given = with(second, {"--listen-peer", "127.0.0.1:9", "--listen-metrics", "off"});
  EXPECT_EQ(accepted(given).listen_peer.port, 9);
  EXPECT_TRUE(accepted(given).listen_metrics.empty());
  environment_["GCOORD_LISTEN_METRICS"] = "127.0.0.1:7600";
  EXPECT_EQ(accepted(second).listen_metrics.port, 7600);
}

TEST_F(OptionsTest, AClientPortThatTheSystemChoosesMovesNoOther) {
  const auto options = accepted(with(minimal_, {"--listen-client", "127.0.0.1:0"}));
  EXPECT_EQ(options.listen_peer.port, 7500);
  EXPECT_EQ(options.listen_metrics.port, 7600);
}

TEST_F(OptionsTest, AClientPortThatLeavesNoRoomForTheOthersSaysSo) {
  refused(with(minimal_, {"--listen-client", "127.0.0.1:65400"}),
          ErrorCode::OptionInvalid,
          "leaves no port for the default of --listen-metrics");
}

TEST_F(OptionsTest, AllHistoryIsKeptUnlessBoundsAreGiven) {
  EXPECT_TRUE(accepted(minimal_).ledger_keep.keeps_all());
  EXPECT_FALSE(accepted(minimal_).ledger_bytes_max.has_value());
  const auto bounded = accepted(with(minimal_, {"--ledger-keep", "age:7d,entries:1000"}));
  EXPECT_EQ(bounded.ledger_keep,
            (ledger::KeepPolicy{.entries = 1000, .age_ms = 7ull * 24 * 3600 * 1000}));
}

TEST_F(OptionsTest, TheWholeLedgerIsBoundedWhereBytesAreGivenAndNotWhereAllIs) {
  const auto bounded = accepted(with(minimal_, {"--ledger-bytes-max", "20GiB"}));
  EXPECT_EQ(bounded.ledger_bytes_max, std::uint64_t{20} << 30);
  const auto all = accepted(with(minimal_, {"--ledger-bytes-max", "all"}));
  EXPECT_EQ(all.ledger_bytes_max, std::uint64_t{0});
  refused(with(minimal_, {"--ledger-bytes-max", "20GB"}), ErrorCode::OptionInvalid, "GiB");
}

TEST_F(OptionsTest, DurabilityIsDurableUnlessMemoryIsAskedFor) {
  EXPECT_EQ(accepted(minimal_).durability, Durability::Durable);
  const NodeOptions in_memory = accepted(with(minimal_, {"--durability", "memory"}));
  EXPECT_EQ(in_memory.durability, Durability::Memory);
  EXPECT_EQ(gpu_policy_of(in_memory).of(GpuFault::EccUncorrected), GpuAction::Drain);
  EXPECT_EQ(gpu_policy_of(accepted(minimal_)), GpuPolicy{});
}

TEST_F(OptionsTest, DataDirectoryIsRequired) {
  refused({}, ErrorCode::OptionMissing, "--data-dir");
}

TEST_F(OptionsTest, DevNeedsNothing) {
  const auto parsed = parse({"dev"});
  ASSERT_TRUE(parsed.ok()) << parsed.status().to_string();
  EXPECT_EQ(parsed.value().verb, Verb::Dev);
  EXPECT_TRUE(parsed.value().data_dir_temporary);
  EXPECT_TRUE(parsed.value().options.listen_metrics.empty());
}

TEST_F(OptionsTest, DevTakesTlsAndPlainTextWhereNobodyChooses) {
  const auto tls = [this](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"dev"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return parse(arguments).value().options.tls;
  };
  EXPECT_EQ(tls({}).client, TlsMode::Permissive);
  EXPECT_EQ(tls({}).http, TlsMode::Permissive);
  EXPECT_EQ(tls({"--client-tls", "off"}).http, TlsMode::Off);
  EXPECT_EQ(tls({"--client-tls", "required"}).http, TlsMode::Required);
  EXPECT_EQ(tls({"--client-tls", "off", "--http-tls", "required"}).client, TlsMode::Off);
  EXPECT_EQ(tls({"--tls-cert", "a", "--tls-key", "b"}).client, std::nullopt);
  refused({"dev", "--tls-cert", "a"}, ErrorCode::TlsFilesIncomplete, "go together");
  refused({"dev", "--listen-client", "0.0.0.0:7400"}, ErrorCode::ListenInsecure, "0.0.0.0");
  EXPECT_TRUE(parse({"dev", "--listen-client", "0.0.0.0:7400", "--client-tls", "required"}).ok());
}

TEST_F(OptionsTest, DevTakesOptionsOnEitherSideOfItsName) {
  EXPECT_EQ(parse({"--shards", "8", "dev"}).value().options.shards, 8u);
  EXPECT_EQ(parse({"dev", "--shards", "8"}).value().options.shards, 8u);
}

TEST_F(OptionsTest, DevRefusesPeers) {
  refused({"dev", "--peer", "2=127.0.0.1:1"}, ErrorCode::OptionInvalid, "dev runs one node alone");
}

TEST_F(OptionsTest, HelpNamesEveryOption) {
  const auto parsed = parse({"--help"});
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed.value().verb, Verb::Help);
  for (const OptionRow& row : option_table()) {
    EXPECT_THAT(parsed.value().text, HasSubstr("--" + std::string(row.name)));
  }
  EXPECT_THAT(parsed.value().text, HasSubstr("dev"));
}

TEST_F(OptionsTest, HelpHasOptionsInGroups) {
  const std::string text = parse({"--help"}).value().text;
  const auto under = [&text](const std::string& option, const std::string& group) {
    const std::size_t at = text.find("\n  --" + option + " ");
    const std::size_t heading = text.rfind("\n\n", at) + 2;
    return at != text.npos && text.compare(heading, group.size() + 2, group + ":\n") == 0;
  };
  EXPECT_TRUE(under("config", "Options"));
  EXPECT_TRUE(under("peer", "Cluster"));
  EXPECT_TRUE(under("listen-metrics", "Addresses"));
  EXPECT_TRUE(under("shards", "Data"));
  EXPECT_TRUE(under("ledger-keep", "Ledger"));
  EXPECT_TRUE(under("session-ttl-max", "Limits"));
  EXPECT_TRUE(under("tick-ms", "Times and elections"));
  EXPECT_TRUE(under("turn-stripes", "Devices"));
  EXPECT_TRUE(under("io-threads", "Addresses"));
  EXPECT_TRUE(under("log-level", "Logs"));
  EXPECT_EQ(option_group("something-new"), "Other options");
}

TEST_F(OptionsTest, VersionIsAnAnswer) {
  const auto parsed = parse({"--version"});
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed.value().verb, Verb::Version);
  EXPECT_THAT(parsed.value().text, HasSubstr("gcoordd "));
}

TEST_F(OptionsTest, FlagWinsOverEnvironmentWinsOverFileWinsOverDefault) {
  const std::string file = config_file("tick_ms = 5\nelection_ms = 700\nshards = 3\n");
  environment_["GCOORD_TICK_MS"] = "6";
  environment_["GCOORD_ELECTION_MS"] = "800";
  const NodeOptions options = accepted(with(minimal_, {"--config", file, "--tick-ms", "7"}));
  EXPECT_EQ(options.tick_ms, 7u);
  EXPECT_EQ(options.election_ms, 800u);
  EXPECT_EQ(options.shards, 3u);
  EXPECT_EQ(options.heartbeat_ms, 100u);
}

TEST_F(OptionsTest, ConfigFileMayComeFromTheEnvironment) {
  environment_["GCOORD_CONFIG"] = config_file("shards = 12\n");
  EXPECT_EQ(accepted(minimal_).shards, 12u);
}

TEST_F(OptionsTest, PeersComeFromFlagsAndFileAndEnvironment) {
  EXPECT_EQ(
      accepted(with(minimal_, {"--peer", "2=127.0.0.1:2", "--peer", "3=127.0.0.2:3,127.0.0.1:4"}))
          .peers.size(),
      2u);
  const std::string file =
      config_file("peer = [\"2=127.0.0.1:2,127.0.0.1:1\", \"3=127.0.0.1:3,127.0.0.1:4\"]\n");
  EXPECT_EQ(accepted(with(minimal_, {"--config", file})).peers.size(), 2u);
  environment_["GCOORD_PEER"] = "2=127.0.0.1:2,127.0.0.1:1 5=127.0.0.1:3,127.0.0.1:4";
  EXPECT_EQ(accepted(minimal_).peers.back().id, NodeId{5});
}

TEST_F(OptionsTest, ThisNodeAmongThePeersTellsItsClientAddress) {
  const NodeOptions options =
      accepted(with(minimal_, {"--peer", "1=127.0.0.1:5,127.0.0.1:6", "--peer", "2=127.0.0.2:5"}));
  ASSERT_EQ(options.peers.size(), 1u);
  EXPECT_TRUE(options.peers[0].client.empty());
  EXPECT_EQ(options.advertise_client, (Endpoint{"127.0.0.1", 6}));
}

constexpr const char* kToken = "00112233445566778899aabbccddeeff";

TEST_F(OptionsTest, ANodeJoinsWithAddressesAndAToken) {
  const NodeOptions options = accepted({"--data-dir",
                                        "d",
                                        "--join",
                                        "10.0.0.1:7400,[::1]:7401",
                                        "--join-token",
                                        kToken,
                                        "--member-name",
                                        "node-4",
                                        "--advertise-peer",
                                        "10.0.0.4:7500"});
  ASSERT_EQ(options.join.size(), 2u);
  EXPECT_EQ(to_string(options.join[1]), "[::1]:7401");
  EXPECT_EQ(options.join_token->back(), std::byte{0xff});
  EXPECT_EQ(to_string(options.advertise_peer), "10.0.0.4:7500");
  EXPECT_EQ(to_string(options.advertise_client), "127.0.0.1:7400");
}

TEST_F(OptionsTest, AJoinWithoutATokenIsNone) {
  refused({"--data-dir", "d", "--join", "a:1"}, ErrorCode::OptionInvalid, "--join-token");
  refused({"--data-dir", "d", "--join-token", kToken}, ErrorCode::OptionInvalid, "without --join");
  refused({"--data-dir", "d", "--join", "a:1,", "--join-token", kToken},
          ErrorCode::OptionInvalid,
          "--join");
  const auto parsed = parse({"--data-dir", "d", "--join", "a:1", "--join-token", "secret"});
  EXPECT_THAT(parsed.status().message(), testing::Not(HasSubstr("'secret'")));
  EXPECT_FALSE(parsed.ok());
}

TEST_F(OptionsTest, ANodeThatLearnsItsIdFindsItselfAmongItsPeers) {
  auto invocation = parse(
      {"--data-dir", "d", "--peer", "1=10.0.0.1:7500", "--peer", "2=10.0.0.2:7500,10.0.0.2:7400"});
  ASSERT_TRUE(invocation.ok());
  ASSERT_TRUE(name_node(NodeId{2}, invocation.value()).ok());
  const NodeOptions& options = invocation.value().options;
  ASSERT_EQ(options.peers.size(), 1u);
  EXPECT_EQ(options.peers[0].id, NodeId{1});
  EXPECT_EQ(to_string(options.advertise_peer), "10.0.0.2:7500");
  EXPECT_EQ(to_string(options.advertise_client), "10.0.0.2:7400");
}

TEST_F(OptionsTest, Row111And112TheCoordinatorsMethodComesFromAnySource) {
  EXPECT_EQ(accepted(minimal_).coordinator, CoordinatorMethod::Raft);
  const std::string file = config_file("coordinator = \"ring\"\n");
  const auto from_file = with(minimal_, {"--config", file});
  EXPECT_EQ(accepted(from_file).coordinator, CoordinatorMethod::Ring);
  environment_["GCOORD_COORDINATOR"] = "bully";
  EXPECT_EQ(accepted(from_file).coordinator, CoordinatorMethod::Bully);
  EXPECT_EQ(accepted(with(from_file, {"--coordinator", "raft"})).coordinator,
            CoordinatorMethod::Raft);
}

TEST_F(OptionsTest, SampleConfigurationIsValid) {
  const NodeOptions options = accepted({"--config", in_sources("deploy/gcoordd.toml")});
  EXPECT_EQ(options.peers.size(), 2u);
  EXPECT_EQ(options.cluster_name, "example");
}

TEST_F(OptionsTest, UnknownOptionIsRefused) {
  refused(with(minimal_, {"--shard", "1"}), ErrorCode::OptionInvalid, "--shard");
}

TEST_F(OptionsTest, RepeatedOptionIsRefused) {
  refused(with(minimal_, {"--shards", "1", "--shards", "2"}), ErrorCode::OptionInvalid, "--shards");
}

TEST_F(OptionsTest, RefusalNamesTheSourceOfTheValue) {
  environment_["GCOORD_SHARDS"] = "many";
  refused(minimal_, ErrorCode::OptionInvalid, "GCOORD_SHARDS: 'many' is not a whole number");
  environment_.clear();
  const std::string file = config_file("\nshards = 0\n");
  refused(with(minimal_, {"--config", file}), ErrorCode::OptionInvalid, "shards (line 2)");
  refused(with(minimal_, {"--shards", "0"}), ErrorCode::OptionInvalid, "--shards: '0'");
}

TEST_F(OptionsTest, UnknownTomlKeyIsRefusedWithItsLine) {
  const std::string file = config_file("shards = 1\ntick-ms = 3\n");
  refused(with(minimal_, {"--config", file}),
          ErrorCode::ConfigInvalid,
          "line 2: there is no option 'tick-ms'");
}

TEST_F(OptionsTest, BadTomlIsRefusedWithItsLine) {
  const std::string file = config_file("shards = 1\n= 3\n");
  refused(with(minimal_, {"--config", file}), ErrorCode::ConfigInvalid, "line 2");
}

TEST_F(OptionsTest, TomlValueOfAWrongTypeIsRefused) {
  const std::string file = config_file("shards = 1.5\n");
  refused(with(minimal_, {"--config", file}), ErrorCode::ConfigInvalid, "shards must be a string");
}

TEST_F(OptionsTest, MissingConfigFileIsRefused) {
  refused(with(minimal_, {"--config", "/nonexistent/x.toml"}),
          ErrorCode::ConfigUnreadable,
          "/nonexistent/x.toml");
}

TEST_F(OptionsTest, WhatAnUnreadableConfigFileWouldSayIsNotCalledMissing) {
  for (const std::string& file :
       {std::string{"/nonexistent/x.toml"}, config_file("data_dir =\n")}) {
    std::vector<Status> problems;
    examine_invocation(
        std::vector<std::string>{"--config", file},
        [](const std::string&) { return std::optional<std::string>{}; },
        problems);
    ASSERT_EQ(problems.size(), 1u) << file;
    EXPECT_NE(problems.front().message().find(file), std::string::npos);
  }
}

TEST_F(OptionsTest, ListeningBeyondLoopbackNeedsInsecure) {
  for (const std::string flag :
       {"--listen-client", "--listen-peer", "--listen-metrics", "--listen-ledger"}) {
    refused(with(minimal_, {flag, "0.0.0.0:1234"}), ErrorCode::ListenInsecure, flag);
    refused(with(minimal_, {flag, "node.example:1234"}), ErrorCode::ListenInsecure, flag);
    accepted(with(minimal_, {flag, "0.0.0.0:1234", "--insecure"}));
    accepted(with(minimal_, {flag, "127.0.0.9:1234"}));
    accepted(with(minimal_, {flag, "[::1]:1234"}));
  }
}

TEST_F(OptionsTest, ListeningBeyondLoopbackNeedsNoWordWhereTlsIsRequired) {
  const std::vector<std::string> tls = {"--tls-cert", "c.pem", "--tls-key", "k.pem"};
  const auto beyond = [&](const std::string& flag, std::vector<std::string> more) {
    more.insert(more.begin(), {flag, "0.0.0.0:1234"});
    more.insert(more.end(), tls.begin(), tls.end());
    return with(minimal_, more);
  };
  for (const std::string flag : {"--listen-client", "--listen-metrics", "--listen-ledger"}) {
    const std::string mode = flag == "--listen-client" ? "--client-tls" : "--http-tls";
    accepted(beyond(flag, {}));
    accepted(beyond(flag, {mode, "required"}));
    refused(beyond(flag, {mode, "permissive"}), ErrorCode::ListenInsecure, flag);
    refused(beyond(flag, {mode, "off"}), ErrorCode::ListenInsecure, flag);
    accepted(beyond(flag, {mode, "permissive", "--insecure"}));
  }
  refused(beyond("--listen-peer", {}), ErrorCode::ListenInsecure, "--listen-peer");
}

TEST_F(OptionsTest, OptionsOfTlsThatNeedEachOtherAreNamed) {
  refused(with(minimal_, {"--tls-cert", "c.pem"}), ErrorCode::TlsFilesIncomplete, "--tls-key");
  refused(with(minimal_, {"--client-tls", "required"}), ErrorCode::OptionMissing, "--tls-cert");
  refused(with(minimal_, {"--http-tls", "yes"}), ErrorCode::OptionInvalid, "permissive");
  refused(with(minimal_, {"--client-certificates", "some"}), ErrorCode::OptionInvalid, "optional");
  refused(with(minimal_, {"--tls-crl", "r.pem"}), ErrorCode::TlsFilesIncomplete, "--tls-ca");
}

TEST_F(OptionsTest, TheLedgersPortIsOffUnlessItIsAsked) {
  EXPECT_TRUE(accepted(minimal_).listen_ledger.empty());
  EXPECT_EQ(accepted(with(minimal_, {"--listen-ledger", "127.0.0.1:7403"})).listen_ledger.port,
            7403);
}

TEST_F(OptionsTest, AResidentTurnMaySayThatItPublishesNothing) {
  const auto options =
      accepted(with(minimal_, {"--turn", "resident", "--listen-ledger", "127.0.0.1:7403"}));
  EXPECT_EQ(options.listen_ledger.port, 7403);
}

TEST_F(OptionsTest, TheWayToResidentPeersIsChosenUnlessItIsForced) {
  EXPECT_EQ(accepted(minimal_).resident_peers, ResidentPeers::Auto);
  for (const ResidentPeers wish : {ResidentPeers::Mapped, ResidentPeers::Proxy}) {
    const std::string name{resident_peers_name(wish)};
    EXPECT_EQ(accepted(with(minimal_, {"--resident-peers", name})).resident_peers, wish);
  }
}

TEST_F(OptionsTest, MetricsCanBeOff) {
  EXPECT_TRUE(accepted(with(minimal_, {"--listen-metrics", "off"})).listen_metrics.empty());
}

struct BadValue {
  std::vector<std::string> arguments;
  std::string message;
};

// Names the case in reports; without it they show the bytes of pointers.
void PrintTo(const BadValue& value, std::ostream* out) {
  for (const std::string& argument : value.arguments) {
    *out << argument << ' ';
  }
}

class BadValueTest : public OptionsTest, public testing::WithParamInterface<BadValue> {};

TEST_P(BadValueTest, IsRefusedWithAMessageThatSaysWhatIsAllowed) {
  refused(with(minimal_, GetParam().arguments), ErrorCode::OptionInvalid, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Options,
    BadValueTest,
    testing::Values(
        BadValue{{"--node-id", "0"}, "from 1 to 65535"},
        BadValue{{"--node-id", "70000"}, "from 1 to 65535"},
        BadValue{{"--node-id", "1x"}, "from 1 to 65535"},
        BadValue{{"--shards", "16777217"}, "from 1 to 16777216"},
        BadValue{{"--durability", "disk"}, "neither durable nor memory"},
        BadValue{{"--coordinator", "unknown"}, "none of raft, bully, ring"},
        BadValue{{"--checkpoint-interval", "30"}, "write it with a unit"},
        BadValue{{"--checkpoint-interval", "10ms"}, "from 1000ms"},
        BadValue{{"--checkpoint-interval", "999999999999999999999h"}, "write it with a unit"},
        BadValue{{"--ledger-keep", "7d"}, "is none of all, entries:N"},
        BadValue{{"--ledger-keep", "age:7d,entries:0"}, "is none of all, entries:N"},
        BadValue{{"--tick-ms", "0"}, "from 1 to 1000"},
        BadValue{{"--tick-ms", "200"}, "--heartbeat-ms 100 is shorter than a tick"},
        BadValue{{"--tick-ms", "50", "--election-ms", "400"}, "shorter than 10 ticks"},
        BadValue{{"--election-ms", "200"}, "shorter than 3 heartbeats"},
        BadValue{{"--listen-client", "7400"}, "has no port"},
        BadValue{{"--listen-client", "::1:7400"}, "needs brackets"},
        BadValue{{"--listen-client", ":7400"}, "has no usable host"},
        BadValue{{"--listen-client", "a b:7400"}, "characters that are not allowed in host names"},
        BadValue{{"--listen-client", "h:99999"}, "no port between 1 and 65535"},
        BadValue{{"--peer", "2"}, "is not ID=HOST:PORT"},
        BadValue{{"--peer", "x=h:1"}, "from 1 to 65535"},
        BadValue{{"--peer", "2=h:0"}, "has port 0"},
        BadValue{{"--peer", "2=h:1", "--peer", "2=h:2,h:3"}, "names node 2 twice"},
        BadValue{{"--peer", "2=h:1", "--peer", "3=h:1,h:3"}, "gives h:1 to two nodes"},
        BadValue{{"--peer", "2=h:1,h:9", "--peer", "3=h:2,h:9"}, "gives the client address h:9"},
        BadValue{{"--peer", "2=h:1", "--listen-peer", "127.0.0.1:0"}, "--listen-peer has port 0"},
        BadValue{{"--cluster-name", "a b"}, "1 to 64 letters"},
        BadValue{{"--cluster-id", "0"}, "from 1 to"},
        BadValue{{"--peer-transport", "rdma"}, "neither tcp nor ucx"},
        BadValue{{"--resident-peers", "nvlink"}, "none of auto, mapped, proxy"},
        BadValue{{"--log-level", "loud"}, "none of off, error"},
        BadValue{{"--connections-max", "0"}, "from 1 to 100000"},
        BadValue{{"--io-threads", "17"}, "from 0 to 16"},
        BadValue{{"--io-backend", "select"}, "none of auto, io_uring, epoll"},
        BadValue{{"--source-connections-max", "100001"}, "from 0 to 100000"},
        BadValue{{"--client-memory-max", "1MiB"}, "not a size from 16MiB to 1024GiB"},
        BadValue{{"--client-memory-max", "64MB"}, "not a size from 16MiB to 1024GiB"},
        BadValue{{"--client-memory-max", "18014398509481985KiB"}, "not a size from 16MiB"},
        BadValue{{"--session-ttl-max",
                  "1s",
                  "--tick-ms",
                  "300",
                  "--heartbeat-ms",
                  "300",
                  "--election-ms",
                  "3000"},
                 "--session-ttl-max is shorter"}));

TEST_F(OptionsTest, MoreThanSevenNodesAreRefused) {
  std::vector<std::string> arguments = minimal_;
  for (int id = 2; id <= 8; ++id) {
    arguments.push_back("--peer");
    arguments.push_back(std::to_string(id) + "=h" + std::to_string(id) + ":1");
  }
  refused(arguments, ErrorCode::OptionInvalid, "8 nodes; at most 7");
}

}  // namespace
}  // namespace gcoord::server
