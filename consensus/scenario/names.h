// The words in which traces, gcoord-step and its callers name the step's enumerations, and back.
// They are part of the doors: never change one.
#pragma once

#include "consensus/scenario/entry.h"
#include "consensus/step/message.h"
#include "consensus/step/outbox.h"
#include "consensus/step/shard_table.h"

#include <optional>
#include <string>
#include <string_view>

namespace gcoord::consensus::scenario {

std::string_view name_of(Role role);
std::string_view name_of(Cause cause);
std::string_view name_of(MessageKind kind);
std::string_view name_of(ProposalVerdict verdict);
std::string_view name_of(ReadVerdict verdict);
std::string_view name_of(ProgressState state);
std::string_view name_of(LivenessChange change);

std::optional<MessageKind> message_kind_named(std::string_view name);

// "leader", or "learner" for a follower that the configuration lists as one.
std::string_view role_name(const Hot& hot, const Configuration& configuration);

// "7/a" for a command, "7/noop", "7/{1,2,3}": an entry with its term.
std::string text_of(const TermEntry& entry);

// "{1,2,3}", "{1,2,3 outgoing 1,2,4 learners 5}", weights behind a star where they are not 1.
std::string text_of(const Configuration& configuration);

// "1>2 Append term=1 previous=4/1 entries=2 commit=4"; fields that say nothing are left out.
std::string text_of(const Message& message);

}  // namespace gcoord::consensus::scenario
