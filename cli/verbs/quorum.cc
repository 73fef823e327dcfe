// gcoordctl quorum eval: the product's own quorum arithmetic, for checking plans and for audits.
#include "consensus/step/quorum.h"

#include "cli/terminal/command.h"
#include "cli/terminal/quorum_input.h"

#include <memory>

namespace gcoord::cli {

namespace {

const char* result_name(consensus::VoteResult result) {
  switch (result) {
    case consensus::VoteResult::Pending:
      return "pending";
    case consensus::VoteResult::Won:
      return "won";
    case consensus::VoteResult::Lost:
      return "lost";
  }
  return "unknown";
}

int eval(Context& context, const QuorumText& text) {
  const auto parsed = parse_quorum(text);
  if (!parsed.ok()) {
    return context.fail(parsed.status());
  }
  const QuorumInput& input = parsed.value();
  const consensus::Configuration& configuration = input.configuration;
  Json json = {{"joint", configuration.joint()}};
  const auto result = consensus::vote_result(configuration, input.granted, input.rejected);
  json["result"] = result_name(result);
  if (input.has_acknowledged) {
    const LogIndex commit = consensus::committed_index(configuration, input.acknowledged);
    json["commit_index"] = std::to_string(commit.value);
  }
  context.output().print_facts(json);
  return input.has_votes && result == consensus::VoteResult::Lost ? 1 : 0;
}

}  // namespace

void add_quorum_commands(Command& app, Context& context) {
  auto text = std::make_shared<QuorumText>();
  Command* quorum = app.add_subcommand("quorum", "quorum arithmetic")->require_subcommand(1);
  Command* verb = quorum->add_subcommand(
      "eval",
      "show the vote result for these votes, or the committed index for these match indices");
  verb->add_option("--voters", text->voters, "voters of the only or incoming half: ID[:WEIGHT],...")
      ->required()
      ->type_name("LIST");
  verb->add_option("--outgoing", text->outgoing, "voters of the outgoing half: ID[:WEIGHT],...")
      ->type_name("LIST");
  verb->add_option("--learners", text->learners, "ID,...")->type_name("LIST");
  verb->add_option("--votes", text->votes, "ID=yes|no,...")->type_name("LIST");
  verb->add_option("--acknowledged", text->acknowledged, "ID=INDEX,...")->type_name("LIST");
  verb->callback([&context, text] {
    context.choose([text](Context& chosen) { return eval(chosen, *text); });
  });
}

}  // namespace gcoord::cli
