#include "cli/ledger/name_trail.h"

#include "cli/ledger/proof_file.h"

#include <charconv>

namespace gcoord::cli {
namespace {

// 0 for what is no number.
std::uint64_t number_of(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

NameTrail::NameTrail(std::string_view name, const std::set<std::uint64_t>& moved)
    : name_(name), hash_(server::name_hash_text(hash_name(name))), moved_(moved) {}

bool NameTrail::names_it(const server::RecordFacts& facts) const {
  if (fact_of(facts, "name") == name_ || fact_of(facts, "name_hash") == hash_) {
    return true;
  }
  const std::string_view object = fact_of(facts, "object");
  const std::string_view order =
      fact_of(facts, "kind") == "order_note" ? fact_of(facts, "order") : std::string_view{};
  return (order == "lock_break" && object == name_) ||
         (order == "lock_move" && object.starts_with(name_ + " to shard "));
}

bool NameTrail::take(const server::RecordFacts& facts) {
  if (names_it(facts)) {
    note(facts);
    return true;
  }
  const std::string_view kind = fact_of(facts, "kind");
  if (kind == "cancel_wait") {
    return ends_wait(facts);
  }
  if (kind == "expire_session" || kind == "close_session") {
    return ends_session(number_of(fact_of(facts, "session")));
  }
  return kind == "expire_sessions" && ends_listed(facts);
}

void NameTrail::note(const server::RecordFacts& facts) {
  const std::string_view kind = fact_of(facts, "kind");
  const std::uint64_t session = number_of(fact_of(facts, "session"));
  if (session != 0) {
    links_.sessions.insert(session);
  }
  if (kind == "group") {
    note_group(session, fact_of(facts, "op"));
  } else if (kind == "acquire") {
    ++holds_[session];
    asked_.insert({session, number_of(fact_of(facts, "sequence"))});
  } else if (kind == "release") {
    let_go(session);
  } else if (kind == "move_out") {
    links_.shards.insert(static_cast<std::uint32_t>(number_of(fact_of(facts, "to_shard"))));
  } else if (kind == "move_in") {
    for (const std::uint64_t each : moved_) {
      holds_.try_emplace(each, 1);
    }
  }
}

// A member, or one who waits at a barrier or for a rendezvous, counts once.
void NameTrail::note_group(std::uint64_t session, std::string_view op) {
  if (op == "leave" || op == "rendezvous_leave") {
    holds_.erase(session);
  } else {
    holds_.try_emplace(session, 1);
  }
}

void NameTrail::let_go(std::uint64_t session) {
  const auto held = holds_.find(session);
  if (held != holds_.end() && --held->second == 0) {
    holds_.erase(held);
  }
}

bool NameTrail::ends_wait(const server::RecordFacts& facts) {
  const std::uint64_t session = number_of(fact_of(facts, "session"));
  const bool ends = asked_.erase({session, number_of(fact_of(facts, "sequence"))}) != 0;
  if (ends) {
    let_go(session);
  }
  return ends;
}

bool NameTrail::ends_session(std::uint64_t session) {
  return holds_.erase(session) != 0;
}

bool NameTrail::ends_listed(const server::RecordFacts& facts) {
  bool found = false;
  for (const std::string_view text : listed_ends(facts)) {
    const std::uint64_t session = number_of(text);
    if (ends_session(session)) {
      links_.sessions.insert(session);
      found = true;
    }
  }
  return found;
}

}  // namespace gcoord::cli
