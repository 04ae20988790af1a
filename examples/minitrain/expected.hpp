// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include <tl/expected.hpp>

namespace minitrain {

/// A value, or the sentence that tells the user what is wrong with their input: what, where, and
/// what to do. There is one reaction to it, exit code 2, so there is no kind of error to carry.
template <class T>
using Expected = tl::expected<T, std::string>;

}  // namespace minitrain
