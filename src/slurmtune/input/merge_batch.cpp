// SPDX-License-Identifier: MIT
#include <algorithm>

#include "slurmtune/input/hugging_face.hpp"
#include "slurmtune/input/merge.hpp"

namespace slurmtune {

namespace {

Expected<void> merge_global_batch(const Merge& merge, const std::optional<TrainBatch>& train) {
  BatchSpec& batch = merge.spec.batch;
  const DsConfig& config = merge.config;
  const Node* global = merge.key("batch", "global");
  const Node* max_global = merge.key("batch", "max_global");
  const bool constant = global != nullptr && global->is_number();
  if (constant && max_global != nullptr) {
    return fail_at(merge.spec.path, max_global->line,
                   "batch.max_global contradicts the constant batch.global",
                   "remove it, or write global = \"free\"");
  }
  if (constant) {
    batch.global = global->as_integer();
    batch.where = merge.where(global->line);
    if (train && train->value != *batch.global) {
      merge.note(fmt::format("batch.global = {} of {} is used, not {} of {}", *batch.global,
                             merge.spec.path, train->said, train->where()));
    }
  } else if (global == nullptr && train) {
    if (max_global != nullptr) {
      return fail_at(
          merge.spec.path, max_global->line,
          fmt::format("batch.max_global contradicts {} of {}", train->name(), train->where()),
          "remove it, or write global = \"free\"");
    }
    batch.global = train->value;
    batch.where = train->where();
    merge.note(fmt::format("the global batch is constant: {} of {}", train->said, train->where()));
  }
  const auto& theirs = config.max_train_batch;
  if (batch.global) {
    if (theirs) {
      merge.note(
          fmt::format("max_train_batch_size of {}:{} has no effect: the global batch is "
                      "constant",
                      config.path, theirs->line));
    }
    return {};
  }
  if (max_global != nullptr) {
    batch.max_global = max_global->as_integer();
    batch.where = merge.where(max_global->line);
  }
  if (max_global != nullptr && theirs && theirs->value != *batch.max_global) {
    merge.note_study_wins(fmt::format("batch.max_global = {}", *batch.max_global),
                          fmt::format("max_train_batch_size = {}", theirs->value), theirs->line);
  }
  if (max_global == nullptr && theirs) {
    batch.max_global = theirs->value;
    batch.where = fmt::format("{}:{}", config.path, theirs->line);
  }
  return {};
}

/// The smallest micro-batch that is worth a look; what is listed is tried in any case.
Expected<void> merge_floor(const Merge& merge) {
  BatchSpec& batch = merge.spec.batch;
  const DsConfig& config = merge.config;
  if (!batch.micro_batches.empty()) return {};
  if (config.micro_batch_floor) {
    batch.micro_batch_floor = std::max<std::int64_t>(config.micro_batch_floor->value, 1);
  }
  const auto fail = [&](std::string_view key, const Located<std::int64_t>& least,
                        std::int64_t most) {
    return fail_at(config.path, least.line,
                   fmt::format("{} = {} is more than what is possible, {}", key, least.value, most),
                   "lower it");
  };
  if (batch.micro_batch_floor > batch.micro_batch_cap) {
    return fail("min_train_micro_batch_size_per_gpu", *config.micro_batch_floor,
                batch.micro_batch_cap);
  }
  if (!config.min_train_batch) return {};
  const auto& least = *config.min_train_batch;
  const auto most = batch.global ? batch.global : batch.max_global;
  if (most && least.value > *most) return fail("min_train_batch_size", least, *most);
  if (most) return {};
  // Accumulation stays the user's, so the micro-batch makes the global one.
  const std::int64_t samples =
      merge.spec.data_parallel() * merge.spec.deepspeed->gradient_accumulation;
  const std::int64_t needed = least.value / samples + (least.value % samples != 0 ? 1 : 0);
  if (needed > batch.micro_batch_cap) {
    return fail("min_train_batch_size", least, batch.micro_batch_cap * samples);
  }
  batch.micro_batch_floor = std::max(batch.micro_batch_floor, needed);
  return {};
}

/// Whether the global batch can be divided among the ranks at all.
Expected<void> check_global_batch(const Merge& merge, const std::optional<TrainBatch>& train) {
  const BatchSpec& batch = merge.spec.batch;
  const std::int64_t ranks = merge.spec.data_parallel();
  const auto fail = [&](const Node* ours, std::string_view path, int line, std::string_view what,
                        std::string_view remedy) {
    if (ours != nullptr && ours->is_number())
      return fail_at(merge.spec.path, ours->line, what, remedy);
    return fail_at(path, line, what, remedy);
  };
  if (batch.global && *batch.global % ranks != 0) {
    const std::int64_t below = *batch.global / ranks * ranks;
    const std::string nearest =
        below > 0 ? fmt::format("{} or {}", below, below + ranks) : fmt::format("{}", ranks);
    return fail(merge.key("batch", "global"), train ? train->path : merge.spec.path,
                train ? train->line : 1,
                fmt::format("the global batch {} is not a multiple of the {} (trial.nodes x "
                            "trial.processes_per_node{})",
                            *batch.global, ranks_text(merge.spec),
                            merge.spec.parallel.product() > 1 ? " / [parallel]" : ""),
                fmt::format("write {}, or change the ranks", nearest));
  }
  if (batch.max_global && *batch.max_global < ranks) {
    const auto& theirs = merge.config.max_train_batch;
    return fail(merge.key("batch", "max_global"), merge.config.path, theirs ? theirs->line : 1,
                fmt::format("no global batch up to {} can be divided among {}", *batch.max_global,
                            ranks_text(merge.spec)),
                fmt::format("write at least {}", ranks));
  }
  return {};
}

Expected<void> merge_micro_batches(const Merge& merge) {
  BatchSpec& batch = merge.spec.batch;
  auto theirs = merge.config.micro_batches;
  if (merge.config.micro_batch) {
    const auto& fixed = *merge.config.micro_batch;
    theirs = Located<std::vector<std::int64_t>>{{fixed.value}, fixed.line};
    if (merge.key("batch", "micro_batch") == nullptr) {
      merge.note(
          fmt::format("the micro-batch is fixed: {} = {} of {}:{}; write \"auto\" there or "
                      "batch.micro_batch = \"auto\" to have it tuned",
                      micro_batch_key, fixed.value, merge.config.path, fixed.line));
    }
  }
  if (theirs) batch.micro_batches = theirs->value;
  if (const Node* ours = merge.key("batch", "micro_batch")) {
    batch.micro_batches =
        ours->kind == Node::Kind::string ? std::vector<std::int64_t>{} : integers_of(*ours);
    const bool list_ends = merge.config.micro_batches || !batch.micro_batches.empty();
    if (theirs && list_ends && theirs->value != batch.micro_batches) {
      merge.note_study_wins("batch.micro_batch",
                            fmt::format("{} = {}", micro_batch_key, joined(theirs->value)),
                            theirs->line);
    }
  }
  std::ranges::sort(batch.micro_batches);
  batch.micro_batches.erase(std::unique(batch.micro_batches.begin(), batch.micro_batches.end()),
                            batch.micro_batches.end());
  if (merge.config.micro_batch_cap) batch.micro_batch_cap = merge.config.micro_batch_cap->value;
  if (batch.global) {
    batch.micro_batch_cap =
        std::min(batch.micro_batch_cap, *batch.global / merge.spec.data_parallel());
  }
  return {};
}

/// Of a list, which no training has, the first micro-batch that makes up the global batch; what
/// does not is said.
std::optional<std::int64_t> first_that_divides(const Merge& merge, std::int64_t train,
                                               const std::optional<std::int64_t>& accumulation) {
  const std::int64_t ranks = merge.spec.data_parallel();
  std::optional<std::int64_t> first;
  std::vector<std::int64_t> others;
  for (const std::int64_t micro : merge.spec.batch.micro_batches) {
    const std::int64_t samples = micro * accumulation.value_or(1) * ranks;
    const bool divides = accumulation ? samples == train : train % samples == 0;
    if (!divides) {
      others.push_back(micro);
    } else if (!first) {
      first = micro;
    }
  }
  if (first && !others.empty()) {
    merge.note(
        fmt::format("micro-batch {} is not tried: no accumulation makes a global batch of {} "
                    "of it on {}",
                    fmt::join(others, ", "), train, ranks_text(merge.spec)));
  }
  return first;
}

// What the user's own training has: DeepSpeed's batch arithmetic (runtime/config.py),
// train_batch_size = micro-batch x accumulation x data-parallel ranks.
Expected<void> merge_user_batch(const Merge& merge, const std::optional<TrainBatch>& given) {
  DeepSpeedSpec& deepspeed = *merge.spec.deepspeed;
  const DsConfig& config = merge.config;
  const std::int64_t ranks = merge.spec.data_parallel();
  SLURMTUNE_TRY(auto micro, mapped_or_config(merge, micro_batch_key, config.micro_batch));
  SLURMTUNE_TRY(auto accumulation, mapped_or_config(merge, accumulation_key, config.accumulation));
  if (given) {
    const std::int64_t train = given->value;
    if (!micro) micro = first_that_divides(merge, train, accumulation);
    if (!micro && !accumulation) accumulation = 1;
    const std::int64_t known = micro.value_or(1) * accumulation.value_or(1) * ranks;
    const bool both = micro && accumulation;
    if (train % known != 0 || (both && train != known)) {
      return fail_at(
          given->path, given->line,
          fmt::format("{} {} is not micro-batch {} x accumulation {} x {}", given->name(), train,
                      micro ? std::to_string(*micro) : "?",
                      accumulation ? std::to_string(*accumulation) : "?", ranks_text(merge.spec)),
          "correct one of them, or remove one");
    }
    if (!micro) micro = train / known;
    if (!accumulation) accumulation = train / known;
  }
  const auto& listed = merge.spec.batch.micro_batches;
  const std::int64_t usual = deepspeed.hugging_face ? hugging_face_micro_batch : 1;
  if (!micro) micro = listed.empty() ? usual : listed.front();
  const auto& global = merge.spec.batch.global;
  if (!accumulation && global && *global % (*micro * ranks) == 0) {
    accumulation = *global / (*micro * ranks);
  }
  deepspeed.micro_batch = *micro;
  deepspeed.gradient_accumulation = accumulation.value_or(1);
  // What a global batch may be, too: products of these stay far within 64 bits.
  constexpr std::int64_t global_max = 1'000'000'000'000;
  if (deepspeed.gradient_accumulation > global_max / ranks / *micro) {
    const int line = config.accumulation ? config.accumulation->line : 1;
    return fail_at(
        config.path, line,
        fmt::format("micro-batch {} x accumulation {} x {} is a global batch of more "
                    "than {}",
                    *micro, deepspeed.gradient_accumulation, ranks_text(merge.spec), global_max),
        "lower one of them");
  }
  return {};
}

}  // namespace

Expected<void> merge_batch(const Merge& merge) {
  SLURMTUNE_TRY(const std::optional<TrainBatch> train, train_batch_of(merge));
  SLURMTUNE_CHECK(merge_global_batch(merge, train));
  SLURMTUNE_CHECK(check_global_batch(merge, train));
  SLURMTUNE_CHECK(merge_micro_batches(merge));
  SLURMTUNE_CHECK(merge_user_batch(merge, train));
  return merge_floor(merge);
}

}  // namespace slurmtune
