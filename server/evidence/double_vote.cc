#include "server/evidence/double_vote.h"

#include "common/assert.h"
#include "common/base64.h"
#include "ledger/notes/checkpoint_note.h"
#include "protocol/error_codes.h"

#include <charconv>
#include <cstdint>
#include <utility>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;

constexpr std::string_view kFirstLine = "gcoord evidence of two votes 1";

Status unproven(std::string_view why) {
  return protocol::make_error(ErrorCode::EvidenceUnproven, why);
}

Status malformed(std::string_view why) {
  return protocol::make_error(ErrorCode::EvidenceMalformed, why);
}

// Lines of a text, one after another.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  // The rest of the next line, which must begin with that word; nothing: it does not.
  std::optional<std::string_view> take(std::string_view word) {
    const std::size_t end = rest_.find('\n');
    const std::string_view line = rest_.substr(0, end);
    if (end == rest_.npos || !line.starts_with(word) || line.size() <= word.size() + 1 ||
        line[word.size()] != ' ') {
      return std::nullopt;
    }
    rest_.remove_prefix(end + 1);
    return line.substr(word.size() + 1);
  }

  template <typename Integer>
  bool take(std::string_view word, Integer& value) {
    const auto text = take(word);
    if (!text) {
      return false;
    }
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    return error == std::errc{} && end == text->data() + text->size();
  }

 private:
  std::string_view rest_;
};

Status check_pair(const VoteStatement& a, const VoteStatement& b, const VoteGrant& of) {
  if (a.cluster != b.cluster || a.voter != b.voter || a.life != b.life) {
    return unproven("they are not of one cluster, one voter and one life of it");
  }
  if (a.candidate == b.candidate) {
    return unproven("both are for one candidate");
  }
  return a.grants_vote(of) && b.grants_vote(of) ? Status{}
                                                : unproven("they are not about one shard and term");
}

}  // namespace

std::string name_of(const DoubleVote& shown) {
  return "votes-node-" + std::to_string(shown.voter.value) + "-life-" +
         std::to_string(shown.life.value) + "-shard-" + std::to_string(shown.of.shard.value) +
         "-term-" + std::to_string(shown.of.term.value);
}

Result<VoteEvidence> judge_votes(const std::array<std::span<const std::byte>, 2>& statements,
                                 const VoteGrant& of,
                                 const ledger::NoteKey& key) {
  const auto first = decode_statement(statements[0]);
  const auto second = decode_statement(statements[1]);
  if (!first || !second) {
    return unproven("a statement cannot be decoded");
  }
  GCOORD_TRY_STATUS(check_pair(*first, *second, of));
  if (key.name() != ledger::node_key_name(first->cluster.value, first->voter.value)) {
    return unproven("the key is not one of that voter");
  }
  if (!statement_genuine(statements[0], key) || !statement_genuine(statements[1], key)) {
    return unproven("a statement is not signed by the key of the voter");
  }
  const bool ordered = first->candidate < second->candidate;
  const auto& low = statements[ordered ? 0 : 1];
  const auto& high = statements[ordered ? 1 : 0];
  VoteEvidence evidence{.shown = {.cluster = first->cluster,
                                  .voter = first->voter,
                                  .life = first->life,
                                  .of = of,
                                  .candidates = {first->candidate, second->candidate}},
                        .key = key,
                        .statements = {}};
  if (!ordered) {
    std::swap(evidence.shown.candidates[0], evidence.shown.candidates[1]);
  }
  evidence.statements[0].assign(low.begin(), low.end());
  evidence.statements[1].assign(high.begin(), high.end());
  return evidence;
}

std::string print_evidence(const VoteEvidence& evidence) {
  const DoubleVote& shown = evidence.shown;
  std::string text{kFirstLine};
  text += "\ncluster " + std::to_string(shown.cluster.value);
  text += "\nvoter " + std::to_string(shown.voter.value);
  text += "\nlife " + std::to_string(shown.life.value);
  text += "\nshard " + std::to_string(shown.of.shard.value);
  text += "\nterm " + std::to_string(shown.of.term.value);
  text += "\ncandidates " + std::to_string(shown.candidates[0].value) + " " +
          std::to_string(shown.candidates[1].value);
  text += "\nkey " + evidence.key.text();
  for (const auto& statement : evidence.statements) {
    text += "\nstatement " + to_base64(statement);
  }
  text += "\n";
  GCOORD_ASSERT(text.size() <= kDoubleVoteTextMax);
  return text;
}

// What the statements say of themselves is not read from the lines; one spelling makes them agree.
Result<VoteEvidence> parse_evidence(std::string_view text) {
  if (text.size() > kDoubleVoteTextMax) {
    return malformed("it is too long");
  }
  if (!text.starts_with(kFirstLine) || text.size() <= kFirstLine.size()) {
    return malformed("its first line is another one");
  }
  Lines lines{text.substr(kFirstLine.size() + 1)};
  std::uint64_t number = 0;
  VoteGrant of;
  bool whole = lines.take("cluster", number) && lines.take("voter", number) &&
               lines.take("life", number) && lines.take("shard", of.shard.value) &&
               lines.take("term", of.term.value) && lines.take("candidates").has_value();
  const auto key_text = lines.take("key");
  const auto first_text = lines.take("statement");
  const auto second_text = lines.take("statement");
  whole = whole && key_text && first_text && second_text;
  if (!whole) {
    return malformed("a line is missing");
  }
  const auto key = ledger::NoteKey::parse(*key_text);
  const auto first = from_base64(*first_text);
  const auto second = from_base64(*second_text);
  if (!key.ok() || !first || !second) {
    return malformed("its key or a statement cannot be decoded");
  }
  GCOORD_TRY(VoteEvidence evidence, judge_votes({*first, *second}, of, key.value()));
  if (print_evidence(evidence) != text) {
    return malformed("its lines are not those of its statements");
  }
  return evidence;
}

}  // namespace gcoord::server
