#include "ledger/wal/recovery.h"

#include "common/assert.h"
#include "ledger/base/error_details.h"
#include "ledger/wal/scan.h"

#include <algorithm>
#include <array>
#include <utility>

namespace gcoord::ledger {
namespace {

// Notes the shards that items name, each once.
class ShardCollector final : public WalVisitor {
 public:
  explicit ShardCollector(std::vector<ShardId>& shards) : shards_(shards) {}

  void on_hard_state(ShardId shard, Term, NodeId) override { shards_.push_back(shard); }

  void on_entries(ShardId shard, LogIndex, std::uint32_t) override { shards_.push_back(shard); }

  void on_entry(ShardId, LogIndex, Term, std::uint8_t, std::span<const std::byte>) override {}

  void on_truncate(ShardId shard, LogIndex) override { shards_.push_back(shard); }

  void on_snapshot_installed(ShardId shard, LogIndex, Term, std::span<const std::byte>) override {
    shards_.push_back(shard);
  }

 private:
  std::vector<ShardId>& shards_;
};

struct OpenSegment {
  std::string name;
  std::unique_ptr<DiskFile> file;
  SegmentHeader header;
};

class Recovery {
 public:
  Recovery(Disk& disk, const WalOptions& options, WalVisitor& replay, WalRecovery& report)
      : disk_(disk), options_(options), replay_(replay), report_(report) {}

  Result<std::optional<RecoveredLog>> run();

 private:
  Status open_segments();
  Status open_segment(const std::string& name, std::uint64_t number);
  Status check_identity(const OpenSegment& segment) const;
  Status check_oldest();
  Status read_segment(std::size_t segment_index);
  Status finish_full(std::size_t segment_index, const SegmentScan& scan);
  Status finish_last(const OpenSegment& segment, SegmentScan& scan);
  Status clear_after(const OpenSegment& segment, std::uint64_t offset);
  Status repair_identifiers(const OpenSegment& segment,
                            const SegmentScan& scan,
                            Lsn durable_lsn,
                            bool has_successor);
  bool replay_record(Lsn lsn, std::span<const std::byte> body);
  void note_range(const OpenSegment& segment, const SegmentScan& scan, Lsn lsn_last);
  Status rot(const OpenSegment& segment, const SegmentScan& scan, Lsn lsn_last);
  Status missing(const std::string& name, Lsn lsn_first, Lsn lsn_last);

  Disk& disk_;
  const WalOptions& options_;
  WalVisitor& replay_;
  WalRecovery& report_;
  std::vector<OpenSegment> segments_;
  std::vector<std::byte> image_;  // Of the segment being read.
  RecoveredLog log_;
};

Result<std::optional<RecoveredLog>> Recovery::run() {
  // A crash may have left names that are seen but not durable; what is acknowledged from here on
  // must not stand in a file whose name a power cut takes away.
  GCOORD_TRY_STATUS(disk_.sync_directory());
  GCOORD_TRY_STATUS(open_segments());
  if (segments_.empty()) {
    return std::optional<RecoveredLog>{};
  }
  GCOORD_TRY_STATUS(check_oldest());
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    GCOORD_TRY_STATUS(read_segment(i));
  }
  if (log_.last_lsn < options_.replay_after) {
    return Status{StatusCode::DataLoss,
                  "the log ends at lsn " + std::to_string(log_.last_lsn.value) +
                      " but the checkpoint covers lsn " +
                      std::to_string(options_.replay_after.value) + kRotAdvice,
                  kWalBehind};
  }
  report_.last_lsn = log_.last_lsn;
  return std::optional<RecoveredLog>{std::move(log_)};
}

Status Recovery::open_segments() {
  GCOORD_TRY(const auto names, disk_.list());
  for (const std::string& name : names) {
    if (const auto number = segment_number(name)) {
      GCOORD_TRY_STATUS(open_segment(name, *number));
    }
  }
  return Status{};
}

Status Recovery::open_segment(const std::string& name, std::uint64_t number) {
  const std::uint64_t expected = segments_.empty() ? number : segments_.back().header.number + 1;
  if (number != expected) {
    return missing(segment_name(expected), Lsn{0}, Lsn{0});
  }
  OpenSegment segment{name, nullptr, SegmentHeader{}};
  GCOORD_TRY(segment.file, disk_.open(name));
  GCOORD_TRY_STATUS(segment.file->drop_cached());
  std::array<std::byte, kPageBytes> page{};
  GCOORD_TRY([[maybe_unused]] const std::size_t read_bytes, segment.file->read(0, page));
  auto header = decode_segment_header(page);
  if (header.status().detail() == kWalFormat) {
    return header.status();
  }
  if (!header.ok() || header.value().number != number) {
    // How far the segment before reaches is not known yet: its start is the safe answer.
    SegmentScan scan;
    scan.end_offset = 0;
    scan.end.lsn = segments_.empty() ? Lsn{0} : segments_.back().header.first_lsn - 1;
    return rot(segment, scan, scan.end.lsn + 1);
  }
  segment.header = header.value();
  GCOORD_TRY_STATUS(check_identity(segment));
  segments_.push_back(std::move(segment));
  return Status{};
}

Status Recovery::check_identity(const OpenSegment& segment) const {
  const SegmentHeader& header = segment.header;
  if (header.cluster == options_.cluster && header.node == options_.node) {
    return Status{};
  }
  return Status{StatusCode::FailedPrecondition,
                segment.name + " belongs to node " + std::to_string(header.node.value) +
                    " of cluster " + std::to_string(header.cluster.value) + ", this is node " +
                    std::to_string(options_.node.value) + " of cluster " +
                    std::to_string(options_.cluster.value) + "; start it with its own directory",
                kWalForeign};
}

// Segments before the oldest must all be covered by the checkpoint.
Status Recovery::check_oldest() {
  const SegmentHeader& oldest = segments_.front().header;
  if (oldest.first_lsn <= options_.replay_after + 1) {
    return Status{};
  }
  return missing(segment_name(oldest.number - 1), options_.replay_after + 1, oldest.first_lsn - 1);
}

Status Recovery::read_segment(std::size_t segment_index) {
  const OpenSegment& segment = segments_[segment_index];
  GCOORD_TRY(image_, read_all(*segment.file));
  // A short file reads as zeros where it must have bytes; a long one has nothing to say there.
  image_.resize(segment.header.segment_bytes);
  SegmentScan scan =
      scan_records(image_, segment.header, [this](Lsn lsn, std::span<const std::byte> body) {
        return replay_record(lsn, body);
      });
  report_.record_count += scan.record_count;
  return segment_index + 1 < segments_.size() ? finish_full(segment_index, scan)
                                              : finish_last(segment, scan);
}

bool Recovery::replay_record(Lsn lsn, std::span<const std::byte> body) {
  if (lsn <= options_.replay_after) {
    return true;
  }
  replay_.on_record(lsn);
  ++report_.replayed_count;
  return visit_items(body, replay_);
}

// A segment with a successor was synced to its end, and the successor says where that is.
Status Recovery::finish_full(std::size_t segment_index, const SegmentScan& scan) {
  const OpenSegment& segment = segments_[segment_index];
  const SegmentHeader& next = segments_[segment_index + 1].header;
  if (next.first_lsn != scan.end.lsn + 1 || next.previous_crc != scan.end.header_crc) {
    return rot(segment, scan, next.first_lsn - 1);
  }
  if (!all_zero(std::span{image_}.subspan(scan.end_offset))) {
    ++report_.repaired_count;
    GCOORD_TRY_STATUS(clear_after(segment, scan.end_offset));
  }
  GCOORD_TRY_STATUS(repair_identifiers(segment, scan, scan.end.lsn, true));
  log_.older.push_back(OldSegment{segment.name, scan.end.lsn});
  return Status{};
}

Status Recovery::finish_last(const OpenSegment& segment, SegmentScan& scan) {
  const TailEvidence evidence = gather_evidence(image_, segment.header, scan);
  const Lsn known = max_id(evidence.durable_lsn, scan.end.lsn);
  if (evidence.has_successor) {
    return missing(segment_name(segment.header.number + 1), known + 1, known + 1);
  }
  const WalOutcome outcome = judge_tail(image_, segment.header, scan, evidence);
  if (evidence.contradicted) {
    scan.end.lsn = evidence.contradicted->lsn - 1;
    scan.end_offset = evidence.contradicted->offset;
  }
  if (outcome == WalOutcome::Rot) {
    return rot(segment, scan, max_id(evidence.durable_lsn, scan.end.lsn + 1));
  }
  report_.outcome = outcome;
  if (outcome == WalOutcome::TornTail) {
    note_range(segment, scan, max_id(evidence.begun_lsn, scan.end.lsn + 1));
    // Durable before the identifiers change: until then they explain the torn record.
    GCOORD_TRY_STATUS(clear_after(segment, scan.end_offset));
  }
  GCOORD_TRY(const std::uint64_t size, segment.file->size_bytes());
  if (size < segment.header.segment_bytes) {
    ++report_.repaired_count;
    const std::array<std::byte, kSectorBytes> zeros{};
    GCOORD_TRY_STATUS(segment.file->write(segment.header.segment_bytes - kSectorBytes, zeros));
  }
  GCOORD_TRY_STATUS(repair_identifiers(segment, scan, evidence.durable_lsn, false));
  log_.last_lsn = scan.end.lsn;
  log_.chain_crc = scan.end.header_crc;
  log_.tail = std::make_unique<WalSegment>(
      std::move(segments_.back().file), segments_.back().header, scan.end_offset);
  return Status{};
}

// Zeroes what is not zero from offset on, durably.
Status Recovery::clear_after(const OpenSegment& segment, std::uint64_t offset) {
  const std::array<std::byte, kSectorBytes> zeros{};
  for (; offset < image_.size(); offset += kSectorBytes) {
    if (!all_zero(std::span{image_}.subspan(offset, kSectorBytes))) {
      GCOORD_TRY_STATUS(segment.file->write(offset, zeros));
    }
  }
  return segment.file->sync();
}

// Makes the identifier page say what the records say, the last of them being durable by now. What
// differs is counted as damage unless a lost write explains it.
Status Recovery::repair_identifiers(const OpenSegment& segment,
                                    const SegmentScan& scan,
                                    Lsn durable_lsn,
                                    bool has_successor) {
  std::array<std::byte, kPageBytes> page{};
  for (std::size_t slot = 0; slot < kIdentifierSlotCount; ++slot) {
    const auto sector = std::span{page}.subspan(slot * kSectorBytes, kSectorBytes);
    const auto found_sector = identifier_sector(image_, slot);
    const auto found = decode_identifier(found_sector, segment.header.salt);
    Identifier expected = scan.identifiers[slot];
    if (!found && !all_zero(found_sector)) {
      ++report_.repaired_count;
    } else if (expected.lsn > Lsn{0} && expected.lsn <= durable_lsn &&
               (!found || found->lsn < expected.lsn)) {
      ++report_.repaired_count;
    }
    if (expected.lsn > Lsn{0}) {
      expected.durable_lsn = expected.lsn;
      encode_identifier(expected, segment.header.salt, sector);
    }
  }
  const auto mark = std::span{page}.subspan(kSuccessorSlot * kSectorBytes, kSectorBytes);
  const auto found_mark = identifier_sector(image_, kSuccessorSlot);
  if (has_successor) {
    encode_successor(segment.header.salt, mark);
  }
  if (!all_zero(found_mark) && !std::ranges::equal(found_mark, mark)) {
    ++report_.repaired_count;
  }
  if (std::ranges::equal(page, std::span{image_}.subspan(kIdentifierPageOffset, kPageBytes))) {
    return Status{};
  }
  GCOORD_TRY_STATUS(segment.file->write(kIdentifierPageOffset, page));
  return segment.file->sync();
}

void Recovery::note_range(const OpenSegment& segment, const SegmentScan& scan, Lsn lsn_last) {
  report_.segment_name = segment.name;
  report_.offset = scan.end_offset;
  report_.lsn_first = scan.end.lsn + 1;
  report_.lsn_last = lsn_last;
}

Status Recovery::rot(const OpenSegment& segment, const SegmentScan& scan, Lsn lsn_last) {
  report_.outcome = WalOutcome::Rot;
  note_range(segment, scan, lsn_last);
  if (scan.end_offset < image_.size()) {
    const auto bytes = std::span{std::as_const(image_)}.subspan(scan.end_offset);
    if (const auto header = decode_record_header(bytes, segment.header.salt)) {
      ShardCollector collector{report_.shards};
      const auto record = bytes.first(header->total_bytes());
      // False only says that the intact part ends within an item.
      (void)visit_items(intact_body(*header, record), collector);
      std::sort(report_.shards.begin(), report_.shards.end());
      const auto last = std::unique(report_.shards.begin(), report_.shards.end());
      report_.shards.erase(last, report_.shards.end());
    }
  }
  return Status{StatusCode::DataLoss,
                segment.name + " is damaged at offset " + std::to_string(report_.offset) +
                    ": records from lsn " + std::to_string(report_.lsn_first.value) +
                    " on were persisted and cannot be read" + kRotAdvice,
                kWalRot};
}

Status Recovery::missing(const std::string& name, Lsn lsn_first, Lsn lsn_last) {
  report_.outcome = WalOutcome::Rot;
  report_.segment_name = name;
  report_.lsn_first = lsn_first;
  report_.lsn_last = lsn_last;
  return Status{
      StatusCode::DataLoss, "segment " + name + " is gone" + kRotAdvice, kWalSegmentMissing};
}

}  // namespace

Result<std::optional<RecoveredLog>> recover_wal(Disk& disk,
                                                const WalOptions& options,
                                                WalVisitor& replay,
                                                WalRecovery& report) {
  report = WalRecovery{};
  return Recovery{disk, options, replay, report}.run();
}

}  // namespace gcoord::ledger
