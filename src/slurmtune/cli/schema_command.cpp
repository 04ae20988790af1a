// SPDX-License-Identifier: MIT
#include <memory>

#include <CLI/CLI.hpp>

#include "slurmtune/cli/command.hpp"
#include "slurmtune/cli/output.hpp"
#include "slurmtune/input/study_input.hpp"

namespace slurmtune {

void add_schema_command(CLI::App& app, Command& selected) {
  CLI::App* command = add_subcommand(app, "schema", "Print the JSON Schema of a file format",
                                     "  slurmtune schema study > study.schema.json\n"
                                     "  slurmtune schema            list the formats");
  auto name = std::make_shared<std::string>();
  command->add_option("NAME", *name, "study, site, manifest, verdict or decision");
  command->callback([name, &selected] {
    selected = [name]() -> Expected<ExitCode> {
      if (name->empty()) {
        std::string names;
        for (const std::string_view known : schema_names()) names += std::string(known) + '\n';
        print(names);
        return ExitCode::done;
      }
      SLURMTUNE_TRY(const std::string text, schema_of(*name));
      print(text.ends_with('\n') ? text : text + '\n');
      return ExitCode::done;
    };
  });
}

}  // namespace slurmtune
