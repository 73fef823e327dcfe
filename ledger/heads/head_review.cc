#include "ledger/heads/head_review.h"

#include "ledger/base/error_details.h"
#include "ledger/merkle/tree_proof.h"

#include <algorithm>
#include <string>
#include <utility>

namespace gcoord::server {

HeadComparison compare_head(const ledger::TreeReader* tree, const ledger::ShardHead& head) {
  if (tree == nullptr) {
    return {HeadVerdict::Unknown};
  }
  if (tree->size() < head.size) {
    return {HeadVerdict::Behind};
  }
  const auto root = ledger::root_at(*tree, head.size);
  if (!root.ok()) {
    // Damage is no difference: the shard itself may be sound, and is not to be erased for it.
    return {HeadVerdict::Unknown, {}, root.status().code() == StatusCode::DataLoss};
  }
  return root.value() == head.root ? HeadComparison{HeadVerdict::Equal}
                                   : HeadComparison{HeadVerdict::Differs, root.value()};
}

Status read_back(const ledger::TreeReader& tree, const ledger::ShardHead& head) {
  if (tree.size() < head.size) {
    return Status{};
  }
  GCOORD_TRY(const ledger::MerkleHash root, ledger::root_at(tree, head.size));
  return root == head.root ? Status{}
                           : Status{StatusCode::DataLoss,
                                    "the history of shard " + std::to_string(head.shard.value) +
                                        " is not on the disk as it was hashed",
                                    ledger::kHistoryRot};
}

bool HeadReview::on_page(NodeId from, PageMessage page, std::uint64_t now_ms) {
  Candidate& candidate = candidates_[from];
  if (page.batch < candidate.batch) {
    return false;
  }
  if (page.batch > candidate.batch) {
    earlier_[from] = std::move(candidate);
    candidate = {.batch = page.batch, .old_size = page.old_size, .pages = {}};
    candidate.pages.resize(page.page_count);
  }
  if (candidate.old_size != page.old_size || candidate.pages.size() != page.page_count) {
    return false;
  }
  std::optional<Page>& place = candidate.pages[page.page];
  if (!place) {
    place.emplace();
    place->heads = std::move(page.heads);
    place->due_ms = now_ms + kPatienceMs;
    for (std::size_t k = 0; k < place->heads.size(); ++k) {
      place->exceptions.push_back({static_cast<std::uint16_t>(k), HeadVerdict::Behind, {}});
    }
  } else if (place->heads != page.heads) {
    return false;
  }
  place->asked = true;
  return true;
}

// Of a large page what is equal in memory needs no reading. What cannot be had there, or is not
// equal, is read.
void HeadReview::review_in_memory(Page& page) const {
  std::vector<ledger::ShardHead> named;
  for (std::size_t k = kReadOfMany; k < page.exceptions.size(); ++k) {
    named.push_back(page.heads[page.exceptions[k].index]);
  }
  const auto own = heads_at_(named);
  if (!own.ok()) {
    return;
  }
  std::size_t place = 0;
  std::erase_if(page.exceptions, [&](const HeadException& each) {
    const std::size_t k = place++;
    return k >= kReadOfMany && own.value()[k - kReadOfMany].size != 0 &&
           own.value()[k - kReadOfMany] == page.heads[each.index];
  });
}

// Looks at what is behind, or was never looked at.
void HeadReview::review(Page& page) const {
  if (page.exceptions.size() > kReadPerPage) {
    review_in_memory(page);
  }
  std::erase_if(page.exceptions, [&](HeadException& each) {
    if (each.verdict != HeadVerdict::Behind) {
      return false;
    }
    const ledger::ShardHead& head = page.heads[each.index];
    const HeadComparison seen = compare_head(tree_of_(head.shard).get(), head);
    each.verdict = seen.verdict;
    each.root = seen.root;
    return seen.verdict == HeadVerdict::Equal;
  });
}

bool HeadReview::any_behind(const Page& page) {
  return std::ranges::any_of(page.exceptions, [](const HeadException& each) {
    return each.verdict == HeadVerdict::Behind;
  });
}

std::vector<HeadReview::Answer> HeadReview::advance(std::uint64_t now_ms) {
  std::vector<Answer> answers;
  for (auto& [from, candidate] : candidates_) {
    for (std::size_t k = 0; k < candidate.pages.size(); ++k) {
      std::optional<Page>& page = candidate.pages[k];
      if (!page || !page->asked) {
        continue;
      }
      if (!page->answered) {
        review(*page);
        page->answered = !any_behind(*page) || now_ms >= page->due_ms;
      }
      if (page->answered) {
        page->asked = false;
        answers.push_back(
            {from, {candidate.batch, static_cast<std::uint16_t>(k), page->exceptions}});
      }
    }
  }
  return answers;
}

bool HeadReview::waiting() const {
  return std::ranges::any_of(candidates_, [](const auto& each) {
    return std::ranges::any_of(each.second.pages,
                               [](const auto& page) { return page && page->asked; });
  });
}

bool HeadReview::agreed(const Candidate& candidate,
                        std::uint64_t first,
                        std::span<const ledger::ShardHead> heads) {
  for (std::size_t k = 0; k < heads.size(); ++k) {
    const std::uint64_t at = first + k;
    const std::uint64_t number = at / kHeadsPerPage;
    if (number >= candidate.pages.size() || !candidate.pages[number]) {
      return false;
    }
    const Page& page = *candidate.pages[number];
    const std::size_t place = at % kHeadsPerPage;
    const bool same = place < page.heads.size() && page.heads[place] == heads[k];
    // Exceptions are in the order of the page, and before the first look every head is one.
    if (!same || std::ranges::binary_search(page.exceptions, place, {}, &HeadException::index)) {
      return false;
    }
  }
  return true;
}

bool HeadReview::agreed(std::uint64_t old_size, std::span<const ledger::ShardHead> heads) const {
  const auto has = [&](const auto& each) {
    const Candidate& candidate = each.second;
    return candidate.old_size <= old_size &&
           agreed(candidate, old_size - candidate.old_size, heads);
  };
  return std::ranges::any_of(candidates_, has) || std::ranges::any_of(earlier_, has);
}

void HeadReview::forget_below(std::uint64_t size) {
  for (auto* candidates : {&candidates_, &earlier_}) {
    for (auto& [from, candidate] : *candidates) {
      if (candidate.old_size + candidate.pages.size() * kHeadsPerPage <= size) {
        candidate.pages.clear();
      }
    }
  }
}

}  // namespace gcoord::server
