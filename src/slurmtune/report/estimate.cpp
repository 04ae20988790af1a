// SPDX-License-Identifier: MIT
#include "slurmtune/report/estimate.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "slurmtune/base/units.hpp"
#include "slurmtune/report/table.hpp"

namespace slurmtune {

namespace {

std::string bytes_or_dash(double bytes) { return bytes > 0.0 ? format_bytes(bytes) : "-"; }

std::string head(const EstimateRequest& request) {
  const TransformerShape& shape = request.shape;
  const ParallelLayout& layout = request.layout;
  std::string text = fmt::format("{:.4g} parameters", shape.params);
  if (shape.trainable < shape.params) text += fmt::format(", {:.4g} trained", shape.trainable);
  if (shape.hidden > 0.0) {
    text += fmt::format("; {:g} layers of {:g}, sequences of {:g}", shape.layers, shape.hidden,
                        shape.sequence);
  }
  text += fmt::format("\n{} node{} x {} process{}, {} of them data-parallel; {}; GPU {}\n\n",
                      layout.nodes, layout.nodes == 1 ? "" : "s", layout.processes_per_node,
                      layout.processes_per_node == 1 ? "" : "es", layout.data_parallel(),
                      name_of(request.setup.precision), format_bytes(request.gpu_bytes));
  return text;
}

/// Of a model that the GPUs would hold and the nodes do not; "" if the GPUs are what is short.
std::string host_shortage(const EstimateReport& report) {
  const EstimateRow* least = nullptr;
  for (const EstimateRow& row : report.rows) {
    if (row.largest < report.request.micro_batch || !row.host_is_short) continue;
    const bool less = least == nullptr || row.at.host_per_node < least->at.host_per_node;
    if (less) least = &row;
  }
  if (least == nullptr) return "";
  const bool on_nvme = least->optimizer_states == Placement::nvme;
  return fmt::format(
      "Host memory is short, not that of the GPUs: {} fits these, but takes {} of a node's {}. Use "
      "more nodes, which share the states{}, or nodes with more memory.\n",
      name_of(*least), format_bytes(least->at.host_per_node),
      format_bytes(*report.request.host_bytes), on_nvme ? "" : ", NVMe (--offload-optimizer nvme)");
}

std::string advice(const EstimateReport& report) {
  const std::int64_t micro_batch = report.request.micro_batch;
  const EstimateRow* row = recommended(report.rows, micro_batch);
  if (row == nullptr) {
    if (std::string host = host_shortage(report); !host.empty()) return host;
    return fmt::format(
        "GPU memory is short: nothing fits micro_batch {}. Use more GPUs, tensor parallelism, "
        "shorter sequences{}.\n",
        micro_batch,
        report.request.setup.checkpointing == Checkpointing::full
            ? ""
            : ", or activation checkpointing (--checkpointing full)");
  }
  if (!(report.request.shape.hidden > 0.0)) {
    return fmt::format("The model states fit from {} on; what activations need is not known.\n",
                       name_of(*row));
  }
  std::string text =
      fmt::format("Begin with {}: it fits micro_batch {}, up to {}{}", name_of(*row), micro_batch,
                  row->largest, row->largest >= report.request.micro_batch_cap ? " and more" : "");
  if (row->probability < 0.9) text += fmt::format(" (probability {:.2f})", row->probability);
  return text +
         "; what stands below it saves memory at the price of communication. slurmtune tune "
         "measures it.\n";
}

std::string largest_text(const EstimateRequest& request, const EstimateRow& row) {
  if (row.largest == 0) return "-";
  // Without activations nothing grows with the micro-batch.
  return request.shape.hidden > 0.0 ? fmt::format("{}", row.largest) : "?";
}

Json breakdown_json(const MemoryBreakdown& at) {
  return {{"parameters_bytes", at.parameters},
          {"gradients_bytes", at.gradients},
          {"optimizer_bytes", at.optimizer},
          {"buffers_bytes", at.buffers},
          {"gathered_bytes", at.gathered},
          {"activations_bytes", at.activations},
          {"logits_bytes", at.logits},
          {"fragments_bytes", at.fragments},
          {"overhead_bytes", at.overhead},
          {"allocated_bytes", at.allocated()},
          {"reserved_bytes", at.reserved()},
          {"total_bytes", at.total()},
          {"host_bytes_per_node", at.host_per_node},
          {"phase", name_of(at.phase)}};
}

std::string_view place_name(Placement placement) {
  switch (placement) {
    case Placement::gpu: return "none";
    case Placement::cpu: return "cpu";
    case Placement::nvme: return "nvme";
  }
  return "";
}

}  // namespace

std::string estimate_text(const EstimateReport& report, Colour colour) {
  using Align = Table::Align;
  const EstimateRequest& request = report.request;
  Table table({{"ZeRO"},
               {"states", Align::right},
               {"buffers", Align::right},
               {"gathered", Align::right},
               {"activations", Align::right},
               {"logits", Align::right},
               {"other", Align::right},
               {fmt::format("all, micro_batch {}", request.micro_batch), Align::right},
               {"fits", Align::right},
               {"largest", Align::right},
               {"host a node", Align::right}});
  const EstimateRow* first = recommended(report.rows, request.micro_batch);
  for (const EstimateRow& row : report.rows) {
    std::string name = fmt::format("{}", row.zero_stage);
    if (row.optimizer_states != Placement::gpu) {
      name += fmt::format(" +optimizer on {}", place_name(row.optimizer_states));
    }
    if (row.parameters != Placement::gpu) {
      name += fmt::format(" +params on {}", place_name(row.parameters));
    }
    const std::string total = row.calibrated
                                  ? fmt::format("{} measured", format_bytes(*row.calibrated))
                                  : format_bytes(row.at.total());
    table.add({name, bytes_or_dash(row.at.states()), bytes_or_dash(row.at.buffers),
               bytes_or_dash(row.at.gathered), bytes_or_dash(row.at.activations),
               bytes_or_dash(row.at.logits), bytes_or_dash(row.at.fragments + row.at.overhead),
               total, fmt::format("{:.2f}", row.probability), largest_text(request, row),
               format_bytes(row.at.host_per_node) + (row.host_is_short ? " too much" : "")},
              &row == first ? Paint::green : Paint::plain);
  }
  std::string text = head(request) + table.render(colour) + "\n" + advice(report);
  for (const std::string& note : report.notes) text += fmt::format("note: {}\n", note);
  return text;
}

Json estimate_json(const EstimateReport& report) {
  const EstimateRequest& request = report.request;
  const TransformerShape& shape = request.shape;
  Json rows = Json::array();
  for (const EstimateRow& row : report.rows) {
    Json json = {{"zero_stage", row.zero_stage},
                 {"offload_optimizer", place_name(row.optimizer_states)},
                 {"offload_param", place_name(row.parameters)},
                 {"memory", breakdown_json(row.at)},
                 {"fit_probability", row.probability},
                 {"largest_micro_batch",
                  shape.hidden > 0.0 || row.largest == 0 ? Json(row.largest) : Json()},
                 {"host_is_short", row.host_is_short}};
    if (row.calibrated) json["calibrated_bytes"] = *row.calibrated;
    rows.push_back(std::move(json));
  }
  const EstimateRow* first = recommended(report.rows, request.micro_batch);
  return {{"format", "slurmtune.estimate"},
          {"version", 1},
          {"model",
           {{"params", shape.params},
            {"trainable_params", shape.trainable},
            {"hidden", shape.hidden},
            {"layers", shape.layers},
            {"heads", shape.heads},
            {"kv_heads", shape.kv_heads},
            {"intermediate", shape.intermediate},
            {"vocabulary", shape.vocabulary},
            {"sequence_length", shape.sequence},
            {"gated_mlp", shape.mlp == MlpKind::gated}}},
          {"gpu_bytes", request.gpu_bytes},
          {"data_parallel", request.layout.data_parallel()},
          {"micro_batch", request.micro_batch},
          {"rows", std::move(rows)},
          {"recommended", first == nullptr ? Json() : Json(name_of(*first))},
          {"notes", report.notes}};
}

}  // namespace slurmtune
