// Every stable error number of gcoord, printed as GC<number>: what happened, which exit code a
// program ends with, and the one thing to do about it.
//
// Scripts match on these numbers: never renumber, never reuse. The thousands say whom to ask:
// 1 usage and configuration, 2 storage and the data directory, 3 network and peers, 4 protocol and
// client, 5 consensus and leaders, 6 locks and sessions, 7 devices. Folders on this floor and below
// know only their own numbers (ledger/base/error_details.h, common/device/device_errors.h); this
// table has them all. docs/reference/errors.md holds the same table for readers; a test compares
// them. The number travels as Status::detail and ReplySlot::detail. Constant after start;
// thread-safe.
#pragma once

#include "common/status.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace gcoord::protocol {

enum class ErrorCode : std::uint32_t {
  None = 0,

  OptionInvalid = 1001,
  OptionMissing = 1002,
  ConfigUnreadable = 1003,
  ConfigInvalid = 1004,
  ListenInsecure = 1005,
  CommandUnknown = 1006,
  CommandUnstarted = 1007,
  NameEmpty = 1101,
  NameTooLong = 1102,
  NameNotUtf8 = 1103,
  TtlTooShort = 1104,
  TtlTooLong = 1105,
  WaitTooLong = 1106,
  TokenZero = 1107,
  SessionZero = 1108,
  PrefixTooLong = 1109,
  CursorTooLong = 1110,
  LimitOutOfRange = 1111,
  ShardOutOfRange = 1112,
  BatchTooLarge = 1113,
  NameControl = 1114,
  SequenceZero = 1115,
  AckedAboveSequence = 1116,

  DirectoryLocked = 2001,
  DirectoryPermissions = 2002,
  DirectoryCluster = 2003,
  DirectoryNode = 2004,
  DirectoryShardCount = 2005,
  DirectoryIdentity = 2006,
  DirectoryFormat = 2007,
  DirectoryUnusable = 2008,
  DirectoryDurability = 2009,
  DirectoryUsedUp = 2010,
  DirectoryDamagedTwice = 2011,
  DiskFull = 2101,
  DiskWriteFailed = 2102,
  DiskSyncFailed = 2103,
  DiskReadFailed = 2104,
  DiskFailed = 2105,
  DiskLow = 2106,
  LogRot = 2201,
  LogSegmentMissing = 2202,
  LogAbsent = 2203,
  LogForeign = 2204,
  LogFormat = 2205,
  LogBehind = 2206,
  LogRecordTooLarge = 2207,
  CheckpointRot = 2301,
  CheckpointFailed = 2302,
  CheckpointFormat = 2303,

  Unreachable = 3001,
  ConnectionLost = 3002,
  AddressUnresolved = 3003,
  ListenFailed = 3004,
  NodeIdDuplicate = 3005,
  PeerForeign = 3006,
  PeerVersion = 3007,
  DirectoryRefused = 3008,
  SettingsDiffer = 3009,
  DirectoryTakenOver = 3010,
  CircuitOpen = 3011,
  NodeRemoved = 3012,

  FrameBad = 4001,
  VersionUnsupported = 4002,
  HelloMissing = 4003,
  KindUnknown = 4004,
  FeatureMissing = 4005,
  PayloadMalformed = 4006,
  SlotInvalid = 4007,
  RequestTooLarge = 4008,
  DeadlineExceeded = 4009,
  ClientClosed = 4010,
  BlockedCallback = 4011,
  ClusterForeign = 4012,
  ConnectionsExhausted = 4013,
  ReplyMalformed = 4014,

  NoLeader = 5001,
  NotLeader = 5002,
  Overloaded = 5003,
  ProposalDropped = 5004,
  ShuttingDown = 5005,
  NotReady = 5006,
  QuorumUnavailable = 5007,
  ShardsForgotten = 5008,
  ClockBackward = 5010,
  TermStale = 5011,

  LockBusy = 6001,
  LockNotHeld = 6002,
  TokenStale = 6003,
  HolderOther = 6004,
  WaitTimedOut = 6005,
  WaitCancelled = 6006,
  SessionExpired = 6007,
  SessionUnknown = 6008,
  SequenceAcknowledged = 6009,
  SequenceTooFar = 6010,
  SequenceReused = 6011,
  LocksExhausted = 6012,
  WaitersExhausted = 6013,
  SessionsExhausted = 6014,
  AcquireGranted = 6015,
  LockAbsent = 6016,
  WaitUnknown = 6017,
  SessionClosed = 6018,
  SequenceForgotten = 6019,
  SessionWindowFull = 6020,
  RepliesExhausted = 6021,
  HoldsExhausted = 6022,
  HoldsUnsupported = 6023,
  NoteTooLong = 6024,
  HoldInvalid = 6025,
  HoldConflict = 6026,
  PermitsDiffer = 6027,
  NoteControl = 6028,
  HoldBroken = 6030,
  LockDelayed = 6031,
  DelayTooLong = 6032,
  BreakUnsupported = 6033,
  BreakUnexplained = 6034,
  NamesInvalid = 6035,

  Deadlock = 6040,

  LockMoved = 6050,
  LockMoving = 6051,
  MoveUnsupported = 6052,
  MoveNotPlain = 6053,
  MoveCrowded = 6054,
  MoveNotHome = 6055,
  MoveNotKnown = 6056,

  ElectionVacant = 6101,
  OfficeLost = 6110,
  CandidateAbsent = 6111,
  TransferUnanswered = 6112,
  ElectionsUnsupported = 6113,
  CandidateAmbiguous = 6114,

  WatchCompacted = 6201,
  WatchLagging = 6202,
  WatchesExhausted = 6203,
  WatchInvalid = 6204,
  WatchCutOff = 6205,
  WatchUnknown = 6206,
  WatchClosed = 6207,
  WatchTimedOut = 6208,

  SessionExists = 6301,
  SessionIdReserved = 6302,
  SessionLocksExhausted = 6303,
  StalenessExceeded = 6304,
  IndexNotReached = 6305,
  SessionElsewhere = 6306,
  AnswerBehind = 6307,

  PastCompacted = 6320,
  PastFuture = 6321,
  PastTooLong = 6322,
  PastUnsupported = 6323,

  CheckFailing = 6350,
  SessionUnhealthy = 6351,
  CheckInvalid = 6352,

  MemberIdDiffers = 6401,
  MemberIdTaken = 6402,
  GroupFull = 6403,
  GroupNotMember = 6404,
  GroupsExhausted = 6405,
  BarrierSizeDiffers = 6406,
  BarrierTimedOut = 6407,
  GroupsUnsupported = 6408,
  GroupsNotReady = 6409,
  GroupNameTooLong = 6410,
  MemberIdInvalid = 6411,
  MemberPayloadTooLong = 6412,
  BarrierSizeInvalid = 6413,
  RendezvousBoundsDiffer = 6414,
  RendezvousTimedOut = 6415,
  RendezvousFull = 6416,
  RendezvousNotThere = 6417,
  RendezvousBoundsInvalid = 6418,
  RendezvousNotReady = 6419,

  UserUnknown = 6501,
  UserExists = 6502,
  RoleUnknown = 6503,
  RoleExists = 6504,
  RoleReserved = 6505,
  AccessNameInvalid = 6506,
  GrantInvalid = 6507,
  NothingToRevoke = 6508,
  RoleLoop = 6509,
  RolesTooDeep = 6510,
  AccessExhausted = 6511,
  AccessStale = 6512,
  AccessUnchanged = 6513,
  AdminMissing = 6514,
  LastAdmin = 6515,
  AdminUnproven = 6516,
  AccessUnsupported = 6517,
  AccessNotReady = 6518,
  PasswordInvalid = 6519,
  PasswordsUnsupported = 6520,
  RecoveryUnconfirmed = 6521,
  RecoveryUnfit = 6522,

  ViewAbsent = 6601,
  ViewStale = 6602,
  ViewForgotten = 6603,
  ViewUnsupported = 6604,
  ViewSettingsDiffer = 6605,
  MemberUnknown = 6611,
  MemberRemoved = 6612,
  MemberNameInvalid = 6613,
  MemberNameTaken = 6614,
  MemberLabelInvalid = 6615,
  MemberStateWrong = 6616,
  MemberRoleWrong = 6617,
  MemberWeightInvalid = 6618,
  MemberAddressTaken = 6619,
  MemberAddressInvalid = 6620,
  MemberDirectoryTaken = 6621,
  MemberReplaceInvalid = 6622,
  LastVoter = 6623,
  MemberLags = 6624,
  QuorumWouldBeLost = 6625,
  VotersExhausted = 6626,
  MembersExhausted = 6627,
  MemberFeatureMissing = 6628,
  WitnessNeedsVoters = 6629,
  WitnessHasNoState = 6630,
  JoinTokenInvalid = 6631,
  JoinTokenUnknown = 6632,
  JoinTokenSpent = 6633,
  JoinTokenLate = 6634,
  JoinFeaturesMissing = 6635,
  ViewsNotLeft = 6636,
  AlarmUnknown = 6641,

  DeviceBuild = 7001,
  DeviceAbsent = 7002,
  DeviceMemory = 7003,
  DeviceBusy = 7004,
  DeviceFailed = 7101,
  DeviceOverrun = 7102,
  DeviceExhausted = 7103,
  DeviceDiffers = 7104,

  ProofMalformed = 8001,
  ProofOversized = 8002,
  ProofIndex = 8003,
  ProofLength = 8004,
  ProofRoot = 8005,
  ProofOldRoot = 8006,
  ProofBackwards = 8007,
  ProofSplit = 8008,
  LedgerBeyond = 8009,
  NoteMalformed = 8010,
  NoteOversized = 8011,
  NoteKey = 8012,
  NoteForeign = 8013,
  NoteSignature = 8014,
  NoteQuorum = 8015,
  HeadMalformed = 8016,
  HeadOrigin = 8017,
  TilePath = 8020,
  TileLength = 8021,
  TileHash = 8022,
  BundleMalformed = 8023,
  EntryHash = 8024,
  EntryMalformed = 8025,
  ProofFileMalformed = 8030,
  ProofFileOversized = 8031,
  ProofFileContradiction = 8032,
  LedgerUnreachable = 8040,
  LedgerAbsent = 8041,
  LedgerOversized = 8042,
  ExportForeign = 8043,
  WatchState = 8044,
  LedgerFaults = 8045,

  LedgerPruned = 8101,
  HistoryGap = 8102,
  HistoryRot = 8103,
  HistoryFailed = 8104,
  HistoryFormat = 8105,

  ShardHeadMalformed = 8201,
  HistoryDiffers = 8202,
  HistoryUndecided = 8203,
  SignerBehind = 8204,
  SignerContradiction = 8205,
  SignerState = 8206,
  LedgerKey = 8207,
  ClusterLogRot = 8208,
  HistoryRepair = 8209,
  LedgerPruneBusy = 8210,
  LedgerPruneInvalid = 8211,
  LedgerUnpublished = 8212,
  SignerHorizon = 8214,

  SnapshotForeign = 8301,
  SnapshotFormat = 8302,
  SnapshotCut = 8303,
  SnapshotRot = 8304,
  SnapshotTrailing = 8305,
  SnapshotImpossible = 8306,
  SnapshotUnreadable = 8307,
  SnapshotUnwritten = 8308,
  SnapshotBusy = 8309,
  SnapshotGone = 8310,
  RestoreNotEmpty = 8311,
  RestoreUnfinished = 8312,
  RestoreRefused = 8313,
  SnapshotNotServed = 8314,
  ForceUnconfirmed = 8315,
  ForceOtherCluster = 8316,
  ForceUnfit = 8317,
  ForceBlocked = 8318,
};

// Exit codes of gcoordctl and gcoordd (docs/reference/errors.md). Never renumber.
enum class ExitCode : std::uint8_t {
  Ok = 0,
  Negative = 1,  // A negative answer or a failed check.
  Usage = 2,
  Unreachable = 3,
  Auth = 4,
  Unavailable = 5,  // No leader, no quorum, or too busy.
  Conflict = 6,     // The lock is held by another.
};

struct ErrorEntry {
  ErrorCode code;
  std::string_view name;  // "LockBusy".
  StatusCode status;
  ExitCode exit;
  std::string_view cause;  // One sentence without a full stop; evidence follows it in a message.
  std::string_view fix;    // One sentence that begins with a verb.
};

// All entries, by rising number.
std::span<const ErrorEntry> error_table();

// The entry of a number; nullptr for 0 and for numbers of a newer version.
const ErrorEntry* find_error(std::uint32_t number);

// Whether another try, perhaps at another node, may not meet the failure again. False for
// NotLeader: that one says where to go.
bool is_passing(ErrorCode code);

// The exit code for a failed Status: by its number, else by its canonical code.
ExitCode exit_code(const Status& status);

// The code of bytes that a decoder of this room refused: its own, or PayloadMalformed.
ErrorCode refusal_of(const Status& status);

// "the lock is held by another session (token 7). Wait for it with --wait, ...": cause, evidence,
// fix. Evidence may be empty.
Status make_error(ErrorCode code, std::string_view evidence = {});

}  // namespace gcoord::protocol
