#include "protocol/hello.h"

#include "common/bytes.h"
#include "protocol/error_codes.h"

#include <algorithm>

namespace gcoord::protocol {
namespace {

constexpr std::size_t kClientNameBytesMax = 255;

// Smallest node entry: id, length, no address.
constexpr std::size_t kNodeBytesMin = 6;

// At least one, and each with an id of its own.
bool nodes_sound(std::vector<NodeAddress> nodes) {
  std::ranges::sort(nodes, {}, &NodeAddress::node);
  const bool repeated = std::ranges::adjacent_find(nodes, {}, &NodeAddress::node) != nodes.end();
  return !nodes.empty() && nodes.front().node != NodeId{} && !repeated;
}

// What a client computes with later: sizes of tables, lengths of time, majorities.
bool within_bounds(const Welcome& welcome) {
  return welcome.version >= kProtocolVersionMin && welcome.version <= kProtocolVersionMax &&
         welcome.shard_count != 0 && welcome.shard_count <= kShardsMax &&
         welcome.tick_ms <= kPeriodMsMax && welcome.election_ms <= kPeriodMsMax &&
         welcome.ttl_ms_min <= kTtlMsMax && welcome.ttl_ms_max <= kTtlMsMax &&
         nodes_sound(welcome.nodes);
}

}  // namespace

std::vector<std::byte> encode(const Hello& hello) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.integer(hello.version_min);
  writer.integer(hello.version_max);
  writer.integer(hello.features);
  writer.integer(hello.cluster.value);
  writer.text(std::string_view{hello.client}.substr(0, kClientNameBytesMax));
  return out;
}

Result<Hello> decode_hello(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  Hello hello;
  hello.version_min = reader.integer<std::uint16_t>();
  hello.version_max = reader.integer<std::uint16_t>();
  hello.features = reader.integer<std::uint64_t>();
  hello.cluster = ClusterId{reader.integer<std::uint64_t>()};
  hello.client = reader.text(kClientNameBytesMax);
  // A later version may append fields, so what follows is not an error.
  if (!reader.ok() || hello.version_min > hello.version_max) {
    return make_error(ErrorCode::PayloadMalformed, "hello");
  }
  return hello;
}

std::vector<std::byte> encode(const Welcome& welcome) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.integer(welcome.version);
  writer.integer(welcome.features);
  writer.integer(welcome.cluster.value);
  writer.integer(welcome.node.value);
  writer.integer(welcome.shard_count);
  writer.integer(welcome.tick_ms);
  writer.integer(welcome.election_ms);
  writer.integer(welcome.ttl_ms_min);
  writer.integer(welcome.ttl_ms_max);
  writer.integer(static_cast<std::uint32_t>(welcome.nodes.size()));
  for (const NodeAddress& node : welcome.nodes) {
    writer.integer(node.node.value);
    writer.text(node.address);
  }
  if (welcome.connection != 0) {
    writer.integer(welcome.connection);
  }
  const bool members = (welcome.features & static_cast<std::uint64_t>(Feature::Members)) != 0;
  if (welcome.connection != 0 && members && welcome.view_epoch != 0) {
    writer.integer(welcome.view_epoch);
  }
  return out;
}

Result<Welcome> decode_welcome(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  Welcome welcome;
  welcome.version = reader.integer<std::uint16_t>();
  welcome.features = reader.integer<std::uint64_t>();
  welcome.cluster = ClusterId{reader.integer<std::uint64_t>()};
  welcome.node = NodeId{reader.integer<std::uint32_t>()};
  welcome.shard_count = reader.integer<std::uint32_t>();
  welcome.tick_ms = reader.integer<std::uint32_t>();
  welcome.election_ms = reader.integer<std::uint32_t>();
  welcome.ttl_ms_min = reader.integer<std::uint32_t>();
  welcome.ttl_ms_max = reader.integer<std::uint32_t>();
  const std::uint32_t node_count = reader.count(kNodeBytesMin, kNodesMax);
  for (std::uint32_t index = 0; index < node_count; ++index) {
    const NodeId node{reader.integer<std::uint32_t>()};
    welcome.nodes.push_back({node, std::string{reader.text(kAddressBytesMax)}});
  }
  // Earlier releases end here, later ones may append fields.
  if (reader.rest_bytes() != 0) {
    welcome.connection = reader.integer<std::uint64_t>();
  }
  if (reader.ok() && reader.rest_bytes() >= sizeof(welcome.view_epoch)) {
    welcome.view_epoch = reader.integer<std::uint64_t>();
  }
  if (!reader.ok() || !within_bounds(welcome)) {
    return make_error(ErrorCode::PayloadMalformed, "welcome");
  }
  return welcome;
}

std::uint16_t common_version(const Hello& hello) {
  const std::uint16_t highest = std::min(hello.version_max, kProtocolVersionMax);
  return highest >= hello.version_min && highest >= kProtocolVersionMin ? highest
                                                                        : std::uint16_t{0};
}

}  // namespace gcoord::protocol
