// docs/reference/wire_format.md shows two frames; they must be what the code writes.
#include "protocol/frame.h"
#include "protocol/lock_messages.h"
#include "tests/source_dir.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace gcoord::protocol {
namespace {

using Bytes = std::vector<std::byte>;

// The bytes of the block that begins with ```hex <name>: an offset, then up to 16 bytes per line.
Bytes documented(const std::string& name) {
  std::ifstream file{in_sources("docs/reference/wire_format.md")};
  Bytes bytes;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line == "```hex " + name) {
      inside = true;
    } else if (line == "```") {
      inside = false;
    } else if (inside) {
      std::istringstream words{line};
      std::string word;
      words >> word;  // The offset.
      EXPECT_EQ(std::stoul(word, nullptr, 16), bytes.size());
      while (words >> word) {
        bytes.push_back(static_cast<std::byte>(std::stoul(word, nullptr, 16)));
      }
    }
  }
  return bytes;
}

RequestSlot example_acquire() {
  RequestSlot slot = to_slot(LockAcquire{
      .caller = {SessionId{0x0001'0002'0000'0003}, RequestSequence{5}, RequestSequence{4}},
      .wait_ms = 2500,
      .ttl_ms = 10'000});
  slot.request_id = 0x1'0000'0007;
  slot.shard = 42;
  return slot;
}

TEST(WireFormat, RequestOfTheDocumentIsWhatTheCodeWrites) {
  FrameBuilder builder{FrameDirection::Requests};
  builder.add(example_acquire(), bytes_of("jobs/train"));
  Bytes written;
  builder.finish(written);
  EXPECT_EQ(documented("request"), written);
}

RequestSlot example_with_term() {
  RequestSlot slot = example_acquire();
  slot.set(RequestFlag::NamesTerm);
  slot.token = 3;
  return slot;
}

TEST(WireFormat, AnAcquireThatNamesATermDiffersInOneBitAndTheToken) {
  FrameBuilder builder{FrameDirection::Requests};
  builder.add(example_with_term(), bytes_of("jobs/train"));
  Bytes written;
  builder.finish(written);
  EXPECT_EQ(documented("request with a term"), written);
  const Bytes before = documented("request");
  ASSERT_EQ(written.size(), before.size());
  for (std::size_t at = 0; at < before.size(); ++at) {
    const bool checksum = (at >= 12 && at < 16) || (at >= 28 && at < 32);
    const bool differs = at == 0x22 || at == 0x48;
    EXPECT_TRUE(checksum || differs == (written[at] != before[at])) << at;
  }
}

// Recorded before there were terms in requests.
TEST(WireFormat, AnAcquireOfBeforeNamesNoTerm) {
  FrameDecoder decoder{FrameDirection::Requests};
  decoder.append(documented("request"));
  FrameView frame;
  ASSERT_EQ(decoder.next(frame), DecodeStep::Frame);
  EXPECT_FALSE(frame.request(0).has(RequestFlag::NamesTerm));
  EXPECT_EQ(frame.request(0).token, 0u);
}

TEST(WireFormat, TheDocumentHasEveryKind) {
  std::ostringstream text;
  text << std::ifstream{in_sources("docs/reference/wire_format.md")}.rdbuf();
  for (std::uint16_t number = 0; number < 1000; ++number) {
    const auto kind = static_cast<RequestKind>(number);
    if (request_kind_known(kind)) {
      const std::string row =
          "| " + std::to_string(number) + " | " + std::string{request_kind_name(kind)} + " |";
      EXPECT_NE(text.str().find(row), std::string::npos) << row;
    }
  }
}

TEST(WireFormat, ReplyOfTheDocumentIsWhatTheCodeWrites) {
  ReplySlot reply = reply_to(example_acquire());
  reply.token = 19;
  reply.epoch = 3;
  reply.ttl_ms = 10'000;
  FrameBuilder builder{FrameDirection::Replies};
  builder.add(reply);
  Bytes written;
  builder.finish(written);
  EXPECT_EQ(documented("reply"), written);
}

TEST(WireFormat, RequestOfTheDocumentIsReadBack) {
  FrameDecoder decoder{FrameDirection::Requests};
  decoder.append(documented("request"));
  FrameView frame;
  ASSERT_EQ(decoder.next(frame), DecodeStep::Frame);
  const RequestSlot slot = frame.request(0);
  EXPECT_EQ(acquire_from_slot(slot).wait_ms, 2500u);
  EXPECT_EQ(text_of(frame.payload(slot)), "jobs/train");
}

}  // namespace
}  // namespace gcoord::protocol
