// SPDX-License-Identifier: MIT
#include <algorithm>
#include <exception>
#include <limits>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "slurmtune/input/node.hpp"

namespace slurmtune {

namespace {

constexpr std::size_t depth_max = 64;

// Walks over the text and counts lines; copies share the count, so that the handler below sees how
// far the lexer is.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;    // NOLINT(readability-identifier-naming)
  using reference = const char&;  // NOLINT(readability-identifier-naming)

  CountingIterator(const char* at, int* line) : at_(at), line_(line) {}

  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    if (*at_ == '\n') ++*line_;
    ++at_;
    return *this;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  int* line_;
};

/// What people write into JSON that is none.
struct Extra {
  int line = 1;
  std::string_view what;
  std::string_view remedy;
};

/// The first comment or comma before a closing bracket, outside of strings.
std::optional<Extra> find_extra(std::string_view text) {
  bool in_string = false;
  int line = 1;
  int comma_line = 0;  // of a comma that nothing has followed yet
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') continue;
    const bool slashes =
        c == '/' && i + 1 < text.size() && (text[i + 1] == '/' || text[i + 1] == '*');
    if (slashes || c == '#') {
      return Extra{line,
                   "a comment, which JSON does not have (DeepSpeed would read it, the Hugging "
                   "Face Trainer would not)",
                   "remove it"};
    }
    if (comma_line > 0 && (c == '}' || c == ']')) {
      return Extra{comma_line, "a comma that nothing follows", "remove it"};
    }
    comma_line = c == ',' ? line : 0;
    in_string = c == '"';
  }
  return std::nullopt;
}

// Builds the tree of nodes. A key's line is where its text ends; what is inside an array has the
// line of the array's key or of the last key before it.
class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  TreeBuilder(const SourceText& source, const int* line) : source_(source), line_(line) {}

  bool null() override { return add(make(Node::Kind::other, "null")); }
  bool boolean(bool value) override {
    Node node = make(Node::Kind::boolean);
    node.boolean = value;
    return add(std::move(node));
  }
  bool number_integer(number_integer_t value) override {
    Node node = make(Node::Kind::integer);
    node.integer = value;
    return add(std::move(node));
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max())) {
      return refuse(fmt::format("{} does not fit in 64 bits", value), "write a smaller number");
    }
    return number_integer(static_cast<number_integer_t>(value));
  }
  bool number_float(number_float_t value, const string_t& /*text*/) override {
    Node node = make(Node::Kind::real);
    node.real = value;
    return add(std::move(node));
  }
  bool string(string_t& value) override {
    if (value.find('\0') != std::string::npos) {
      return refuse("a text holds a NUL character", "remove it");
    }
    return add(make(Node::Kind::string, std::move(value)));
  }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*size*/) override { return open(Node::Kind::table); }
  bool start_array(std::size_t /*size*/) override { return open(Node::Kind::array); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override;
  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception& error) override;

  [[nodiscard]] Expected<Node> result() {
    if (error_) return tl::unexpected<Error>(*error_);
    return std::move(root_);
  }

 private:
  [[nodiscard]] Node make(Node::Kind kind, std::string text = {}) const {
    Node node;
    node.kind = kind;
    node.line = key_line_ > 0 ? key_line_ : *line_;
    node.text = std::move(text);
    return node;
  }

  bool refuse(const std::string& what, const std::string& remedy) {
    error_ = fail_at(source_.path, *line_, what, remedy).value();
    return false;
  }

  bool add(Node node) {
    if (stack_.empty()) {
      root_ = std::move(node);
    } else if (stack_.back().kind == Node::Kind::array) {
      stack_.back().items.push_back(std::move(node));
    } else {
      stack_.back().members.push_back(NodeMember{std::move(keys_.back()), std::move(node)});
      keys_.pop_back();
    }
    key_line_ = 0;
    return true;
  }

  bool open(Node::Kind kind) {
    if (stack_.size() >= depth_max) {
      return refuse(fmt::format("this is nested more than {} deep", depth_max), "flatten it");
    }
    stack_.push_back(make(kind));
    key_line_ = 0;
    return true;
  }

  bool close() {
    Node node = std::move(stack_.back());
    stack_.pop_back();
    return add(std::move(node));
  }

  const SourceText& source_;
  const int* line_;
  int key_line_ = 0;  // of the key whose value comes next
  Node root_;
  std::vector<Node> stack_;
  std::vector<std::string> keys_;
  std::optional<Error> error_;
};

bool TreeBuilder::key(string_t& value) {
  if (const Node* earlier = stack_.back().find(value)) {
    return refuse(fmt::format("the key \"{}\" stands here a second time (first in line {})", value,
                              earlier->line),
                  "remove one of them");
  }
  key_line_ = *line_;
  keys_.push_back(std::move(value));
  return true;
}

bool TreeBuilder::parse_error(std::size_t position, const std::string& token,
                              const nlohmann::detail::exception& error) {
  const auto extra = find_extra(source_.text);
  if (extra && extra->line <= *line_) {
    error_ = fail_at(source_.path, extra->line, fmt::format("this is not JSON: {}", extra->what),
                     extra->remedy)
                 .value();
    return false;
  }
  // `[json.exception.parse_error.101] parse error at line 3, column 5: syntax error …`: the line is
  // ours, only the rest is of use.
  std::string why = error.what();
  if (const auto bracket = why.find("] "); bracket != std::string::npos) why.erase(0, bracket + 2);
  if (const auto column = why.find(": "); column != std::string::npos) why.erase(0, column + 2);
  const auto end = std::min(position, source_.text.size());
  const auto newlines = std::count(source_.text.begin(),
                                   source_.text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
  // The newline that ends the offending token belongs to its line.
  const bool at_newline = end > 0 && source_.text[end - 1] == '\n' && !token.empty();
  const int line = static_cast<int>(newlines) + (at_newline ? 0 : 1);
  error_ = fail_at(source_.path, line, "this is not JSON: " + why, "correct the syntax").value();
  return false;
}

}  // namespace

Expected<Node> parse_json_source(const SourceText& source) {
  if (source.text.starts_with("\xef\xbb\xbf")) {
    return fail_at(source.path, 1, "the file begins with a byte order mark",
                   "save it as UTF-8 without one");
  }
  int line = 1;
  TreeBuilder builder(source, &line);
  const char* begin = source.text.data();
  try {
    nlohmann::json::sax_parse(CountingIterator(begin, &line),
                              CountingIterator(begin + source.text.size(), &line), &builder);
  } catch (const std::exception& error) {
    return fail_at(source.path, line, fmt::format("this is not JSON: {}", error.what()),
                   "correct the syntax");
  }
  return builder.result();
}

nlohmann::json node_to_json(const Node& node) {
  switch (node.kind) {
    case Node::Kind::boolean: return node.boolean;
    case Node::Kind::integer: return node.integer;
    case Node::Kind::real: return node.real;
    case Node::Kind::string: return node.text;
    case Node::Kind::other: return nullptr;
    case Node::Kind::array: {
      auto array = nlohmann::json::array();
      for (const Node& item : node.items) array.push_back(node_to_json(item));
      return array;
    }
    case Node::Kind::table: break;
  }
  auto object = nlohmann::json::object();
  for (const NodeMember& member : node.members) object[member.key] = node_to_json(member.value);
  return object;
}

}  // namespace slurmtune
