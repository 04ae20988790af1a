// SPDX-License-Identifier: MIT
#include "slurmtune/record/json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "slurmtune/record/json_fields.hpp"

namespace slurmtune {

namespace {

/// Far deeper than any file of ours; keeps the writer's recursion within its stack.
constexpr int depth_max = 256;

/// Writes canonical JSON. Ours and not the library's `dump`, because configuration ids are hashes
/// of this text: no release of a library may change a byte of it.
class CanonicalWriter {
 public:
  [[nodiscard]] Expected<void> write(const Json& value, int depth) {
    switch (value.type()) {
      case Json::value_t::object: return write_object(value, depth);
      case Json::value_t::array: return write_array(value, depth);
      case Json::value_t::string: write_string(value); return {};
      case Json::value_t::boolean: text_ += value.get<bool>() ? "true" : "false"; return {};
      case Json::value_t::number_integer:
        text_ += fmt::to_string(value.get<std::int64_t>());
        return {};
      case Json::value_t::number_unsigned:
        text_ += fmt::to_string(value.get<std::uint64_t>());
        return {};
      case Json::value_t::number_float: return write_double(value.get<double>());
      case Json::value_t::null: text_ += "null"; return {};
      case Json::value_t::binary:
      case Json::value_t::discarded: break;
    }
    return refuse("is not a JSON value");
  }

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  [[nodiscard]] Expected<void> write_object(const Json& value, int depth) {
    if (depth >= depth_max) return refuse("is nested too deeply");
    text_ += '{';
    const char* separator = "";
    for (const auto& [key, element] : value.get_ref<const Json::object_t&>()) {
      text_ += separator;
      separator = ",";
      write_string(Json(key));
      text_ += ':';
      const std::size_t parent = path_.size();
      if (parent != 0) path_ += '.';
      path_ += key;
      SLURMTUNE_CHECK(write(element, depth + 1));
      path_.resize(parent);
    }
    text_ += '}';
    return {};
  }

  [[nodiscard]] Expected<void> write_array(const Json& value, int depth) {
    if (depth >= depth_max) return refuse("is nested too deeply");
    text_ += '[';
    const std::size_t parent = path_.size();
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (i != 0) text_ += ',';
      path_ += fmt::format("[{}]", i);
      SLURMTUNE_CHECK(write(value[i], depth + 1));
      path_.resize(parent);
    }
    text_ += ']';
    return {};
  }

  [[nodiscard]] Expected<void> write_double(double value) {
    if (!std::isfinite(value)) {
      return refuse(fmt::format("is {}, which JSON cannot hold; a number must be finite", value));
    }
    text_ += format_double(value);
    return {};
  }

  void write_string(const Json& value) {
    // A trial's output may hold any bytes; a verdict must not be lost for one of them.
    text_ += value.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  [[nodiscard]] tl::unexpected<Error> refuse(std::string_view problem) const {
    return invalid_input(fmt::format("{} {}", path_.empty() ? "the value" : path_, problem));
  }

  std::string text_;
  std::string path_;
};

/// What the library says about a text, without its own prefix and position.
std::string reason_of(const Json::exception& error) {
  const std::string_view what = error.what();
  const std::size_t column = what.find("column ");
  const std::size_t start = what.find(": ", column == std::string_view::npos ? 0 : column);
  if (start != std::string_view::npos) return std::string(what.substr(start + 2));
  const std::size_t bracket = what.find("] ");
  return std::string(bracket == std::string_view::npos ? what : what.substr(bracket + 2));
}

struct ParseFailure {
  std::size_t line = 1;
  std::string reason;
};

tl::expected<Json, ParseFailure> parse(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(error.byte, text.size()));
    const auto newlines = std::count(text.begin(), end, '\n');
    return tl::unexpected<ParseFailure>(
        ParseFailure{static_cast<std::size_t>(newlines) + 1, reason_of(error)});
  } catch (const Json::exception& error) {  // a number that no double can hold
    return tl::unexpected<ParseFailure>(ParseFailure{1, reason_of(error)});
  }
}

}  // namespace

std::string format_double(double value) {
  SLURMTUNE_ASSERT(std::isfinite(value));
  if (value == 0.0) return "0.0";  // a negative zero is the same number
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  std::string text(buffer.data(), end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

Expected<std::string> canonical_json(const Json& value) {
  CanonicalWriter writer;
  SLURMTUNE_CHECK(writer.write(value, 0));
  return writer.take();
}

Expected<Json> parse_json(std::string_view text, std::string_view where) {
  auto json = parse(text);
  if (json) return *std::move(json);
  return corrupt_data(
      fmt::format("{}:{}: not valid JSON: {}", where, json.error().line, json.error().reason));
}

Expected<Json> parse_json_line(std::string_view line, std::string_view where) {
  auto json = parse(line);
  if (json) return *std::move(json);
  return corrupt_data(fmt::format("{}: not valid JSON: {}", where, json.error().reason));
}

Expected<void> check_format(const Json& header, std::string_view format, int version,
                            std::string_view where) {
  std::string found;
  std::int64_t found_version = 0;
  JsonFields fields(header, where);
  fields.required("format", found);
  fields.required("version", found_version);
  SLURMTUNE_CHECK(fields.into(true));
  if (found != format) {
    return corrupt_data(fmt::format("{}: format is '{}', expected '{}'", where, found, format));
  }
  if (found_version > version) {
    return corrupt_data(fmt::format(
        "{}: {} version {} is newer than version {}, the newest that this slurmtune reads; "
        "use a newer slurmtune",
        where, format, found_version, version));
  }
  if (found_version < 1) {
    return corrupt_data(
        fmt::format("{}: version must be at least 1, not {}", where, found_version));
  }
  return {};
}

}  // namespace slurmtune
