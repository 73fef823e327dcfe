#include "chaos/mutants/mutant.h"

#include <array>

namespace gcoord::chaos {
namespace {

struct Words {
  const char* name;
  const char* story;
};

constexpr std::array<Words, kMutantCount> kWords = {{
    {"none", "the product as it is"},
    {"acknowledged_before_durable", "votes and appends are answered before storage has them"},
    {"vote_forgotten_at_restart", "recovery keeps the term and loses the vote"},
    {"term_forgotten_at_restart", "recovery loses the newest term and its vote"},
    {"append_acknowledged_unseen", "a leader counts a follower for entries it was not sent"},
    {"prior_term_by_counting", "entries of an earlier term are committed by counting"},
    {"quorum_one_short", "a candidate is elected with one vote too few"},
    {"second_vote_in_a_term", "a voter votes again in a term in which it has voted"},
    {"vote_for_shorter_log", "a voter does not compare logs"},
    {"log_mismatch_accepted", "a follower does not compare the previous entry's term"},
    {"commit_beyond_match", "a follower commits what it has not verified with the leader"},
    {"deposed_leader_obeyed", "appends of an old term are taken"},
    {"commit_falls_back", "the commit index falls when a log is truncated"},
    {"entry_skipped", "one node leaves an entry out when it applies"},
    {"duplicate_not_seen", "a repeated request is executed again"},
    {"snapshot_installed_empty", "a snapshot's state is not installed, so tokens begin anew"},
    {"checkpoint_of_the_past", "a checkpoint holds the state of the one before"},
    {"sessions_expire_early", "the leader's clock of sessions runs twice as fast"},
    {"read_without_quorum", "a leader answers reads without asking whether it still leads"},
    {"release_acknowledged_at_once", "a release is answered before it is committed"},
    {"sync_does_nothing", "the log is never synced"},
    {"failed_sync_forgiven", "a failed sync counts as one that succeeded"},
    {"directory_not_synced", "new segments of the log have no durable name"},
    {"identity_not_synced", "the incarnation is not durable"},
    {"checkpoint_covers_more", "a checkpoint claims records that it does not hold"},
    {"checkpoint_loses_a_value", "a checkpoint leaves a shard out"},
    {"client_lease_from_receipt", "a client counts its TTL from when the answer came"},
    {"client_outlives_its_lease", "a client goes on after its session ran out"},
    {"client_renumbers_retries", "a client repeats requests under new numbers"},
    {"history_rewritten", "one node's history says another time of an entry than was decided"},
    {"lease_kept_in_transfer", "a leader trusts its lease while it hands a shard over"},
    {"read_confirmations_kept", "a read round begins with the confirmations of the one before"},
    {"votes_right_after_restart", "a node votes at once although promises of its last life bind"},
    {"settled_before_durable", "entries that are taken without a step are answered at once"},
    {"settled_reply_counts_all", "without a step a leader counts a follower for its whole log"},
    {"lane_acknowledged_early",
     "lanes but the first answer before storage has what they handed over"},
    {"lane_clock_stands", "lanes but the first step by the time of their turn before"},
    {"heartbeat_before_lanes_met",
     "lanes but the first know peers as they were a turn before, and heartbeats leave by this one"},
    {"lane_calls_lost", "what lanes but the first tell the service of roles is lost"},
    {"change_before_own_term",
     "a leader changes its configuration before an entry of its own term is decided"},
    {"configuration_used_at_append",
     "a leader goes by a configuration when it is appended, and appends the next one"},
    {"removed_vote_counted", "a candidate asks nodes that were removed, and counts their votes"},
    {"joint_decided_by_one_half", "the new half of a joint configuration elects and decides alone"},
    {"learner_acknowledgement_counted", "a leader counts a learner for a voter when it commits"},
    {"witness_campaigns", "a witness campaigns and leads as if it had the services' state"},
    {"view_applied_twice", "one node applies changes of the view twice"},
    {"epoch_reused", "one node leaves views out and gives their epochs to the next ones"},
    {"joiner_votes_early", "a node that joins takes the view's nodes for its shards' voters"},
    {"barrier_released_early", "a barrier is released when one session has not arrived"},
    {"group_view_applied_twice", "the change of a member's payload makes two views"},
    {"group_epoch_reused", "a group that was empty begins with epochs that it had before"},
}};

}  // namespace

const char* mutant_name(Mutant mutant) {
  return kWords[static_cast<std::size_t>(mutant)].name;
}

std::optional<Mutant> find_mutant(std::string_view name) {
  for (std::size_t k = 0; k < kMutantCount; ++k) {
    if (name == kWords[k].name) {
      return static_cast<Mutant>(k);
    }
  }
  return std::nullopt;
}

const char* mutant_story(Mutant mutant) {
  return kWords[static_cast<std::size_t>(mutant)].story;
}

}  // namespace gcoord::chaos
