// SPDX-License-Identifier: MIT
#include "slurmtune/model/memory/optimizer_states.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

namespace slurmtune {

namespace {

// Without `_`, `-` and case.
constexpr std::array<std::pair<std::string_view, OptimizerKind>, 36> names{
    {{"adam", OptimizerKind::adam},
     {"adamw", OptimizerKind::adam},
     {"fusedadam", OptimizerKind::adam},
     {"cpuadam", OptimizerKind::adam},
     {"deepspeedcpuadam", OptimizerKind::adam},
     {"muadam", OptimizerKind::adam},
     {"muadamw", OptimizerKind::adam},
     {"lamb", OptimizerKind::adam},
     {"fusedlamb", OptimizerKind::adam},
     {"adamwtorch", OptimizerKind::adam},
     {"adamwtorchfused", OptimizerKind::adam},
     {"adamwhf", OptimizerKind::adam},
     {"adamwapexfused", OptimizerKind::adam},
     {"pagedadamw", OptimizerKind::adam},
     {"lion", OptimizerKind::momentum},
     {"fusedlion", OptimizerKind::momentum},
     {"muon", OptimizerKind::momentum},
     {"momentum", OptimizerKind::momentum},
     {"sgdmomentum", OptimizerKind::momentum},
     {"adagrad", OptimizerKind::momentum},
     {"cpuadagrad", OptimizerKind::momentum},
     {"rmsprop", OptimizerKind::momentum},
     {"sgd", OptimizerKind::plain},
     {"musgd", OptimizerKind::plain},
     {"plain", OptimizerKind::plain},
     {"adafactor", OptimizerKind::adafactor},
     {"adam8bit", OptimizerKind::adam_8bit},
     {"adamw8bit", OptimizerKind::adam_8bit},
     {"adamwbnb8bit", OptimizerKind::adam_8bit},
     {"pagedadamw8bit", OptimizerKind::adam_8bit},
     {"pagedadam8bit", OptimizerKind::adam_8bit},
     {"8bitadam", OptimizerKind::adam_8bit},
     {"onebitadam", OptimizerKind::onebit_adam},
     {"onebitlamb", OptimizerKind::onebit_adam},
     {"zerooneadam", OptimizerKind::onebit_adam},
     {"adam1bit", OptimizerKind::onebit_adam}}};

}  // namespace

double optimizer_state_bytes(OptimizerKind kind, Precision precision) {
  const double moment = precision == Precision::bf16_only ? 2.0 : 4.0;
  constexpr double scale_of_block = 4.0 / 256.0;
  switch (kind) {
    case OptimizerKind::adam: return 2.0 * moment;
    case OptimizerKind::momentum: return moment;
    case OptimizerKind::plain: return 0.0;
    case OptimizerKind::adafactor: return 0.01;
    case OptimizerKind::adam_8bit: return 2.0 * (1.0 + scale_of_block);
    case OptimizerKind::onebit_adam: return 3.0 * moment;
  }
  return 0.0;
}

std::optional<OptimizerKind> optimizer_named(std::string_view name) {
  std::string bare;
  for (const char letter : name) {
    if (letter == '_' || letter == '-') continue;
    bare += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  const auto* const found =
      std::find_if(names.begin(), names.end(), [&](const auto& row) { return row.first == bare; });
  return found == names.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace slurmtune
