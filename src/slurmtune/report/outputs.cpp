// SPDX-License-Identifier: MIT
#include "slurmtune/report/outputs.hpp"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "slurmtune/generate/trial.hpp"
#include "slurmtune/report/best_scripts.hpp"
#include "slurmtune/report/findings.hpp"
#include "slurmtune/report/report_body.hpp"
#include "slurmtune/report/results_csv.hpp"
#include "slurmtune/study/files.hpp"

namespace slurmtune {

namespace {

namespace fs = std::filesystem;

Expected<void> put(const fs::path& path, const std::string& text) {
  return replace_file(path, text, Durability::cached);
}

Expected<void> put_program(const fs::path& path, const std::string& text) {
  SLURMTUNE_CHECK(put(path, text));
  std::error_code code;
  fs::permissions(path, fs::perms::owner_all, code);
  if (code) {
    return unavailable(
        fmt::format("{}: cannot make it executable: {}", path.string(), code.message()));
  }
  return {};
}

/// One row a tuning space and one over all, with the columns of DeepSpeed's own autotuner.
std::string spaces_table(const Findings& findings, const TuningResult& result) {
  std::string text =
      "| tuning_space | num_experiments | best_metric_val | best_exp_name |\n"
      "| :----------- | --------------: | --------------: | :------------ |\n";
  const auto row = [&](std::string_view space, std::int64_t experiments,
                       const std::optional<Interval>& objective, std::string_view best) {
    const std::string value = objective ? fmt::format("{:.6g}", objective->mid) : "-";
    text += fmt::format("| {:<12} | {:>15} | {:>15} | {} |\n", space, experiments, value,
                        best.empty() ? "-" : best);
  };
  std::int64_t all = 0;
  for (const SpaceFinding& space : findings.spaces) {
    row(space.name, space.experiments, space.objective, space.best);
    all += space.experiments;
  }
  row("global", all, result.best ? std::optional(result.best->throughput) : std::nullopt,
      result.best ? result.best->label : "");
  return text;
}

Expected<void> write_best(const ReportInput& report) {
  const StudyDirectory& directory = report.directory;
  if (report.input.spec.deepspeed) {
    SLURMTUNE_TRY(
        const std::string text,
        render_ds_config(report.input.spec, {report.result.best->values}, DsConfigUse::production));
    SLURMTUNE_CHECK(put(directory.best() / "ds_config_optimal.json", text));
  }
  SLURMTUNE_TRY(const std::string command, render_command_script(report));
  SLURMTUNE_CHECK(put_program(directory.best() / "cmd_optimal.sh", command));
  SLURMTUNE_TRY(const std::string job, render_train_script(report));
  return put_program(directory.best() / "train_optimal.sbatch", job);
}

}  // namespace

Expected<void> write_outputs(const StudyDirectory& directory, const StudyInput& input,
                             const Plan& plan, const StudyView& view, const TuningResult& result) {
  // The files are written just before the end is journalled, and are about the finished study.
  StudyView finished = view;
  finished.plan = plan;
  finished.state.finished = Finished{.stop = result.stop, .best = std::nullopt};
  if (result.best) finished.state.finished->best = result.best->configuration;
  const ReportInput report{directory, input, finished, result};

  SLURMTUNE_CHECK(make_private_directory(directory.best()));
  SLURMTUNE_CHECK(put(directory.root() / "results.csv", render_results_csv(input, view)));
  if (result.best) SLURMTUNE_CHECK(write_best(report));
  const std::string summary = spaces_table(findings_of(input, finished), result) + "\n" +
                              report_body(report, Colour::never);
  return put(directory.best() / "summary.txt", summary);
}

}  // namespace slurmtune
