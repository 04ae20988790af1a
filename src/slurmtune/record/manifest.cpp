// SPDX-License-Identifier: MIT
#include "slurmtune/record/manifest.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "slurmtune/record/json_fields.hpp"

namespace slurmtune {

namespace {

constexpr std::string_view format_name = "slurmtune.manifest";
constexpr int format_version = 1;

Json to_json(const Incumbent& incumbent) {
  return {{"configuration", incumbent.configuration.text},
          {"throughput", to_json(incumbent.throughput)}};
}

Expected<Incumbent> incumbent_from_json(const Json& json, std::string_view where) {
  Incumbent incumbent;
  JsonFields fields(json, where);
  fields.required("configuration", incumbent.configuration);
  fields.required("throughput", incumbent.throughput);
  return fields.into(std::move(incumbent));
}

Expected<Slice> slice_from_json(const Json& json, std::string_view where) {
  if (!json.is_array() || json.size() != 2 || !json[0].is_number_integer() ||
      !json[1].is_number_integer()) {
    return corrupt_data(fmt::format("{} must hold pairs of integers", where));
  }
  return Slice{json[0].get<std::int64_t>(), json[1].get<std::int64_t>()};
}

Json header_of(const Manifest& manifest) {
  Json slices = Json::array();
  for (const Slice& slice : manifest.slices) slices.push_back({slice.first, slice.end});
  Json json = {{"format", format_name},
               {"version", format_version},
               {"study", manifest.study.text},
               {"stage", manifest.stage.text},
               {"round", manifest.round},
               {"inputs", manifest.inputs},
               {"lanes", manifest.lanes},
               {"nodes_per_lane", manifest.nodes_per_lane},
               {"task_walltime_s", manifest.task_walltime_s},
               {"slices", std::move(slices)}};
  if (manifest.incumbent) json["incumbent"] = to_json(*manifest.incumbent);
  put(json, "node_seconds_cap", manifest.node_seconds_cap);
  return json;
}

Expected<Manifest> header_from_json(const Json& json, std::string_view where) {
  SLURMTUNE_CHECK(check_format(json, format_name, format_version, where));
  Manifest manifest;
  JsonFields fields(json, where);
  fields.required("study", manifest.study);
  fields.required("stage", manifest.stage);
  fields.required("round", manifest.round);
  fields.required("inputs", manifest.inputs);
  fields.required("lanes", manifest.lanes);
  fields.required("nodes_per_lane", manifest.nodes_per_lane);
  fields.required("task_walltime_s", manifest.task_walltime_s);
  fields.required("slices", manifest.slices, slice_from_json);
  fields.optional("incumbent", manifest.incumbent, incumbent_from_json);
  fields.optional("node_seconds_cap", manifest.node_seconds_cap);
  fields.check(manifest.lanes >= 1, "lanes must be at least 1");
  fields.check(manifest.nodes_per_lane >= 1, "nodes_per_lane must be at least 1");
  return fields.into(std::move(manifest));
}

/// Slices must follow each other and cover all experiments: nothing may be lost or run twice.
Expected<void> check_slices(const Manifest& manifest, std::string_view where) {
  std::int64_t expected_first = 0;
  for (const Slice& slice : manifest.slices) {
    if (slice.first != expected_first || slice.end < slice.first) {
      return corrupt_data(fmt::format("{}: slices must be consecutive: [{},{}] follows {}", where,
                                      slice.first, slice.end, expected_first));
    }
    expected_first = slice.end;
  }
  if (expected_first != static_cast<std::int64_t>(manifest.experiments.size())) {
    return corrupt_data(fmt::format("{}: slices end at {}, but {} experiments follow", where,
                                    expected_first, manifest.experiments.size()));
  }
  return {};
}

}  // namespace

Expected<std::string> render_manifest(const Manifest& manifest) {
  SLURMTUNE_TRY(std::string text, canonical_json(header_of(manifest)));
  text += '\n';
  for (const Experiment& experiment : manifest.experiments) {
    auto line = canonical_json(to_json(experiment));
    if (!line) return in_context(experiment.id.text, std::move(line).error());
    text += *line;
    text += '\n';
  }
  return text;
}

Expected<Manifest> parse_manifest(std::string_view text, std::string_view where) {
  std::optional<Manifest> manifest;
  for (int number = 1; !text.empty(); ++number) {
    const std::string here = fmt::format("{}:{}", where, number);
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      return corrupt_data(fmt::format("{}: the file ends within a line", here));
    }
    SLURMTUNE_TRY(const Json json, parse_json_line(text.substr(0, end), here));
    text.remove_prefix(end + 1);
    if (!manifest) {
      SLURMTUNE_TRY(manifest, header_from_json(json, here));
    } else {
      SLURMTUNE_TRY(Experiment experiment, experiment_from_json(json, here));
      manifest->experiments.push_back(std::move(experiment));
    }
  }
  if (!manifest) return corrupt_data(fmt::format("{}:1: the file is empty", where));
  SLURMTUNE_CHECK(check_slices(*manifest, fmt::format("{}:1", where)));
  return *std::move(manifest);
}

}  // namespace slurmtune
