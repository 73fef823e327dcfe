// Opener of one direction: records in, plain messages out, each once.
//
// Where the transport keeps the order, so does the opener: what comes again is refused, and where
// something is missing, that is a failure. Where it may reorder, the window decides
// (replay_window.h). Nothing of a record counts before its tag is good, neither its sequence nor
// its epoch. The next key is derived ahead, so a record that claims it costs no more than another;
// the first genuine one makes it the present key. The key before stays for as long as a record of
// it can be taken: not at all where the order is kept, else while the window reaches back to it. A
// refused record changes nothing. One thread.
#pragma once

#include "security/records/keys.h"
#include "security/records/record.h"
#include "security/records/replay_window.h"

#include <cstdint>
#include <optional>
#include <span>

namespace gcoord::security {

enum class RecordOrder : std::uint8_t { Kept, Window };

class RecordOpener {
 public:
  // `secret` as RecordKeys; `side` is the one that seals.
  RecordOpener(std::span<const std::byte> secret, RecordSide side, RecordOrder order);

  // Opens a record into the front of `plain`, which has room for record.size() -
  // kRecordExtraBytes; with another verdict than Opened nothing of it counts.
  RecordVerdict open(std::span<const std::byte> record, std::span<std::byte> plain);

  // Of the newest record that was opened.
  std::uint32_t epoch() const { return epoch_; }

  // Whether the key before is still there. For tests.
  bool keeps_previous() const { return previous_.has_value(); }

 private:
  RecordVerdict judge(const RecordHeader& header) const;
  RecordCipher* cipher_of(std::uint32_t epoch);
  void take_next(std::uint64_t first_sequence);
  void note(std::uint64_t sequence);

  RecordSide side_;
  RecordOrder order_;
  RecordKeys keys_;  // At the epoch of `next_`.
  RecordCipher present_;
  RecordCipher next_;
  std::optional<RecordCipher> previous_;
  std::uint32_t epoch_ = 0;           // Of `present_`.
  std::uint64_t first_sequence_ = 0;  // Of the first record that came under the present key.
  std::uint64_t expected_ = 0;        // With RecordOrder::Kept.
  ReplayWindow window_;
};

}  // namespace gcoord::security
