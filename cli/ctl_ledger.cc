// gcoordctl ledger verify: Merkle proofs checked here, without any node and without trust in one.
#include "cli/command.h"
#include "cli/proof_input.h"
#include "ledger/merkle_proof.h"
#include "rpc/error_codes.h"

#include <memory>
#include <optional>

namespace gcoord::cli {

namespace {

struct VerifyText {
  std::optional<std::uint64_t> leaf_index;
  std::optional<std::uint64_t> old_size;
  std::uint64_t tree_size = 0;
  std::string leaf_hash;
  std::string old_root;
  std::string root;
  std::string proof;
};

// The failure of a check as the user sees it: cause and fix by its number, and what was found.
Status explained(const Status& status) {
  return rpc::make_error(static_cast<rpc::ErrorCode>(status.detail()), status.message());
}

Result<Json> verify_leaf(const VerifyText& text) {
  ledger::InclusionClaim claim{.leaf_index = *text.leaf_index, .tree_size = text.tree_size};
  GCOORD_TRY(claim.leaf, parse_hash("--leaf-hash", text.leaf_hash));
  GCOORD_TRY(claim.root, parse_hash("--root", text.root));
  GCOORD_TRY(const auto proof, parse_proof("--proof", text.proof));
  if (const Status status = ledger::verify_inclusion(claim, proof); !status.ok()) {
    return explained(status);
  }
  return Json{{"valid", true},
              {"proves", "inclusion"},
              {"leaf_index", std::to_string(claim.leaf_index)},
              {"tree_size", std::to_string(claim.tree_size)}};
}

Result<Json> verify_growth(const VerifyText& text) {
  ledger::ConsistencyClaim claim{.old_size = *text.old_size, .size = text.tree_size};
  GCOORD_TRY(claim.old_root, parse_hash("--old-root", text.old_root));
  GCOORD_TRY(claim.root, parse_hash("--root", text.root));
  GCOORD_TRY(const auto proof, parse_proof("--proof", text.proof));
  if (const Status status = ledger::verify_consistency(claim, proof); !status.ok()) {
    return explained(status);
  }
  return Json{{"valid", true},
              {"proves", "consistency"},
              {"old_size", std::to_string(claim.old_size)},
              {"tree_size", std::to_string(claim.size)}};
}

int verify(Context& context, const VerifyText& text) {
  if (text.leaf_index.has_value() == text.old_size.has_value()) {
    return context.fail(
        rpc::make_error(rpc::ErrorCode::OptionMissing,
                        "give --leaf-index and --leaf-hash, or --old-size and --old-root"));
  }
  const Result<Json> found = text.leaf_index ? verify_leaf(text) : verify_growth(text);
  if (!found.ok()) {
    return context.fail(found.status());
  }
  context.output().print_facts(found.value());
  return 0;
}

void add_verify_command(CLI::App& ledger, Context& context) {
  auto text = std::make_shared<VerifyText>();
  CLI::App* verb = ledger.add_subcommand(
      "verify",
      "check an RFC 6962 proof offline: that a leaf is in a tree (--leaf-index, --leaf-hash), or "
      "that a tree is the beginning of another (--old-size, --old-root); exit 0 valid, 1 not");
  verb->add_option("--tree-size", text->tree_size, "leaves of the tree (of the new one)")
      ->required()
      ->type_name("N");
  verb->add_option("--root", text->root, "root of that tree, in hex or base64")
      ->required()
      ->type_name("HASH");
  verb->add_option("--leaf-index", text->leaf_index, "the leaf's place, from 0")->type_name("N");
  verb->add_option("--leaf-hash", text->leaf_hash, "SHA-256 of a 0 byte and the entry")
      ->type_name("HASH");
  verb->add_option("--old-size", text->old_size, "leaves of the older tree; 0: the empty one")
      ->type_name("N");
  verb->add_option("--old-root", text->old_root, "root of the older tree")->type_name("HASH");
  verb->add_option("--proof", text->proof, "the proof's hashes, from the leaf up; none if absent")
      ->type_name("HASH,...");
  verb->callback([&context, text] {
    context.choose([text](Context& chosen) { return verify(chosen, *text); });
  });
}

}  // namespace

void add_ledger_commands(CLI::App& app, Context& context) {
  CLI::App* ledger = app.add_subcommand("ledger", "proofs of what was decided");
  ledger->require_subcommand(1);
  add_verify_command(*ledger, context);
}

}  // namespace gcoord::cli
