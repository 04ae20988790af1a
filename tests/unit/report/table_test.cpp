// SPDX-License-Identifier: MIT
#include "slurmtune/report/table.hpp"

#include "slurmtune/report/results_csv.hpp"

#include "tests/support/catch.hpp"

using namespace slurmtune;

namespace {

Table two_columns() { return Table({{"name", Table::Align::left}, {"n", Table::Align::right}}); }

}  // namespace

TEST_CASE("a table aligns its columns, however long a label is", "[report]") {
  Table table = two_columns();
  table.add({std::string(120, 'x'), "1"});
  table.add({"ü", "12345"});
  CHECK(table.render(Colour::never) == "  name" + std::string(116, ' ') + "      n\n" +  //
                                           "  " + std::string(120, 'x') + "      1\n" +  //
                                           "  ü" + std::string(119, ' ') + "  12345\n");
}

TEST_CASE("a table without rows is empty, and missing cells are", "[report]") {
  Table table = two_columns();
  CHECK(table.render(Colour::ansi).empty());
  table.add({"a"});
  CHECK(table.render(Colour::never) == "  name  n\n  a\n");
}

TEST_CASE("colours are only where they were asked for", "[report]") {
  CHECK(paint("x", Paint::red, Colour::never) == "x");
  CHECK(paint("x", Paint::red, Colour::ansi) == "\x1b[31mx\x1b[0m");
  CHECK(paint("x", Paint::plain, Colour::ansi) == "x");
  CHECK(paint("", Paint::green, Colour::ansi).empty());
}

TEST_CASE("what a trial said cannot move the cursor", "[report]") {
  CHECK(one_line("a\x1b[31mb\r\nc\x7f") == "a [31mb  c ");
  CHECK(one_line("\xc2\x9b"
                 "31m") == " 31m");  // U+009B is CSI
  CHECK(one_line("größer") == "größer");
  CHECK(one_line("größer", 4) == "größ…");
  CHECK(one_line("größer", 6) == "größer");
  CHECK(one_line("").empty());
}

TEST_CASE("times and node-hours are written for people", "[report]") {
  CHECK(walltime_text(59) == "0:00:59");
  CHECK(walltime_text(90'061) == "25:01:01");
  CHECK(node_hours(9000) == "2.50");
}

TEST_CASE("a CSV field is quoted where it has to be", "[report]") {
  CHECK(csv_field("plain text") == "plain text");
  CHECK(csv_field("a,b") == "\"a,b\"");
  CHECK(csv_field("say \"x\"") == "\"say \"\"x\"\"\"");
  CHECK(csv_field("two\nlines") == "\"two\nlines\"");
  CHECK(csv_field("").empty());
}
