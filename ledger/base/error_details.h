// The stable numbers of the ledger's failures, printed to operators as GC2001 and documented for
// scripts. Never renumber. A Status of this folder carries exactly one of them in `detail`.
#pragma once

#include <cstdint>

namespace gcoord::ledger {

// The directory of a node (data_directory.h).
inline constexpr std::uint32_t kDirectoryLocked = 2001;        // Another process holds it.
inline constexpr std::uint32_t kDirectoryPermissions = 2002;   // Open to others than its owner.
inline constexpr std::uint32_t kDirectoryCluster = 2003;       // Belongs to another cluster.
inline constexpr std::uint32_t kDirectoryNode = 2004;          // Belongs to another node.
inline constexpr std::uint32_t kDirectoryShardCount = 2005;    // Made for another shard count.
inline constexpr std::uint32_t kDirectoryIdentity = 2006;      // Identity file damaged or missing.
inline constexpr std::uint32_t kDirectoryFormat = 2007;        // Written by a newer release.
inline constexpr std::uint32_t kDirectoryUnusable = 2008;      // Cannot be created or opened.
inline constexpr std::uint32_t kDirectoryDurability = 2009;    // Made for the other durability.
inline constexpr std::uint32_t kDirectoryUsedUp = 2010;        // No more starts, or generations.
inline constexpr std::uint32_t kDirectoryDamagedTwice = 2011;  // DIR.damaged exists already.

// The disk (disk.h).
inline constexpr std::uint32_t kDiskFull = 2101;
inline constexpr std::uint32_t kDiskWriteFailed = 2102;
inline constexpr std::uint32_t kDiskSyncFailed = 2103;
inline constexpr std::uint32_t kDiskReadFailed = 2104;
inline constexpr std::uint32_t kDiskFailed = 2105;  // Open, list, rename, remove.

// The log of record (wal.h).
inline constexpr std::uint32_t kWalRot = 2201;             // A durable record is damaged.
inline constexpr std::uint32_t kWalSegmentMissing = 2202;  // A durable segment is gone.
inline constexpr std::uint32_t kWalAbsent = 2203;          // No log where one must be.
inline constexpr std::uint32_t kWalForeign = 2204;         // Another cluster's or node's log.
inline constexpr std::uint32_t kWalFormat = 2205;          // Written by a newer release.
inline constexpr std::uint32_t kWalBehind = 2206;          // Ends before the checkpoint's lsn.
inline constexpr std::uint32_t kWalRecordTooLarge = 2207;  // Over kRecordBodyBytesMax.

// The checkpoint store (checkpoint_store.h).
inline constexpr std::uint32_t kCheckpointRot = 2301;
inline constexpr std::uint32_t kCheckpointFailed = 2302;
inline constexpr std::uint32_t kCheckpointFormat = 2303;

// Proofs (merkle_proof.h, proof_text.h).
inline constexpr std::uint32_t kProofMalformed = 8001;  // Something that should be a hash is none.
inline constexpr std::uint32_t kProofOversized = 8002;  // More hashes than any proof has.
inline constexpr std::uint32_t kProofIndex = 8003;      // The tree has no such leaf.
inline constexpr std::uint32_t kProofLength = 8004;     // Too few or too many for the sizes.
inline constexpr std::uint32_t kProofRoot = 8005;       // Leads to another root.
inline constexpr std::uint32_t kProofOldRoot = 8006;    // Leads to another old root.
inline constexpr std::uint32_t kProofBackwards = 8007;  // The new tree is smaller than the old one.
inline constexpr std::uint32_t kProofSplit = 8008;      // Two roots for one size.

// Notes, tiles, proof files and where they are read (signed_note.h, checkpoint_note.h,
// tlog_tiles.h, proof_file.h, ledger_source.h). 8009 to 8049.
inline constexpr std::uint32_t kLedgerBeyond = 8009;        // The log has no such tree or entry.
inline constexpr std::uint32_t kNoteMalformed = 8010;       // Not a C2SP signed note.
inline constexpr std::uint32_t kNoteOversized = 8011;       // Larger than a note may be.
inline constexpr std::uint32_t kNoteKey = 8012;             // Not a C2SP verifier or signer key.
inline constexpr std::uint32_t kNoteForeign = 8013;         // Signed by none of the known keys.
inline constexpr std::uint32_t kNoteSignature = 8014;       // A known key's signature is wrong.
inline constexpr std::uint32_t kNoteQuorum = 8015;          // Fewer keys signed than are needed.
inline constexpr std::uint32_t kHeadMalformed = 8016;       // The note's text is no checkpoint.
inline constexpr std::uint32_t kHeadOrigin = 8017;          // Another log's checkpoint.
inline constexpr std::uint32_t kTilePath = 8020;            // Not a path of tlog-tiles.
inline constexpr std::uint32_t kTileLength = 8021;          // Not as many hashes as its path says.
inline constexpr std::uint32_t kTileHash = 8022;            // Does not hash to what is above it.
inline constexpr std::uint32_t kBundleMalformed = 8023;     // Lengths that do not fit.
inline constexpr std::uint32_t kEntryHash = 8024;           // An entry that its leaf is not of.
inline constexpr std::uint32_t kEntryMalformed = 8025;      // Bytes that say nothing.
inline constexpr std::uint32_t kProofFileMalformed = 8030;  // Not a proof file.
inline constexpr std::uint32_t kProofFileOversized = 8031;  // Larger than any proof file.
inline constexpr std::uint32_t kProofFileContradiction = 8032;  // Its parts disagree.
inline constexpr std::uint32_t kLedgerUnreachable = 8040;       // A URL or directory failed.
inline constexpr std::uint32_t kLedgerAbsent = 8041;            // No such file there.
inline constexpr std::uint32_t kLedgerOversized = 8042;         // More than was asked for.
inline constexpr std::uint32_t kExportForeign = 8043;           // A directory of another log.
inline constexpr std::uint32_t kWatchState = 8044;              // What was seen last is damaged.
inline constexpr std::uint32_t kLedgerFaults = 8045;            // A check found faults.

// History (tree_reader.h). 8101 to 8119.
inline constexpr std::uint32_t kLedgerPruned = 8101;   // Below the horizon of what is kept.
inline constexpr std::uint32_t kHistoryGap = 8102;     // Lacks entries that were applied.
inline constexpr std::uint32_t kHistoryRot = 8103;     // A kept entry or hash is damaged.
inline constexpr std::uint32_t kHistoryFailed = 8104;  // The store failed.
inline constexpr std::uint32_t kHistoryFormat = 8105;  // Written by another release.

// Publication (shard_head.h, signer_state.h, cluster_log.h; ledger/publication/publication.h). 8201
// to 8229.
inline constexpr std::uint32_t kShardHeadMalformed =
    8201;  // A leaf of the cluster log that is no head.
inline constexpr std::uint32_t kHistoryDiffers = 8202;       // A replica differs from a majority.
inline constexpr std::uint32_t kHistoryUndecided = 8203;     // No majority has one history.
inline constexpr std::uint32_t kSignerBehind = 8204;         // The log is behind what was signed.
inline constexpr std::uint32_t kSignerContradiction = 8205;  // Another log than was signed.
inline constexpr std::uint32_t kSignerState = 8206;          // What was signed last is unreadable.
inline constexpr std::uint32_t kLedgerKey = 8207;            // The node's key file is unusable.
inline constexpr std::uint32_t kClusterLogRot = 8208;        // The stored cluster log is damaged.
inline constexpr std::uint32_t kHistoryRepair = 8209;        // Shards are to be repaired.
// 8210 to 8212 are the server's (protocol/error_codes.h).
inline constexpr std::uint32_t kSignerHorizon = 8214;  // What was signed cannot be held against it.

// Snapshots in files (snapshot_decoder.h, snapshot_file.h) and directories made of them. 8301 to
// 8319.
inline constexpr std::uint32_t kSnapshotForeign = 8301;     // Not a snapshot at all.
inline constexpr std::uint32_t kSnapshotFormat = 8302;      // Written by a newer release.
inline constexpr std::uint32_t kSnapshotCut = 8303;         // Ends before its end.
inline constexpr std::uint32_t kSnapshotRot = 8304;         // A checksum or the hash is wrong.
inline constexpr std::uint32_t kSnapshotTrailing = 8305;    // Bytes behind its end.
inline constexpr std::uint32_t kSnapshotImpossible = 8306;  // Checksums right, content impossible.
inline constexpr std::uint32_t kSnapshotUnreadable = 8307;  // The file cannot be read.
inline constexpr std::uint32_t kSnapshotUnwritten = 8308;   // The file cannot be written.
inline constexpr std::uint32_t kRestoreNotEmpty = 8311;     // The directory holds something.
inline constexpr std::uint32_t kRestoreUnfinished = 8312;   // A restore into it was interrupted.
inline constexpr std::uint32_t kRestoreRefused = 8313;      // Cluster or nodes cannot be.

// What to do about rot; the end of every message that reports it.
inline constexpr const char* kRotAdvice =
    "; this node must not vote: start it with --rejoin, which moves the directory aside and takes "
    "its content from the other nodes; where no other node has it, restore the newest snapshot "
    "(gcoordctl snapshot restore)";

// Whether a failure to open says that what the directory held is damaged or gone, as opposed to a
// disk that cannot be read or written now.
constexpr bool is_rot(std::uint32_t detail) {
  return detail == kDirectoryIdentity || detail == kWalRot || detail == kWalSegmentMissing ||
         detail == kWalAbsent || detail == kWalBehind || detail == kCheckpointRot ||
         detail == kHistoryGap || detail == kHistoryRot || detail == kClusterLogRot ||
         detail == kSignerState || detail == kHistoryRepair;
}

}  // namespace gcoord::ledger
