#include "server/interfaces/log_limits.h"
#include "server/replicas/shard_codec.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace gcoord::server {
namespace {

using consensus::Configuration;
using consensus::EntryKind;
using consensus::Message;
using consensus::MessageKind;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

Configuration three_nodes() {
  Configuration configuration;
  for (std::uint32_t slot = 0; slot < 3; ++slot) {
    configuration.node[slot] = NodeId{slot + 1};
    configuration.weight[slot] = 1;
  }
  configuration.voters = 7;
  return configuration;
}

class NoEntries final : public HardEntryVisitor {
 public:
  void on_entry(LogIndex index, Term term, const EntryView& entry) override {
    text += std::to_string(index.value) + ":" + std::to_string(term.value) + ":" +
            std::string(reinterpret_cast<const char*>(entry.payload.data()), entry.payload.size()) +
            ";";
  }

  std::string text;
};

Message append_of(std::uint16_t count) {
  Message message;
  message.kind = MessageKind::Append;
  message.count = count;
  return message;
}

TEST(ShardCodec, EntriesComeBackInOrder) {
  std::vector<std::byte> extent;
  encode_entry(extent, {EntryKind::Command, bytes_of("one")});
  encode_entry(extent, {EntryKind::Noop, {}});
  encode_entry(extent, {EntryKind::Command, {}});
  EXPECT_TRUE(well_formed_entries(append_of(3), extent));
  EntryReader reader(extent);
  EXPECT_EQ(reader.next()->payload.size(), 3u);
  EXPECT_EQ(reader.next()->kind, EntryKind::Noop);
  EXPECT_EQ(reader.next()->kind, EntryKind::Command);
  EXPECT_TRUE(reader.at_end());
}

TEST(ShardCodec, AnExtentThatIsNotWhatTheAppendAnnouncesIsRefused) {
  std::vector<std::byte> extent;
  encode_entry(extent, {EntryKind::Command, bytes_of("one")});
  EXPECT_FALSE(well_formed_entries(append_of(0), extent));
  EXPECT_FALSE(well_formed_entries(append_of(2), extent));
  EXPECT_TRUE(well_formed_entries(append_of(0), {}));
  for (std::size_t length = 0; length < extent.size(); ++length) {
    EXPECT_FALSE(well_formed_entries(append_of(1), std::span(extent).first(length)));
  }
}

TEST(ShardCodec, AConfigurationEntryMustBeWellFormed) {
  std::vector<std::byte> extent;
  Configuration configuration = three_nodes();
  encode_entry(extent, {EntryKind::Configuration, encode_configuration(configuration)});
  Message message = append_of(1);
  // Only the newest configuration of a log is flagged; a lagging follower gets older ones, too.
  EXPECT_TRUE(well_formed_entries(message, extent));
  message.flags = consensus::kFlagConfiguration;
  EXPECT_TRUE(well_formed_entries(message, extent));
  configuration.voters = 0;
  extent.clear();
  encode_entry(extent, {EntryKind::Configuration, encode_configuration(configuration)});
  EXPECT_FALSE(well_formed_entries(message, extent));
  message.flags = 0;
  EXPECT_FALSE(well_formed_entries(message, extent));
}

// A leader that was a lagging follower once flags an index that it only takes for a configuration;
// refused, the entry never reached a replica that lacked it.
TEST(ShardCodec, AnEntryThatOnlyMayBeAConfigurationIsTaken) {
  std::vector<std::byte> extent;
  encode_entry(extent, {EntryKind::Command, bytes_of("no configuration")});
  Message message = append_of(1);
  message.flags = consensus::kFlagConfiguration;
  EXPECT_TRUE(well_formed_entries(message, extent));
  encode_entry(extent, {EntryKind::Command, bytes_of("one more")});
  message.count = 2;
  EXPECT_FALSE(well_formed_entries(message, extent));
}

TEST(ShardCodec, ALengthBombIsRefused) {
  std::vector<std::byte> extent(kEntryHeaderBytes, std::byte{0xff});
  extent[0] = std::byte{0};
  EXPECT_FALSE(well_formed_entries(append_of(1), extent));
  std::vector<std::byte> large(kEntryHeaderBytes + kCommandBytesMax + 1);
  large[4] = std::byte{0x01};  // Length 2,049 in little-endian.
  large[5] = std::byte{0x08};
  EXPECT_FALSE(well_formed_entries(append_of(1), large));
}

TEST(ShardCodec, AHardValueComesBackWithItsEntries) {
  std::vector<std::byte> bytes;
  encode_hard_value(bytes,
                    {.lsn = ledger::Lsn{9},
                     .term = Term{4},
                     .vote = NodeId{2},
                     .floor = LogIndex{10},
                     .floor_term = Term{3},
                     .configuration = three_nodes()});
  encode_hard_entry(bytes, Term{3}, {EntryKind::Command, bytes_of("eleven")});
  encode_hard_entry(bytes, Term{4}, {EntryKind::Noop, {}});
  NoEntries entries;
  const auto value = decode_hard_value(bytes, entries);
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(value->lsn, ledger::Lsn{9});
  EXPECT_EQ(value->vote, NodeId{2});
  EXPECT_EQ(value->floor, LogIndex{10});
  EXPECT_EQ(value->configuration.node[2], NodeId{3});
  EXPECT_EQ(entries.text, "11:3:eleven;12:4:;");
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(decode_hard_value(std::span(bytes).first(length), entries).has_value());
  }
}

// A node that joins stores promises before it knows any member; a log and a snapshot never say so.
TEST(ShardCodec, AReplicaMayKnowNoConfigurationYet) {
  const Configuration unknown;
  EXPECT_TRUE(is_unknown(unknown));
  EXPECT_FALSE(is_unknown(three_nodes()));
  std::vector<std::byte> bytes;
  encode_hard_value(bytes, {.term = Term{5}, .vote = NodeId{2}, .configuration = unknown});
  NoEntries none;
  const auto value = decode_hard_value(bytes, none);
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(value->term, Term{5});
  EXPECT_TRUE(is_unknown(value->configuration));
  Configuration half = unknown;
  half.auto_leave = 1;
  encode_hard_value(bytes, {.term = Term{5}, .configuration = half});
  EXPECT_FALSE(decode_hard_value(bytes, none).has_value());
  EXPECT_FALSE(decode_configuration(encode_configuration(unknown)).has_value());
  encode_snapshot_head(bytes, unknown);
  EXPECT_FALSE(decode_snapshot(bytes).has_value());
}

TEST(ShardCodec, AChunkBeyondItsSnapshotIsRefused) {
  std::vector<std::byte> extent;
  ChunkHeader header{.offset_bytes = 4, .total_bytes = 8};
  encode_chunk(extent, header, bytes_of("four"));
  EXPECT_TRUE(decode_chunk(extent).has_value());
  header.offset_bytes = 5;
  encode_chunk(extent, header, bytes_of("four"));
  EXPECT_FALSE(decode_chunk(extent).has_value());
  header.offset_bytes = ~std::uint64_t{0};
  encode_chunk(extent, header, bytes_of("four"));
  EXPECT_FALSE(decode_chunk(extent).has_value());
  encode_chunk(extent, {.total_bytes = 8}, {});
  EXPECT_FALSE(decode_chunk(extent).has_value());
}

RC_GTEST_PROP(ShardCodec, AnyBytesAreSafeToDecode, (const std::vector<std::uint8_t>& noise)) {
  const auto bytes = std::as_bytes(std::span(noise));
  NoEntries entries;
  RC_ASSERT(!decode_hard_value(bytes, entries).has_value() || bytes.size() >= 96);
  well_formed_entries(append_of(static_cast<std::uint16_t>(noise.size() % 5)), bytes);
  RC_ASSERT(!decode_chunk(bytes).has_value() || bytes.size() > 24);
  RC_ASSERT(!decode_snapshot(bytes).has_value() || bytes.size() >= 48);
}

}  // namespace
}  // namespace gcoord::server
