// gcoordctl ledger verify: proofs checked here, without any node and without trust in one. Proof
// files and evidence of double votes with the keys of who is trusted, or Merkle proofs alone.
#include "cli/ledger/proof_file.h"
#include "cli/ledger/proof_input.h"
#include "cli/ledger/vote_evidence.h"
#include "cli/terminal/ledger_flags.h"
#include "ledger/merkle/proof.h"
#include "protocol/error_codes.h"

#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

namespace gcoord::cli {

namespace {

struct VerifyText {
  std::vector<std::string> files;
  bool lines = false;
  LedgerFlags flags;
  std::optional<std::uint64_t> leaf_index;
  std::optional<std::uint64_t> old_size;
  std::optional<std::uint64_t> tree_size;
  std::string leaf_hash;
  std::string old_root;
  std::string root;
  std::string proof;
};

Result<Json> verify_leaf(const VerifyText& text) {
  ledger::InclusionClaim claim{.leaf_index = *text.leaf_index, .tree_size = *text.tree_size};
  GCOORD_TRY(claim.leaf, parse_hash("--leaf-hash", text.leaf_hash));
  GCOORD_TRY(claim.root, parse_hash("--root", text.root));
  GCOORD_TRY(const auto proof, parse_proof("--proof", text.proof));
  if (const Status status = ledger::verify_inclusion(claim, proof); !status.ok()) {
    return ledger_failure(status);
  }
  return Json{{"valid", true},
              {"proves", "inclusion"},
              {"leaf_index", std::to_string(claim.leaf_index)},
              {"tree_size", std::to_string(claim.tree_size)}};
}

Result<Json> verify_growth(const VerifyText& text) {
  ledger::ConsistencyClaim claim{.old_size = *text.old_size, .size = *text.tree_size};
  GCOORD_TRY(claim.old_root, parse_hash("--old-root", text.old_root));
  GCOORD_TRY(claim.root, parse_hash("--root", text.root));
  GCOORD_TRY(const auto proof, parse_proof("--proof", text.proof));
  if (const Status status = ledger::verify_consistency(claim, proof); !status.ok()) {
    return ledger_failure(status);
  }
  return Json{{"valid", true},
              {"proves", "consistency"},
              {"old_size", std::to_string(claim.old_size)},
              {"tree_size", std::to_string(claim.size)}};
}

int verify_raw(Context& context, const VerifyText& text) {
  if (text.leaf_index.has_value() == text.old_size.has_value() || !text.tree_size ||
      text.root.empty()) {
    return context.fail(protocol::make_error(
        protocol::ErrorCode::OptionMissing,
        "give a proof file, or --tree-size and --root with either --leaf-index and "
        "--leaf-hash, or --old-size and --old-root"));
  }
  const Result<Json> found = text.leaf_index ? verify_leaf(text) : verify_growth(text);
  if (!found.ok()) {
    return context.fail(found.status());
  }
  context.output().print_facts(found.value());
  return 0;
}

// Of a hidden entry nothing but the hash is proven, so nothing else is said.
Json facts_of(const EntryProof& proof) {
  const bool hidden = is_hidden(proof);
  Json facts = {{"proves", hidden ? "leaf" : "entry"},
                {"cluster", std::to_string(proof.cluster)},
                {"shard", std::to_string(proof.shard)},
                {"index", std::to_string(proof.index)},
                {"cluster_size", std::to_string(proof.cluster_size)}};
  for (const auto& [name, value] : proof.decoded) {
    if (!hidden || name == "kind" || name == "leaf") {
      facts["entry." + name] = value;
    }
  }
  return facts;
}

// The entry, and who is behind its session.
Json facts_of(const NotedProof& proof) {
  Json facts = facts_of(proof.entry);
  facts["proves"] = "entry_and_note";
  facts["note.shard"] = std::to_string(proof.note.shard);
  facts["note.index"] = std::to_string(proof.note.index);
  for (const auto& [name, value] : proof.note.decoded) {
    facts["note." + name] = value;
  }
  return facts;
}

// Of two checkpoints, which have been checked.
Json facts_of(const GrowthProof& proof) {
  const auto size_of = [](const std::string& note) {
    const auto text = ledger::parse_note(note).value().text;
    return std::to_string(ledger::parse_checkpoint_text(text).value().size);
  };
  return {{"proves", "growth"},
          {"old_size", size_of(proof.older)},
          {"tree_size", size_of(proof.newer)}};
}

// A proof that is true.
Result<ProofFile> checked_proof(ProofChecker& checker, std::string_view text) {
  GCOORD_TRY(ReadProof read, parse_proof_file(text));
  GCOORD_TRY_STATUS(checker.check(read));
  return std::move(read.proof);
}

// What it says.
Result<Json> verify_text(ProofChecker& checker, std::string_view text) {
  GCOORD_TRY(const ProofFile proof, checked_proof(checker, text));
  return std::visit([](const auto& each) { return facts_of(each); }, proof);
}

struct Verified {
  std::uint64_t proofs = 0;
  std::uint64_t hidden = 0;  // Of them, those of hidden entries.
};

// Of a file of lines, as large as it may be.
Status verify_lines(ProofChecker& checker, const std::string& file, Verified& verified) {
  std::ifstream stream(file, std::ios::binary);
  std::istream& input = file == "-" ? std::cin : stream;
  if (!input) {
    return protocol::make_error(protocol::ErrorCode::OptionInvalid, file + " cannot be read");
  }
  std::string line;
  for (std::uint64_t number = 1; std::getline(input, line); ++number) {
    const auto found = checked_proof(checker, line);
    if (!found.ok()) {
      return Status{found.status().code(),
                    file + " line " + std::to_string(number) + ": " + found.status().message(),
                    found.status().detail()};
    }
    ++verified.proofs;
    const auto* const entry = std::get_if<EntryProof>(&found.value());
    verified.hidden += entry != nullptr && is_hidden(*entry) ? 1 : 0;
  }
  return {};
}

int verify_all_lines(Context& context, ProofChecker& checker, const VerifyText& text) {
  Verified verified;
  for (const std::string& file : text.files) {
    if (const Status status = verify_lines(checker, file, verified); !status.ok()) {
      return context.fail(ledger_failure(status));
    }
  }
  context.output().print_facts(Json{{"valid", true},
                                    {"proofs", std::to_string(verified.proofs)},
                                    {"hidden", std::to_string(verified.hidden)}});
  return 0;
}

int verify_files(Context& context, const VerifyText& text) {
  const auto trust = trust_of(text.flags);
  if (!trust.ok()) {
    return context.fail(ledger_failure(trust.status()));
  }
  if (trust.value().keys.empty()) {
    return context.fail(protocol::make_error(protocol::ErrorCode::OptionMissing,
                                             "--key names the keys whose signatures count"));
  }
  ProofChecker checker(trust.value());
  if (text.lines) {
    return verify_all_lines(context, checker, text);
  }
  for (const std::string& file : text.files) {
    const auto bytes = read_input(file, kProofFileBytesMax);
    const Result<Json> found = !bytes.ok() ? Result<Json>{bytes.status()}
                               : is_vote_evidence(bytes.value())
                                   ? verify_vote_evidence(bytes.value(), trust.value().keys)
                                   : verify_text(checker, bytes.value());
    if (!found.ok()) {
      return context.fail(ledger_failure(found.status()));
    }
    Json facts = {{"valid", true}, {"file", file}};
    merge_members(facts, found.value());
    context.output().print_facts(facts);
  }
  return 0;
}

int verify(Context& context, const VerifyText& text) {
  return text.files.empty() ? verify_raw(context, text) : verify_files(context, text);
}

}  // namespace

void add_ledger_verify(Command& ledger, Context& context) {
  auto text = std::make_shared<VerifyText>();
  Command* verb = ledger.add_subcommand(
      "verify",
      "verify proofs offline: files of ledger prove, with the nodes' keys; or an RFC 6962 proof "
      "that a leaf is in a tree (--leaf-index, --leaf-hash) or that a tree is the beginning of "
      "another (--old-size, --old-root); exit 0 valid, 1 not");
  verb->add_option("FILE", text->files, "proof files; - is standard input");
  verb->add_flag("--lines", text->lines, "each line of the files is one proof");
  add_key_flags(*verb, text->flags);
  verb->add_option(
          "--tree-size", text->tree_size, "number of leaves of the tree, or of the newer tree")
      ->type_name("N");
  verb->add_option("--root", text->root, "root of that tree, in hex or base64")->type_name("HASH");
  verb->add_option("--leaf-index", text->leaf_index, "index of the leaf, from 0")->type_name("N");
  verb->add_option(
          "--leaf-hash", text->leaf_hash, "hash of the leaf: SHA-256 of a 0 byte and the entry")
      ->type_name("HASH");
  verb->add_option(
          "--old-size", text->old_size, "number of leaves of the older tree; 0: the empty tree")
      ->type_name("N");
  verb->add_option("--old-root", text->old_root, "root of the older tree")->type_name("HASH");
  verb->add_option("--proof", text->proof, "hashes of the proof, from the leaf up (default: none)")
      ->type_name("HASH,...");
  verb->callback([&context, text] {
    context.choose([text](Context& chosen) { return verify(chosen, *text); });
  });
}

}  // namespace gcoord::cli
