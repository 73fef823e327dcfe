// Records from one end to the other: what arrives is what was sent, once, and nothing else.
#include "security/records/opener.h"
#include "security/records/sealer.h"
#include "security/secret/keyed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::security {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span{text});
  return {bytes.begin(), bytes.end()};
}

class RecordsTest : public testing::Test {
 protected:
  Bytes sealed(std::string_view text, std::uint64_t now_ms = 0) {
    const Bytes plain = bytes_of(text);
    Bytes record(plain.size() + kRecordExtraBytes);
    sealer_.seal(plain, record, now_ms);
    return record;
  }

  // The text of the record; nothing of one that is refused.
  static std::string opened(RecordOpener& opener, const Bytes& record, RecordVerdict expected) {
    Bytes plain(record.size());
    EXPECT_EQ(opener.open(record, plain), expected) << record_verdict_name(expected);
    if (expected != RecordVerdict::Opened) {
      EXPECT_TRUE(std::ranges::all_of(plain, [](std::byte each) { return each == std::byte{0}; }));
      return {};
    }
    return {reinterpret_cast<const char*>(plain.data()), record.size() - kRecordExtraBytes};
  }

  static std::string opened(RecordOpener& opener, const Bytes& record) {
    return opened(opener, record, RecordVerdict::Opened);
  }

  RecordOpener opener(RecordOrder order) const {
    return {secret_.bytes(), RecordSide::Caller, order};
  }

  const SecretBytes secret_ = random_secret(32);
  RecordSealer sealer_{secret_.bytes(), RecordSide::Caller, {.records_max = 4}};
  RecordOpener ordered_ = opener(RecordOrder::Kept);
  RecordOpener window_ = opener(RecordOrder::Window);
};

TEST_F(RecordsTest, AnEmptyOneAndALargeOneArriveUnderEveryKey) {
  const std::string large(100'000, 'x');
  for (int k = 0; k < 12; ++k) {
    EXPECT_EQ(opened(ordered_, sealed("")), "");
    EXPECT_EQ(opened(ordered_, sealed(large)), large);
  }
  EXPECT_EQ(ordered_.epoch(), 5u);
  EXPECT_EQ(sealer_.sequence(), 24u);
}

TEST_F(RecordsTest, ThePlainTextDoesNotShow) {
  const Bytes record = sealed("correct horse");
  const Bytes plain = bytes_of("horse");
  EXPECT_TRUE(std::ranges::search(record, plain).empty());
}

TEST_F(RecordsTest, NoByteAndNoBitMayChange) {
  const Bytes record = sealed("a message");
  for (std::size_t at = 0; at < record.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      Bytes changed = record;
      changed[at] ^= std::byte{1} << bit;
      Bytes plain(record.size());
      EXPECT_NE(ordered_.open(changed, plain), RecordVerdict::Opened) << at << " " << bit;
      EXPECT_NE(window_.open(changed, plain), RecordVerdict::Opened) << at << " " << bit;
    }
  }
  EXPECT_EQ(opened(ordered_, record), "a message");  // None of them changed anything.
  EXPECT_EQ(opened(window_, record), "a message");
}

TEST_F(RecordsTest, TruncatedAndExtendedOnesAreRefused) {
  const Bytes record = sealed("a message");
  for (std::size_t length = 0; length < record.size(); ++length) {
    const Bytes cut(record.begin(), record.begin() + static_cast<std::ptrdiff_t>(length));
    opened(window_,
           cut,
           length < kRecordExtraBytes ? RecordVerdict::Malformed : RecordVerdict::Forged);
  }
  Bytes longer = record;
  longer.push_back({});
  opened(window_, longer, RecordVerdict::Forged);
}

TEST_F(RecordsTest, AReplayIsRefusedAtOnceAndAfterManyOthers) {
  const Bytes first = sealed("first");
  EXPECT_EQ(opened(ordered_, first), "first");
  EXPECT_EQ(opened(window_, first), "first");
  for (int k = 0; k < 100; ++k) {
    opened(ordered_, first, RecordVerdict::Replayed);
    opened(window_, first, RecordVerdict::Replayed);
    const Bytes next = sealed("next");
    opened(ordered_, next);
    opened(window_, next);
  }
}

TEST_F(RecordsTest, TheWindowTakesSixtyFourInAnyOrderAndNoneOlder) {
  RecordSealer patient{secret_.bytes(), RecordSide::Caller};
  std::vector<Bytes> of_one_key;
  for (int k = 0; k < 65; ++k) {
    const Bytes plain = bytes_of(std::to_string(k));
    Bytes& record = of_one_key.emplace_back(plain.size() + kRecordExtraBytes);
    patient.seal(plain, record, 0);
  }
  EXPECT_EQ(opened(window_, of_one_key[64]), "64");
  opened(window_, of_one_key[0], RecordVerdict::Replayed);
  for (std::size_t k = 1; k < 64; ++k) {
    EXPECT_EQ(opened(window_, of_one_key[k]), std::to_string(k));
    opened(window_, of_one_key[k], RecordVerdict::Replayed);
  }
}

TEST_F(RecordsTest, WhereTheOrderIsKeptAGapIsAFailureAndWhatIsMissingStillFits) {
  const Bytes first = sealed("first");
  const Bytes second = sealed("second");
  opened(ordered_, second, RecordVerdict::OutOfOrder);
  EXPECT_EQ(opened(ordered_, first), "first");
  EXPECT_EQ(opened(ordered_, second), "second");
}

TEST_F(RecordsTest, ARecordOfTheOtherDirectionOpensNowhere) {
  const Bytes record = sealed("mine");
  RecordOpener own{secret_.bytes(), RecordSide::Called, RecordOrder::Kept};
  opened(own, record, RecordVerdict::Reflected);
  Bytes renamed = record;
  renamed[1] = static_cast<std::byte>(RecordSide::Called);
  opened(own, renamed, RecordVerdict::Forged);  // The key of a direction is its own.
}

TEST_F(RecordsTest, AnotherSecretOpensNothing) {
  const SecretBytes other = random_secret(32);
  RecordOpener stranger{other.bytes(), RecordSide::Caller, RecordOrder::Window};
  opened(stranger, sealed("mine"), RecordVerdict::Forged);
}

TEST_F(RecordsTest, KeysOfFarEpochsOpenNothingAndClaimsOfTheNextChangeNothing) {
  const Bytes record = sealed("first");
  for (const std::uint32_t epoch : {1u, 2u, 3u, ~0u}) {
    Bytes claimed = record;
    std::memcpy(claimed.data() + 4, &epoch, sizeof(epoch));
    opened(window_, claimed, epoch == 1 ? RecordVerdict::Forged : RecordVerdict::Epoch);
  }
  EXPECT_EQ(window_.epoch(), 0u);
  EXPECT_EQ(opened(window_, record), "first");
}

TEST_F(RecordsTest, TheKeyBeforeStaysForAsLongAsTheWindowReachesBackToIt) {
  RecordSealer two_keys{secret_.bytes(), RecordSide::Caller, {.records_max = 100}};
  std::vector<Bytes> many;
  for (int k = 0; k < 200; ++k) {
    const Bytes plain = bytes_of(std::to_string(k));
    Bytes& record = many.emplace_back(plain.size() + kRecordExtraBytes);
    two_keys.seal(plain, record, 0);
  }
  RecordOpener opener = this->opener(RecordOrder::Window);
  opened(opener, many[98]);
  opened(opener, many[101]);  // Of the next key.
  EXPECT_EQ(opener.epoch(), 1u);
  EXPECT_EQ(opened(opener, many[99]), "99");
  for (std::size_t k = 102; k < 164; ++k) {
    opened(opener, many[k]);
  }
  EXPECT_TRUE(opener.keeps_previous());
  opened(opener, many[164]);
  EXPECT_FALSE(opener.keeps_previous());
  opened(opener, many[100], RecordVerdict::Replayed);
  for (std::size_t k = 0; k <= 100; ++k) {
    opened(ordered_, many[k]);
  }
  EXPECT_EQ(ordered_.epoch(), 1u);
  EXPECT_FALSE(ordered_.keeps_previous());  // Nothing of it can follow.
}

TEST_F(RecordsTest, AKeyEndsWithItsRecordsItsBytesOrItsTime) {
  const SecretBytes secret = random_secret(32);
  RecordSealer sealer{secret.bytes(),
                      RecordSide::Called,
                      {.records_max = 10, .bytes_max = 1000, .age_ms_max = 500}};
  RecordOpener opener{secret.bytes(), RecordSide::Called, RecordOrder::Kept};
  const auto pass = [&](std::size_t count, std::uint64_t now_ms) {
    const Bytes plain(count, std::byte{7});
    Bytes record(count + kRecordExtraBytes);
    sealer.seal(plain, record, now_ms);
    Bytes out(count);
    EXPECT_EQ(opener.open(record, out), RecordVerdict::Opened);
    EXPECT_EQ(out, plain);
    EXPECT_EQ(opener.epoch(), sealer.epoch());
    return sealer.epoch();
  };
  for (int k = 0; k < 10; ++k) {
    EXPECT_EQ(pass(1, 100), 0u);
  }
  EXPECT_EQ(pass(1, 100), 1u);
  EXPECT_EQ(pass(999, 100), 1u);
  EXPECT_EQ(pass(1, 100), 2u);
  EXPECT_EQ(pass(1, 599), 2u);
  EXPECT_EQ(pass(1, 600), 3u);
  EXPECT_EQ(pass(2000, 600), 4u);  // Larger than a key's share: under a key of its own.
  EXPECT_EQ(pass(1, 600), 5u);
}

TEST(RecordFailure, EachRefusalHasItsNumber) {
  std::uint32_t number = 3130;
  for (std::size_t k = 1; k < kRecordVerdicts; ++k) {
    const Status status = record_failure(static_cast<RecordVerdict>(k));
    EXPECT_EQ(status.detail(), number++);
    EXPECT_FALSE(status.message().empty());
  }
}

}  // namespace
}  // namespace gcoord::security
