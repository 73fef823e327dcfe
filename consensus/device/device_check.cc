#include "consensus/device/device_check.h"

#include "common/device/device_errors.h"
#include "common/random.h"
#include "consensus/device/difference.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

namespace gcoord::consensus {
namespace {

Status differs(ShardId shard, const std::string& what) {
  return {
      StatusCode::Internal, "shard " + std::to_string(shard.value) + ": " + what, kDeviceDiffers};
}

using PackedWords = std::array<std::uint64_t, sizeof(PackedRow) / sizeof(std::uint64_t)>;

PackedWords words_of(const PackedRow& packed) {
  PackedWords words;
  std::memcpy(words.data(), &packed, sizeof packed);
  return words;
}

std::string hex(std::uint64_t word) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%016llx", static_cast<unsigned long long>(word));
  return text;
}

// "word 4 of its packed row is 0x.. instead of 0x.."; empty: they are equal.
std::string different_word(const PackedRow& known, const PackedRow& found) {
  const PackedWords was = words_of(known);
  const PackedWords is = words_of(found);
  for (std::size_t k = 0; k < was.size(); ++k) {
    if (was[k] != is[k]) {
      return "word " + std::to_string(k) + " of its packed row is " + hex(is[k]) + " instead of " +
             hex(was[k]);
    }
  }
  return {};
}

// The columns that a packed row with its deadline means.
RowCopy unpacked(const SteppedRow& found, ShardRef known) {
  RowCopy copy{};
  unpack(found.packed, found.deadline, ref_of(copy, known.shard(), known.slot_count()));
  return copy;
}

// The first word and the first field that are not what they were.
std::string describe(const SteppedRow& found, const RowCopy& wide, ShardRef known) {
  const Tick deadline = known.hot().deadline;
  if (found.deadline != deadline) {
    return "its deadline is " + hex(found.deadline.value) + " instead of " + hex(deadline.value);
  }
  PackedRow packed;
  const bool fits = pack(known, packed);
  const std::string_view form[] = {"packed", "wide"};
  if (fits == is_wide(found.packed)) {
    return "it was stored " + std::string(form[fits ? 0 : 1]) + " and is " +
           std::string(form[fits ? 1 : 0]) + ": " + different_word(packed, found.packed);
  }
  const RowCopy is = fits ? unpacked(found, known) : wide;
  const std::string field = first_difference(copy_of(known), is);
  const std::string word = fits ? different_word(packed, found.packed) : std::string{};
  if (field.empty() && word.empty()) {
    return fits ? "it differed, and a second check found no difference"
                : "its place among the wide rows is " + hex(found.packed.term);
  }
  const std::string column = field.empty() ? "" : "column " + field + " (host and device)";
  return column + (column.empty() || word.empty() ? "" : "; ") + word;
}

}  // namespace

DeviceCheck::DeviceCheck(const DeviceCheckShape& shape)
    : shape_(shape), digests_(shape.one_in == 0 ? 0 : shape.row_count) {}

void DeviceCheck::remember(std::uint32_t row, std::uint64_t digest) {
  if (on()) {
    GCOORD_ASSERT(row < shape_.row_count);
    digests_[row] = digest;
  }
}

Status DeviceCheck::altered(const SteppedRow& found, const RowCopy& wide, ShardRef known) const {
  return differs(known.shard(), "the device's memory is corrupt: " + describe(found, wide, known));
}

bool DeviceCheck::draw(ShardRef before) {
  if (!on() || random_below(mix64(++steps_), shape_.one_in) != 0) {
    return false;
  }
  before_ = copy_of(before);
  return true;
}

Status DeviceCheck::compare(const Step& step, ShardRef after, const Outbox& out) {
  const ShardRef row = ref_of(before_, after.shard(), shape_.slot_count);
  consensus::step(row, *step.in, again_, *step.input);
  ++steps_checked_;
  std::string field = first_difference(before_, copy_of(after));
  field = field.empty() ? first_difference(again_, out, step.in->message_count) : field;
  return field.empty() ? Status{}
                       : differs(after.shard(),
                                 "a step gave another result on the device: column " + field +
                                     " (host and device)");
}

DeviceCheck::Sweep DeviceCheck::next_sweep() {
  const Sweep sweep{sweep_next_, std::min(kSweepRows, shape_.row_count - sweep_next_)};
  sweep_next_ += sweep.row_count;
  sweep_next_ = sweep_next_ == shape_.row_count ? 0 : sweep_next_;
  return sweep;
}

std::uint32_t DeviceCheck::first_altered(const Sweep& sweep, const std::uint64_t* digests) {
  rows_swept_ += sweep.row_count;
  const auto known = digests_.begin() + sweep.row_first;
  const auto difference = std::mismatch(known, known + sweep.row_count, digests).first - known;
  return static_cast<std::uint32_t>(difference) == sweep.row_count
             ? shape_.row_count
             : sweep.row_first + static_cast<std::uint32_t>(difference);
}

std::uint32_t DeviceCheck::sweep_looks() const {
  return on() ? (shape_.row_count + kSweepRows - 1) / kSweepRows : 0;
}

}  // namespace gcoord::consensus
